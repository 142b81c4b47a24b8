package supervisor

import (
	"bufio"
	"bytes"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/report"
)

// hesitation is how long a word on the first boot waits for the reporter's, which says more and comes a little later.
const hesitation = 45 * time.Second

// moment is how long the console's word on a failure of Ignition waits for more of its words. No reporter follows.
const moment = 5 * time.Second

// patience is how long a guest that shows no sign of a first boot may still do so.
const patience = 3 * time.Minute

// fromGuest handles what the guest writes to its console.
func (s *supervisor) fromGuest(piece []byte) {
	s.sign()
	_, _ = s.console.Write(piece)
}

// sign records a sign of life.
func (s *supervisor) sign() {
	select {
	case s.signs <- struct{}{}:
	default:
	}
}

// listenReports reads the reporter's lines from a connection to its port and answers them.
func (s *supervisor) listenReports(conn net.Conn) error {
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 4096), report.MaxLine)
	for lines.Scan() {
		s.sign()
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue // ends what was cut off before
		}
		m, err := report.Parse(lines.Bytes(), s.name(), time.Now().UTC())
		if err != nil {
			s.log.Warn("reading a report", "error", err)
			continue
		}
		s.take(m)
		if _, err := conn.Write(m.Ack()); err != nil {
			return err
		}
	}
	// A line beyond all bounds ends the connection; QEMU's port takes the next.
	return lines.Err()
}

// take records a line of the reporter once.
func (s *supervisor) take(m report.Message) {
	s.mutex.Lock()
	known := s.answered[m.Boot] >= m.Sequence
	if !known {
		if len(s.answered) > 1000 {
			clear(s.answered) // a guest that boots this often, or only says so
		}
		s.answered[m.Boot] = m.Sequence
	}
	s.mutex.Unlock()
	if !known {
		s.hear(m.Event)
	}
}

// rank orders the sources of reports by how much they know. A word of one is not asked for once a better one was heard.
// systemd is up as well when cloud-init or Ignition has failed; it knows best only where it sets the guest up by itself.
func (s *supervisor) rank(source report.Source) int {
	order := []report.Source{"", report.Systemd, report.SerialConsole, report.HTTP, report.Agent}
	if s.plan.Plain {
		order[1], order[2] = order[2], order[1]
	}
	return slices.Index(order, source)
}

// hear handles what one of the sources says of the first boot. A final word that is not of the best source waits for a
// better one, which comes a little later.
func (s *supervisor) hear(e report.Event) {
	s.mutex.Lock()
	worse := s.rank(e.Source) < s.rank(s.heard)
	if !worse {
		s.heard, s.rough = e.Source, nil
	}
	final := e.Source == report.Agent
	if !worse && !final && e.Stage.Ended() {
		s.rough = &e
	}
	s.mutex.Unlock()
	switch {
	case worse:
	case !e.Stage.Ended():
		s.journal.add(Event{Report: &e})
	case final:
		s.firstBoot(e)
	default:
		s.working.Go(func() { s.await(&e) })
	}
}

// await records a rough word on the first boot when no better one has come for some time.
func (s *supervisor) await(e *report.Event) {
	wait := hesitation
	switch {
	case e.Source != report.SerialConsole:
	case e.Result == nil:
		wait = patience
	case e.Stage == report.Failed && strings.HasPrefix(e.Result.Agent, report.Ignition):
		wait = moment
	}
	if sleep(s.ctx, wait) != nil {
		return // finish takes it from there
	}
	s.mutex.Lock()
	mine := s.rough == e
	if mine {
		s.rough = nil
	}
	s.mutex.Unlock()
	if mine {
		s.firstBoot(*e)
	}
}

// firstBoot records a final word on the first boot. A later boot of the same instance has nothing to say on it; console and
// systemd cannot tell one from the other, but a seed that was sealed before can.
func (s *supervisor) firstBoot(e report.Event) {
	told := e.Source == report.Agent || e.Source == report.HTTP
	if !told && e.Result != nil && s.service != nil && s.service.later {
		later := *e.Result
		later.FirstBoot = false
		e.Result = &later
	}
	switch {
	case e.Source != report.SerialConsole:
	case s.plan.Plain:
		s.note("the guest's systemd runs no reporter: judged by its serial console, which shows less")
	case s.service != nil && s.service.later:
		s.note("the guest's seed is sealed, so no reporter runs at this boot: judged by its serial console, which shows less")
	default:
		s.note("the guest has no reporter, or its vendor-data is switched off: judged by its serial console, which shows less")
	}
	if e.Stage == report.Done && len(s.plan.Once) > 0 {
		if err := s.plan.Later().Save(s.dir); err != nil {
			s.note("the next start will be a first boot again: %v", err)
		}
	}
	if e.Stage == report.Done {
		s.seal()
	}
	s.update(func(st *State) {
		if st.FirstBoot == nil || e.Result != nil && e.Result.FirstBoot {
			st.FirstBoot = &e
		}
	})
	s.journal.add(Event{Report: &e})
}

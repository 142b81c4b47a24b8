package supervisor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxEvents bounds what is kept of the events of one run. What a guest causes is dropped beyond it.
const maxEvents = 5000

// journal keeps the events of a VM in order, in memory for those who follow and in a file for the next supervisor.
type journal struct {
	mutex  sync.Mutex
	events []Event
	file   *os.File
	closed bool
	// changed is closed and replaced at each change.
	changed chan struct{}
}

// openJournal reads the events of earlier supervisors of the same run; fresh starts a new run.
func openJournal(dir string, fresh bool) (*journal, error) {
	path := filepath.Join(dir, eventFile)
	j := &journal{changed: make(chan struct{})}
	if fresh {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e Event
		// A line that a killed supervisor did not finish is no event.
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Sequence == len(j.events)+1 {
			j.events = append(j.events, e)
		}
	}
	j.file = f
	return j, lines.Err()
}

// add records an event and returns it with its number.
func (j *journal) add(e Event) Event {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	guests := e.Status == "" // even notes are: a guest may restart for ever
	final := e.Report != nil && e.Report.Stage.Ended() || e.Condition != nil && e.Condition.Status
	if len(j.events) >= maxEvents && guests && (!final || len(j.events) >= 2*maxEvents) {
		return Event{}
	}
	e.Sequence, e.Time = len(j.events)+1, time.Now().UTC()
	j.events = append(j.events, e)
	if line, err := json.Marshal(e); err == nil {
		// The line starts with an end of line, so that one which was cut off spoils no other.
		_, _ = j.file.Write(append(append([]byte("\n"), line...), '\n'))
	}
	j.wake()
	return e
}

// wake tells those who follow.
func (j *journal) wake() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// follow calls f with each event after the one numbered since, until the journal is closed.
func (j *journal) follow(ctx context.Context, since int, f func(Event) error) error {
	for {
		j.mutex.Lock()
		var fresh []Event
		if since < len(j.events) {
			fresh = append(fresh, j.events[max(since, 0):]...)
		}
		changed, closed := j.changed, j.closed
		j.mutex.Unlock()
		for _, e := range fresh {
			if err := f(e); err != nil {
				return err
			}
			since = e.Sequence
		}
		if closed && len(fresh) == 0 {
			return nil
		}
		if len(fresh) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close ends the following once every event was passed on.
func (j *journal) close() {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if !j.closed {
		j.closed = true
		j.wake()
		_ = j.file.Close()
	}
}

// readEvents reads the events of a run from its file. The end of a line that is being written is not read.
func readEvents(dir string) ([]Event, error) {
	f, err := os.Open(filepath.Join(dir, eventFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e Event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Sequence > 0 {
			out = append(out, e)
		}
	}
	return out, lines.Err()
}

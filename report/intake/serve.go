package intake

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/vmseed/vmseed/report"
)

// The ways to report, which are the last element of the path.
const (
	wayWebhook   = "webhook"
	wayPhoneHome = "phone-home"
	wayCheckIn   = "check-in"
	wayAfterburn = "afterburn"
)

// errLater is for a word that the guest has to say again.
var errLater = errors.New("it cannot be kept")

// ServeHTTP takes a word of a guest. Whatever is not a word of a machine at its own URL is answered like a path that is
// not there, and so is all that comes after the final word. A word that is said twice is taken once, for the guest may not have
// got the answer, and the final one may be so for ever.
func (i *Intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g, way := i.find(r)
	if g == nil {
		i.o.NotFound.ServeHTTP(w, r)
		return
	}
	// A guest that sends much is not read further; who writes slowly is up to the server's limits.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	posted := r.Method == http.MethodPost && err == nil
	digest := sha256.Sum256(append([]byte(way+"\n"), body...))
	g.mutex.Lock()
	defer g.mutex.Unlock()
	switch tooLong := (*http.MaxBytesError)(nil); {
	case !i.current(g): // the body may have taken its time
		i.o.NotFound.ServeHTTP(w, r)
		return
	case posted && bytes.Equal(g.last, digest[:]):
		w.WriteHeader(http.StatusNoContent)
		return
	case posted && g.last != nil && way == wayWebhook && i.o.Now().Before(g.grace):
		w.WriteHeader(http.StatusNoContent)
		return
	case g.last != nil:
		i.o.NotFound.ServeHTTP(w, r)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case !g.allow(i.o.Now()):
		w.Header().Set("Retry-After", "1")
		i.drop(w, g, http.StatusTooManyRequests, errors.New("too many requests"))
		return
	case errors.As(err, &tooLong):
		i.drop(w, g, http.StatusRequestEntityTooLarge, err)
		return
	case err != nil:
		i.drop(w, g, http.StatusBadRequest, errors.New("the request was cut off"))
		return
	case bytes.Equal(g.latest, digest[:]):
		w.WriteHeader(http.StatusNoContent)
		return
	}
	i.take(w, r, g, way, body, digest[:])
}

// take has a guest's word heard and answers it. The guest's mutex is held.
func (i *Intake) take(w http.ResponseWriter, r *http.Request, g *guest, way string, body, digest []byte) {
	if agent := report.UserAgent(r.UserAgent()); agent != "" && (way == wayWebhook || way == wayPhoneHome) {
		g.record.Agent = agent
	}
	switch err := i.hear(g, way, body, digest, i.o.Now().UTC()); {
	case errors.Is(err, errLater):
		w.Header().Set("Retry-After", "2")
		i.drop(w, g, http.StatusServiceUnavailable, err)
	case err != nil:
		i.drop(w, g, http.StatusBadRequest, err)
	default:
		g.latest = digest
		w.WriteHeader(http.StatusNoContent)
	}
}

// drop answers that a word is not taken. Of the word, nothing is logged. The guest's mutex is held.
func (i *Intake) drop(w http.ResponseWriter, g *guest, status int, reason error) {
	if g.dropped++; g.dropped <= maxComplaints {
		i.o.Log.Warn("dropping a report", "machine", g.machine, "status", status, "reason", reason.Error())
	}
	w.WriteHeader(status)
}

// find returns the guest that a request's path is signed for, and the way it reports, or nothing. It takes as long for a
// machine that is not there.
func (i *Intake) find(r *http.Request) (*guest, string) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if len(parts) != 6 || parts[0]+"/"+parts[1]+"/" != Root || i.key.Len() < minKey {
		return nil, ""
	}
	machine, way := parts[2]+"/"+parts[3], parts[5]
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[4])
	if err != nil {
		return nil, ""
	}
	i.mutex.Lock()
	g := i.guests[machine]
	i.mutex.Unlock()
	instance := ""
	if g != nil {
		instance = g.instance
	}
	if !hmac.Equal(signature, sign(i.key, machine, instance)) || g == nil {
		return nil, ""
	}
	if i.o.Sender != nil {
		if sender, known := i.o.Sender(r.Context()); known && sender != machine {
			return nil, ""
		}
	}
	switch way {
	case wayWebhook, wayPhoneHome, wayCheckIn, wayAfterburn:
		return g, way
	}
	return nil, ""
}

// hear takes a guest's word.
func (i *Intake) hear(g *guest, way string, body, digest []byte, now time.Time) error {
	var e report.Event
	worth := true
	switch way {
	case wayWebhook:
		w, err := report.ParseWebhook(body)
		if err != nil {
			return err
		}
		before := g.record.Clone()
		e, worth = g.record.Webhook(w, g.machine, now)
		switch {
		case e.Stage.Ended() && g.reporter:
			i.hold(g, word{e, digest}, before)
			worth = false
		case e.Stage.Ended():
			return i.end(g, e, digest, before)
		}
	case wayPhoneHome:
		p, err := report.ParsePhoneHome(body)
		if err != nil {
			return err
		}
		g.record.PhoneHome(p)
		worth = false
	case wayCheckIn:
		m, err := report.ParseCheckIn(body, g.machine, now)
		if err != nil {
			return err
		}
		if g.answered[m.Boot] >= m.Sequence {
			return nil
		}
		if m.Event.Stage.Ended() {
			g.grace = now.Add(grace)
			return i.end(g, m.Event, digest, g.record.Clone())
		}
		g.reporter, worth = true, g.record.Stage == "" // the webhook is quicker to name stages and modules
		if len(g.answered) >= 100 {
			clear(g.answered) // a guest that boots this often, or only says so
		}
		e, g.answered[m.Boot] = m.Event, m.Sequence
	case wayAfterburn:
		return i.end(g, report.Afterburn(g.machine, now), digest, g.record.Clone())
	}
	if worth {
		if g.events++; g.events <= maxEvents {
			i.emit(e)
		} else if g.events == maxEvents+1 {
			i.o.Log.Warn("dropping the further reports of a first boot, except for the last", "machine", g.machine)
		}
	}
	if err := i.keep(g); err != nil {
		i.o.Log.Warn("a restart will forget a part of a first boot", "machine", g.machine, "reason", err.Error())
	}
	return nil
}

// hold keeps the webhook's final word back for a while: the reporter that the guest has as well will say more. A restart
// meanwhile does not lose it.
func (i *Intake) hold(g *guest, w word, before report.Record) {
	if g.held != nil {
		g.held.Stop()
	}
	g.waiting = &w
	g.held = time.AfterFunc(i.o.Patience, func() {
		g.mutex.Lock()
		defer g.mutex.Unlock()
		if !i.current(g) || g.last != nil {
			return
		}
		g.waiting = nil
		if err := i.end(g, w.Event, w.Digest, before); err != nil {
			i.o.Log.Warn("a restart will forget the end of a first boot", "machine", g.machine, "reason", err.Error())
		}
	})
}

// end passes on a final word. That of a first boot closes the URL; a guest that was set up before may boot more often.
func (i *Intake) end(g *guest, e report.Event, digest []byte, before report.Record) error {
	first := e.Result != nil && e.Result.FirstBoot
	if !first {
		if g.events++; g.events > maxEvents {
			return nil
		}
	} else {
		g.last = digest
	}
	i.emit(e)
	if err := i.keep(g); err != nil {
		if first {
			g.last, g.record = nil, before
			return errLater
		}
		i.o.Log.Warn("a restart will forget a part of a first boot", "machine", g.machine, "reason", err.Error())
	}
	if first {
		g.settle()
	}
	return nil
}

// keep has the guest's state stored, if it has changed.
func (i *Intake) keep(g *guest) error {
	if i.o.Keep == nil {
		return nil
	}
	text, err := g.state()
	if err != nil {
		return err
	}
	digest := sha256.Sum256(text)
	if digest == g.kept {
		return nil
	}
	if err := i.o.Keep(g.machine, text); err != nil {
		return err
	}
	g.kept = digest
	return nil
}

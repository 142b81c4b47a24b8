// Package intake takes what guests say of their first boot over HTTP: cloud-init's reporting webhook, its phone_home,
// the check-in of a guest that Ignition set up, and Afterburn's.
//
// Each guest gets a URL of its own, which is signed for one machine and one instance, and so for one first boot: nobody
// can report for another. After the final word on that first boot nothing that is said there counts any more. The
// package keeps no file, opens no port and knows no server: its caller serves it, keeps its state and passes on its
// events.
//
// A guest of cloud-init may report in two ways at once. The webhook is cloud-init's own and tells what runs and what failed;
// the reporter tells why, but needs Python and systemd. The webhook's final word counts where no reporter speaks.
package intake

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
)

// Bounds of what a guest may say.
const (
	// MaxBody is the longest body of a request, in bytes.
	MaxBody = 64 << 10
	// maxEvents is how many events of one first boot are passed on, the final one apart. cloud-init has a hundred.
	maxEvents = 2000
	// burst and refill are of the requests that a guest may make: so many at once, and so many a second. All events of a
	// first boot of cloud-init are within the burst.
	burst  = 300
	refill = 20
	// maxComplaints is how often the log says that a guest's word was dropped.
	maxComplaints = 20
	// grace is how long after a reporter's final word the webhook may go on without being heard or denied: cloud-init warns
	// of what is denied.
	grace = time.Minute
	// minKey is the shortest key, in bytes.
	minKey = 16
)

// Options are what an intake may be told, all of it optional.
type Options struct {
	// Sender names the machine (namespace/name) that a request is from, where the server knows better than by the URL,
	// such as by the address. Another machine's URL is then as good as none. known is false where it does not know.
	Sender func(context.Context) (machine string, known bool)
	// Keep stores what Open shall be given after a restart of this program, for a machine. It is called for one machine
	// once at a time, for several at the same time. Before the guest gets an answer to its final word, its state is kept:
	// with an error the guest is told to try again. Without Keep, a restart in the middle of a first boot forgets the host
	// keys and the failed modules that were told before it, and the URL takes a first boot's words again after the final one.
	Keep func(machine string, state []byte) error
	// Patience is how long the webhook's final word waits for that of a reporter that the guest has too, and which tells
	// why something failed; zero means 20 seconds.
	Patience time.Duration
	// NotFound answers what is denied; nil means http.NotFound. It should be what the server says to any path that it
	// does not have.
	NotFound http.Handler
	// Log gets what is dropped, without anything of what the guest said. Nil means nowhere.
	Log *slog.Logger
	// Now is the time; nil means time.Now.
	Now func() time.Time
}

// Intake is an http.Handler for the paths below Root. It is safe for concurrent use.
type Intake struct {
	key  secret.Text
	emit func(report.Event)
	o    Options

	mutex  sync.Mutex
	guests map[string]*guest // by machine
}

// New makes an intake whose URLs are signed with key, of 16 bytes or more: with a shorter one, nothing is let in. emit gets
// the events of all machines, each machine's in the order in which it said them; it must not block. A final word is passed
// on before it is kept, so a crash between the two has it passed on again: at least once, not at most once.
func New(key secret.Text, emit func(report.Event), o Options) *Intake {
	if o.NotFound == nil {
		o.NotFound = http.HandlerFunc(http.NotFound)
	}
	if o.Patience <= 0 {
		o.Patience = 20 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Intake{key: key, emit: emit, o: o, guests: map[string]*guest{}}
}

// guest is a machine that may report.
type guest struct {
	machine, instance string

	mutex  sync.Mutex
	record report.Record
	// last is the digest of the final word, once there was one; latest is that of the latest word, and kept that of the state
	// that was kept last.
	last, latest []byte
	kept         [sha256.Size]byte
	// answered is the last line of each boot's check-in that was taken.
	answered map[string]int
	// reporter means that a reporter has spoken. held is for the webhook's final word, waiting, which waits for the reporter's.
	// After that the webhook has until grace to fall silent.
	reporter bool
	held     *time.Timer
	waiting  *word
	grace    time.Time
	// events and dropped count what was passed on, and what was not taken.
	events, dropped int
	// tokens is what the guest's allowance of requests had left when it was filled last.
	tokens float64
	filled time.Time
}

// state is what is kept of a guest.
type state struct {
	Instance string        `json:"instance"`
	Last     []byte        `json:"last,omitempty"`
	Record   report.Record `json:"record"`
	Waiting  *word         `json:"waiting,omitempty"`
}

// word is a final word that is not passed on yet.
type word struct {
	Event  report.Event `json:"event"`
	Digest []byte       `json:"digest"`
}

// Open lets a machine (namespace/name) report of the first boot of an instance. The machine's URL of another instance is
// void from then on. kept is what Options.Keep got last for the machine, nil for nothing; what it says of another
// instance does not count, nor does it when the machine is open for the instance already: that stays as it is. A state that
// cannot be read is an error, and changes nothing.
func (i *Intake) Open(machine, instance string, kept []byte) error {
	g := &guest{machine: machine, instance: instance, answered: map[string]int{}, tokens: burst, filled: i.o.Now()}
	if len(kept) > 0 {
		var s state
		if err := json.Unmarshal(kept, &s); err != nil || s.Last != nil && len(s.Last) != sha256.Size || s.Waiting != nil && len(s.Waiting.Digest) != sha256.Size {
			return errors.New("the kept state of " + machine + "'s first boot cannot be read")
		}
		if s.Instance == instance {
			g.record, g.last, g.kept = s.Record, s.Last, sha256.Sum256(kept)
			g.record.Clean()
			g.waiting, g.reporter = s.Waiting, s.Waiting != nil
		}
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if old := i.guests[machine]; old == nil || old.instance != instance {
		i.guests[machine] = g
		if g.waiting != nil { // its patience begins anew, for the reporter could not speak meanwhile
			i.hold(g, *g.waiting, g.record.Clone())
		}
	}
	return nil
}

// Close denies a machine every further word, as if it had never been opened.
func (i *Intake) Close(machine string) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	delete(i.guests, machine)
}

// current reports whether a guest is still the one that its machine is open for.
func (i *Intake) current(g *guest) bool {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.guests[g.machine] == g
}

// state returns what is worth keeping of the guest: after the final word, that there was one.
func (g *guest) state() ([]byte, error) {
	s := state{Instance: g.instance, Last: g.last}
	if g.last == nil {
		s.Record, s.Waiting = g.record, g.waiting
	}
	return json.Marshal(s)
}

// settle forgets what was of use before the final word alone.
func (g *guest) settle() {
	if g.held != nil {
		g.held.Stop()
	}
	g.held, g.waiting, g.answered, g.record = nil, nil, nil, report.Record{}
}

// allow takes a request out of the guest's allowance, if there is one left.
func (g *guest) allow(now time.Time) bool {
	if passed := now.Sub(g.filled).Seconds(); passed > 0 {
		g.tokens, g.filled = min(burst, g.tokens+passed*refill), now
	}
	if g.tokens < 1 {
		return false
	}
	g.tokens--
	return true
}

// Package intake takes what guests say of their first boot over HTTP: cloud-init's reporting webhook, its phone_home,
// and the check-in of a guest that Ignition set up.
//
// Each guest gets a URL of its own, which is signed for one machine and one instance, and so for one first boot: nobody
// can report for another. After the final word on that first boot nothing that is said there counts any more. The
// package keeps no file, opens no port and knows no server: its caller serves it, keeps its state and passes on its
// events.
package intake

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
)

// Options are what an intake may be told, all of it optional.
type Options struct {
	// Sender names the machine (namespace/name) that a request is from, where the server knows better than by the URL,
	// such as by the address. Another machine's URL is then as good as none. known is false where it does not know.
	Sender func(context.Context) (machine string, known bool)
	// Keep stores what Open shall be given after a restart of this program, for a machine. It is called before the guest
	// is answered; with an error the guest is told to try again. Without Keep, a restart in the middle of a first boot
	// forgets the host keys and the failed modules that were told before it, and the URL takes a first boot's words
	// again after the final one.
	Keep func(machine string, state []byte) error
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

// guest is a machine that may report.
type guest struct {
	instance string
}

// New makes an intake whose URLs are signed with key, of 16 bytes or more: with a shorter one, nothing is let in. emit gets
// the events of all machines in the order in which each machine said them; it must not block.
func New(key secret.Text, emit func(report.Event), o Options) *Intake {
	return &Intake{key: key, emit: emit, o: o, guests: map[string]*guest{}}
}

// Open lets a machine (namespace/name) report of the first boot of an instance. The machine's URL of another instance is
// void from then on. kept is what Options.Keep got last for the machine, nil for nothing; what it says of another
// instance does not count. A state that is none is an error, and then nothing is open.
func (i *Intake) Open(machine, instance string, kept []byte) error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.guests[machine] = &guest{instance: instance}
	return nil
}

// Close denies a machine every further word, as if it had never been opened.
func (i *Intake) Close(machine string) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	delete(i.guests, machine)
}

// ServeHTTP takes a word of a guest. Whatever is not a word of a machine at its own URL is answered like a path that is
// not there.
func (i *Intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.NotFound(w, r)
}

package metadataservice

import (
	"log/slog"
	"net"
	"sync"
	"time"
)

// A stranger is said once in this time, and no more than this many are.
const (
	strangerPause = time.Minute
	maxStrangers  = 100
)

// strangers says in the log who asks and is nobody, without letting him fill the log.
type strangers struct {
	log *slog.Logger

	mutex sync.Mutex
	since time.Time
	seen  map[string]bool
}

// asked takes note of a request from an address (host:port) that no machine has.
func (s *strangers) asked(remote string, now time.Time) {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	s.mutex.Lock()
	if now.Sub(s.since) >= strangerPause || s.seen == nil {
		s.since, s.seen = now, map[string]bool{}
	}
	known, full := s.seen[host], len(s.seen) >= maxStrangers
	if !full {
		s.seen[host] = true
	}
	last := !known && len(s.seen) == maxStrangers && !full
	s.mutex.Unlock()
	if known || full {
		return
	}
	s.log.Warn("an address of no machine asks for metadata; if it is one's, say so with --address or --leases", "address", host)
	if last {
		s.log.Warn("there are more such addresses, which are not said for a minute")
	}
}

package metadata

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// The limits on whoever connects. net/http reads 4 KiB more of a head than it is told to.
const (
	maxHead    = 8<<10 - 4<<10
	headTime   = 5 * time.Second
	silentTime = 15 * time.Second
	bodyTime   = 15 * time.Second
	writeTime  = time.Minute
	idleTime   = time.Minute
	graceTime  = 2 * time.Second
)

// Serve answers guests that connect to a listener until the context ends, and closes the listener. Its limits are for
// guests: a head of at most 8 KiB within 5 seconds from its first byte.
//
// The answer with a session token leaves with the hop limit of the machine's tree. On connections of TCP that is the
// socket's; connections of other networks take part by a method SetHopLimit(int) error, where 0 asks for the usual one.
// If they also have Unacknowledged() (int, error), the number of bytes sent that the peer may not have, they are kept open
// behind a token; else they are closed, because a repeated segment would leave with the limit of that moment.
func Serve(ctx context.Context, l net.Listener, h *Handler) error {
	s := server(h)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
		defer cancel()
		if s.Shutdown(grace) != nil {
			_ = s.Close()
		}
	})
	err := s.Serve(bind(l, h))
	if stop() {
		_ = s.Close()
		return err
	}
	<-ended
	return nil
}

// server is net/http's, with the limits for guests.
func server(h *Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	log := slog.DiscardHandler
	if h.config.Log != nil {
		log = h.config.Log.Handler()
	}
	return &http.Server{
		Handler: h, Protocols: protocols, ConnContext: ConnContext, DisableGeneralOptionsHandler: true, MaxHeaderBytes: maxHead,
		ReadHeaderTimeout: headTime, ReadTimeout: headTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		ErrorLog: slog.NewLogLogger(log, slog.LevelDebug),
	}
}

// listener bounds the connections of each address, and gives them what is needed for identity and hop limits.
type listener struct {
	net.Listener
	max int

	mu   sync.Mutex
	open map[netip.Addr]int
}

func bind(l net.Listener, h *Handler) *listener {
	most := h.config.Limits.Connections
	if h.config.Proxied {
		most = -1
	}
	return &listener{Listener: l, max: most, open: map[netip.Addr]int{}}
}

// Accept waits for a connection of an address that may have one more.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := newConn(raw)
		if l.enter(c.remote.Addr()) {
			c.leave = sync.OnceFunc(func() { l.leave(c.remote.Addr()) })
			return c, nil
		}
		_ = raw.Close()
	}
}

func (l *listener) enter(a netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.max >= 0 && l.open[a] >= l.max {
		return false
	}
	l.open[a]++
	return true
}

func (l *listener) leave(a netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[a]--; l.open[a] == 0 {
		delete(l.open, a)
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/vmseed/vmseed/internal/metadataservice"
)

// listening is a listener and what is served on it.
type listening struct {
	listener net.Listener
	serve    func(context.Context, net.Listener) error
	// guests means that guests connect to it.
	guests bool
	// beside says who else does: metrics or proxies.
	beside string
}

// servers are what a command listens on.
type servers []listening

// listenMetadata opens all listeners of the metadata service, or none.
func listenMetadata(f *metadataFlags, s *metadataservice.Service, m *metadataservice.Metrics) (out servers, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, out.close())
		}
	}()
	for _, address := range f.listen {
		l, err := listenFor(address, "--listen")
		if err != nil {
			return out, err
		}
		out = append(out, listening{listener: l, serve: s.Serve, guests: true})
	}
	if f.proxyListen != "" {
		l, err := listenFor(f.proxyListen, "--proxy-listen")
		if err != nil {
			return out, err
		}
		out = append(out, listening{listener: l, serve: s.ServeProxies, beside: "proxies"})
	}
	if f.metrics != "" {
		one, err := listenMetrics(f.metrics, m)
		if err != nil {
			return out, err
		}
		out = append(out, one)
	}
	return out, nil
}

// checkListen refuses what is no address to listen on.
func checkListen(flag, address string) error {
	if !listenable(address) {
		return usagef("%s takes HOST:PORT, not %q", flag, address)
	}
	return nil
}

// checkMetrics refuses what is no address for --metrics, which may be none.
func checkMetrics(address string) error {
	if address != "" && !listenable(address) {
		return usagef("--metrics takes [HOST]:PORT, not %q", address)
	}
	return nil
}

// listenable reports whether an address has the form HOST:PORT, with a port that there is.
func listenable(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	return err == nil
}

// listenMetrics opens the listener for Prometheus. Without a host it is on this one alone.
func listenMetrics(address string, m *metadataservice.Metrics) (listening, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return listening{}, err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := listenFor(net.JoinHostPort(host, port), "--metrics")
	if err != nil {
		return listening{}, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, m.Handler())
	return listening{listener: l, beside: besideMetrics, serve: func(ctx context.Context, l net.Listener) error {
		s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 8 << 10}
		defer context.AfterFunc(ctx, func() { _ = s.Close() })()
		if err := s.Serve(l); ctx.Err() == nil {
			return err
		}
		return nil
	}}, nil
}

// listenFor opens a listener of TCP, and says what to do where this host does not let it.
func listenFor(address, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	host, port, _ := net.SplitHostPort(address)
	remedy := ""
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		bits := "32"
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() {
			bits = "128"
		}
		remedy = fmt.Sprintf("; it is no address of this host: give it to the guests' bridge with `ip address add %s/%s dev BRIDGE`, or listen on an address that the host has "+
			"and redirect guests to it (docs/how-to/metadata.md)", host, bits)
	case errors.Is(err, syscall.EACCES):
		remedy = fmt.Sprintf("; port %s needs the capability CAP_NET_BIND_SERVICE, which the unit in examples/systemd has; or choose a port from 1024 up and redirect guests to it "+
			"(docs/how-to/metadata.md)", port)
	case errors.Is(err, syscall.EADDRINUSE):
		remedy = "; another program listens there"
	}
	return nil, fmt.Errorf("%s %s: %w%s", flag, address, err, remedy)
}

// urls are where guests are answered.
func (s servers) urls() []string {
	var out []string
	for _, x := range s {
		if x.guests {
			out = append(out, x.url())
		}
	}
	return out
}

// beside are those that are not for guests.
func (s servers) beside() servers {
	return slices.DeleteFunc(slices.Clone(s), func(x listening) bool { return x.beside == "" })
}

// url is where it is reached.
func (x listening) url() string {
	path := "/"
	if x.beside == besideMetrics {
		path = metricsPath
	}
	return "http://" + x.listener.Addr().String() + path
}

// metricsPath is where Prometheus looks, and besideMetrics what its listener is called.
const (
	metricsPath   = "/metrics"
	besideMetrics = "metrics"
)

func (s servers) close() error {
	var errs []error
	for _, x := range s {
		errs = append(errs, x.listener.Close())
	}
	return errors.Join(errs...)
}

// run serves on all listeners until ctx ends or one of them fails, which ends the others by stop.
func (s servers) run(ctx context.Context, stop func()) error {
	var working sync.WaitGroup
	errs := make([]error, len(s))
	for i, x := range s {
		working.Go(func() {
			defer stop()
			errs[i] = x.serve(ctx, x.listener)
		})
	}
	working.Wait()
	return errors.Join(errs...)
}

package auth

import (
	"container/list"
	"context"
	"net/netip"
	"sync"
	"time"
)

const (
	// patience is how long an attempt is held back before it is refused.
	patience = 20 * time.Second
	// maxWaiting bounds the attempts that are held back at the same time.
	maxWaiting = 256
	// maxGauged bounds the memory of each gauge, in keys.
	maxGauged = 10_000
	// forget is the time in which one failure is forgotten.
	forget = 30 * time.Second
)

// brake slows down whoever guesses passwords: by name and address together, by address, and by name. A guesser elsewhere
// never locks a user out for good: an address from which a name logged in before is exempt from the last, no delay is
// longer than a few seconds, and failures are forgotten.
type brake struct {
	mu      sync.Mutex
	waiting int
	pairs   gauge
	sources gauge
	names   gauge
}

func newBrake() *brake {
	return &brake{
		pairs:   newGauge(3, 500*time.Millisecond, 8*time.Second),
		sources: newGauge(20, 250*time.Millisecond, 4*time.Second),
		names:   newGauge(30, 250*time.Millisecond, 4*time.Second),
	}
}

// source returns what stands for an address: itself for IPv4, its network of 64 bits, which one host has for itself, for
// IPv6.
func source(from netip.Addr) string {
	from = from.Unmap().WithZone("")
	if from.Is6() {
		if p, err := from.Prefix(64); err == nil {
			return p.String()
		}
	}
	return from.String()
}

func pair(name string, from netip.Addr) string { return source(from) + " " + name }

// remaining returns how long an attempt has to be held back.
func (b *brake) remaining(name string, from netip.Addr) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	d := max(b.pairs.remaining(pair(name, from), now), b.sources.remaining(source(from), now))
	if !b.pairs.trusted(pair(name, from)) {
		d = max(d, b.names.remaining(name, now))
	}
	return d
}

// wait holds an attempt back until it may go on. The error is a *SlowDownError when that is not before the deadline, or
// the context's.
func (b *brake) wait(ctx context.Context, name string, from netip.Addr, deadline time.Time) error {
	for {
		d := b.remaining(name, from)
		if d <= 0 {
			return nil
		}
		if time.Now().Add(d).After(deadline) || !b.enter() {
			return &SlowDownError{After: d}
		}
		timer := time.NewTimer(d)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		b.leave()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (b *brake) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting >= maxWaiting {
		return false
	}
	b.waiting++
	return true
}

func (b *brake) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting--
}

// failed counts an attempt that failed.
func (b *brake) failed(name string, from netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.pairs.fail(pair(name, from), now)
	b.sources.fail(source(from), now)
	b.names.fail(name, now)
}

// succeeded forgets the failures of a user at an address, and trusts the address with the name from now on.
func (b *brake) succeeded(name string, from netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.pairs.mark(pair(name, from))
	m.failures, m.until, m.trusted = 0, time.Time{}, true
}

// gauge counts failures by key. When it is full, the key that was touched the longest time ago is forgotten.
type gauge struct {
	// free failures cost nothing; each one above doubles the delay from base to longest.
	free          int
	base, longest time.Duration
	marks         map[string]*list.Element // of *mark
	recent        *list.List               // the latest first
}

// mark is what a gauge knows of one key.
type mark struct {
	key      string
	failures int
	// last is when a failure was last counted or forgotten, until when the next attempt may be made.
	last, until time.Time
	trusted     bool
}

func newGauge(free int, base, longest time.Duration) gauge {
	return gauge{free: free, base: base, longest: longest, marks: map[string]*list.Element{}, recent: list.New()}
}

func (g *gauge) remaining(key string, now time.Time) time.Duration {
	e, ok := g.marks[key]
	if !ok {
		return 0
	}
	return e.Value.(*mark).until.Sub(now)
}

func (g *gauge) trusted(key string) bool {
	e, ok := g.marks[key]
	return ok && e.Value.(*mark).trusted
}

// mark returns what is known of a key, which is touched by that.
func (g *gauge) mark(key string) *mark {
	if e, ok := g.marks[key]; ok {
		g.recent.MoveToFront(e)
		return e.Value.(*mark)
	}
	if len(g.marks) >= maxGauged {
		oldest := g.recent.Back()
		delete(g.marks, g.recent.Remove(oldest).(*mark).key)
	}
	m := &mark{key: key}
	g.marks[key] = g.recent.PushFront(m)
	return m
}

func (g *gauge) fail(key string, now time.Time) {
	m := g.mark(key)
	m.failures = max(0, m.failures-int(now.Sub(m.last)/forget)) + 1
	m.last = now
	m.until = now.Add(g.delay(m.failures))
}

// delay is what the given number of failures costs.
func (g *gauge) delay(failures int) time.Duration {
	if failures < g.free {
		return 0
	}
	// Shifted no further than where the longest delay has long been reached.
	return min(g.base<<min(failures-g.free, 16), g.longest)
}

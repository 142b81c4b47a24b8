package metadata

import (
	"cmp"
	"sync/atomic"
	"time"
)

func (l Limits) withDefaults() Limits {
	return Limits{Rate: cmp.Or(l.Rate, 50), Burst: cmp.Or(l.Burst, 200), Connections: cmp.Or(l.Connections, 128)}
}

// bucket bounds how often something happens. It is the generic cell rate algorithm (ITU-T I.371): all there is to keep is
// when the bucket will be full again.
type bucket struct {
	full atomic.Int64
}

// take reports whether it may happen once more now.
func (b *bucket) take(now time.Duration, rate, burst int) bool {
	if rate < 0 || burst < 0 {
		return true
	}
	each := int64(time.Second) / int64(rate)
	for {
		old := b.full.Load()
		full := max(old, int64(now)) + each
		if full-int64(now) > each*int64(burst) {
			return false
		}
		if b.full.CompareAndSwap(old, full) {
			return true
		}
	}
}

// inherit takes the level of another bucket, whose clock is another one.
func (b *bucket) inherit(old *bucket, now, oldNow time.Duration) {
	b.full.Store(old.full.Load() - int64(oldNow) + int64(now))
}

package controller

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// starting remembers which instances this process has made or launched and does not know to run yet. What it has done itself
// it knows before its caches do.
type starting struct {
	mutex     sync.Mutex
	instances map[client.ObjectKey]begun
}

// begun is an instance on its way.
type begun struct {
	uid types.UID
	// at is when the last step was made, and launched says that the launcher pod was.
	at       time.Time
	launched bool
}

// The limits of what is left unsaid while many instances start.
const (
	// many is from how many instances on the way.
	many = 15
	// settling is how long an instance counts as on its way, and may be so without a word in its status.
	settling = 20 * time.Second
	// glance is how often to look whether many still are.
	glance = 2 * time.Second
)

// begin notes a step of an instance.
func (s *starting) begin(key client.ObjectKey, b begun) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.instances == nil {
		s.instances = map[client.ObjectKey]begun{}
	}
	s.instances[key] = b
}

// of returns what is noted of an instance; without a UID that of the name.
func (s *starting) of(key client.ObjectKey, uid types.UID) (begun, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	b, ok := s.instances[key]
	return b, ok && (uid == "" || b.uid == uid)
}

// forget drops an instance: it runs, has ended or is gone.
func (s *starting) forget(key client.ObjectKey) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.instances, key)
}

// busy reports whether many instances are on their way. Those that do not get on do not count for long.
func (s *starting) busy(now time.Time) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	young := 0
	for _, b := range s.instances {
		if now.Sub(b.at) < settling {
			young++
		}
	}
	return young >= many
}

// unsettled returns how long to wait before a status with one of the words for the way is written, or 0. When hundreds of machines
// start at once, most are past them before anybody could look, and each costs a request to the API server.
func (c *controller) unsettled(instance client.ObjectKey, old, now string, way ...string) time.Duration {
	if old == now || !slices.Contains(way, now) || !c.starting.busy(c.now()) {
		return 0
	}
	b, ok := c.starting.of(instance, "")
	left := settling - c.now().Sub(b.at)
	if !ok || left <= 0 {
		return 0
	}
	return min(left, glance)
}

// step tells users that something went as it should, which goes without saying while many machines start.
func (c *controller) step(u *unstructured.Unstructured, reason, note string) {
	if !c.starting.busy(c.now()) {
		c.event(u, corev1.EventTypeNormal, reason, note)
	}
}

package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	events "k8s.io/client-go/tools/record"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/report"
)

// simulated is a Runner whose guests do what a test tells them. It survives the providers that use it, as VMs do.
type simulated struct {
	mutex  sync.Mutex
	guests map[types.UID]*simGuest
	starts []Start
	// refuse is what the next starts end with.
	refuse []refusal
	// removed are the pods whose VMs were removed, in order.
	removed []types.UID
	silent  bool
	// unplugged VMs have networks of their own.
	unplugged bool
	// released are the pods whose networks were given back, and unreleased is what the next attempts end with.
	released   []types.UID
	unreleased []error
	// equip gives a guest more powers; nil gives it none.
	equip func(*simGuest) Guest
	// onRemove is called by Remove.
	onRemove func(Ref)
}

type refusal struct {
	list diag.List
	err  error
}

func (s *simulated) Start(ctx context.Context, start Start) (Started, diag.List, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	uid := start.Pod.UID
	if g := s.guests[uid]; g != nil && g.state.Status.Alive() {
		return Started{}, nil, supervisor.ErrRunning
	}
	s.starts = append(s.starts, start)
	if len(s.refuse) > 0 {
		r := s.refuse[0]
		s.refuse = s.refuse[1:]
		if errors.Is(r.err, errHang) {
			s.mutex.Unlock()
			<-ctx.Done()
			s.mutex.Lock()
			return Started{}, nil, ctx.Err()
		}
		return Started{}, r.list, r.err
	}
	now := time.Now()
	g := &simGuest{state: supervisor.State{Status: supervisor.Running, Started: &now}, more: make(chan struct{})}
	s.guests[uid] = g
	g.say(supervisor.Event{Status: supervisor.Running})
	return s.started(g), nil, nil
}

// errHang has a start wait until it is given up.
var errHang = errors.New("hang")

func (s *simulated) started(g *simGuest) Started {
	var guest Guest = g
	if s.equip != nil {
		guest = s.equip(g)
	}
	out := Started{Guest: guest, IPs: []netip.Addr{netip.MustParseAddr("10.1.2.3")}, Silent: s.silent, ImageID: "sha256:1"}
	if s.unplugged {
		out.IPs = nil
	}
	return out
}

func (s *simulated) Release(_ context.Context, r Ref) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.unreleased) > 0 {
		err := s.unreleased[0]
		s.unreleased = s.unreleased[1:]
		return err
	}
	s.released = append(s.released, r.UID)
	return nil
}

func (s *simulated) Find(_ context.Context, r Ref) (Started, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if g := s.guests[r.UID]; g != nil {
		return s.started(g), nil
	}
	return Started{}, supervisor.ErrNoVM
}

func (s *simulated) Remove(_ context.Context, r Ref) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.onRemove != nil {
		s.onRemove(r)
	}
	s.removed = append(s.removed, r.UID)
	delete(s.guests, r.UID)
	return nil
}

func (s *simulated) List(context.Context) ([]Ref, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var out []Ref
	for uid := range s.guests {
		out = append(out, Ref{Namespace: "default", UID: uid})
	}
	return out, nil
}

// guest returns the guest of a pod.
func (s *simulated) guest(uid types.UID) *simGuest {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.guests[uid]
}

func (s *simulated) count() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.starts)
}

// simGuest is a guest.
type simGuest struct {
	mutex  sync.Mutex
	state  supervisor.State
	events []supervisor.Event
	more   chan struct{}
	// graces are those of the calls of Stop.
	graces []time.Duration
	// lost is how many calls of Stop get lost on their way.
	lost int
	// deaf guests are cut off when their grace is over; others shut down after a second.
	deaf bool
}

func (g *simGuest) State(context.Context) (supervisor.State, error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.state, nil
}

// say adds an event.
func (g *simGuest) say(e supervisor.Event) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	e.Sequence, e.Time = len(g.events)+1, time.Now()
	g.events = append(g.events, e)
	close(g.more)
	g.more = make(chan struct{})
}

// boots reports the end of a first boot.
func (g *simGuest) boots(problems ...string) {
	g.say(supervisor.Event{Report: &report.Event{Stage: report.Done, Time: time.Now(), Result: &report.Result{FirstBoot: true, Errors: problems}}})
}

// ends ends the guest.
func (g *simGuest) ends(status supervisor.Status, reason string) {
	g.mutex.Lock()
	if !g.state.Status.Alive() {
		g.mutex.Unlock()
		return
	}
	now := time.Now()
	g.state.Status, g.state.Reason, g.state.Ended = status, reason, &now
	g.mutex.Unlock()
	g.say(supervisor.Event{Status: status, Reason: reason})
}

func (g *simGuest) Events(ctx context.Context, since int, f func(supervisor.Event) error) error {
	for {
		g.mutex.Lock()
		list, more, alive := g.events, g.more, g.state.Status.Alive()
		g.mutex.Unlock()
		for _, e := range list {
			if e.Sequence > since {
				since = e.Sequence
				if err := f(e); err != nil {
					return err
				}
			}
		}
		if !alive && since == len(list) {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (g *simGuest) Stop(ctx context.Context, grace time.Duration) error {
	g.mutex.Lock()
	g.graces = append(g.graces, grace)
	takes := time.Second
	if g.deaf || grace < takes {
		takes = grace
	}
	lost := g.lost > 0
	g.lost--
	g.mutex.Unlock()
	if lost {
		<-ctx.Done()
		return ctx.Err()
	}
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	g.ends(supervisor.Stopped, "it was shut down")
	return nil
}

// bed is a node with a simulated host and a simulated API server.
type bed struct {
	t      *testing.T
	dir    string
	client *fake.Clientset
	runner *simulated
	events *events.FakeRecorder
	p      *Provider
}

// lie makes a bed, in a bubble of time.
func lie(t *testing.T, f func(b *bed)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := &bed{t: t, dir: dir, client: fake.NewClientset(), runner: &simulated{guests: map[types.UID]*simGuest{}}, events: events.NewFakeRecorder(1000)}
		b.events.IncludeObject = true
		for _, verb := range []string{"delete", "patch"} {
			b.client.PrependReactor(verb, "pods", b.otherUID)
		}
		b.client.PrependReactor("get", "pods", b.unrelated)
		b.open()
		defer func() { b.close() }()
		f(b)
	})
}

// otherUID refuses what is meant for another object of the name, as an API server does and the simulated one does not.
func (b *bed) otherUID(a ktesting.Action) (handled bool, _ runtime.Object, _ error) {
	var meant corev1.Pod
	name := ""
	switch a := a.(type) {
	case ktesting.DeleteAction:
		name = a.GetName()
		if p := a.GetDeleteOptions().Preconditions; p != nil {
			meant.UID = *p.UID
		}
	case ktesting.PatchAction:
		name = a.GetName()
		if err := json.Unmarshal(a.GetPatch(), &meant); err != nil {
			return true, nil, err
		}
	}
	object, err := b.client.Tracker().Get(a.GetResource(), a.GetNamespace(), name)
	if err != nil {
		return true, nil, err
	}
	is := object.(*corev1.Pod)
	switch {
	case is.Spec.NodeName != "node":
		return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), name, errors.New("node can only do that to pods with spec.nodeName set to itself"))
	case meant.UID != "" && is.UID != meant.UID && a.GetVerb() == "delete":
		return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), name, errors.New("the UID in the precondition is another"))
	case meant.UID != "" && is.UID != meant.UID:
		return true, nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), name,
			field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), meant.UID, "field is immutable")})
	}
	return false, nil, nil
}

// unrelated refuses to tell of pods that are not there or another node's, as the node authorizer does.
func (b *bed) unrelated(a ktesting.Action) (handled bool, _ runtime.Object, _ error) {
	name := a.(ktesting.GetAction).GetName()
	if object, err := b.client.Tracker().Get(a.GetResource(), a.GetNamespace(), name); apierrors.IsNotFound(err) || err == nil && object.(*corev1.Pod).Spec.NodeName != "node" {
		return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), name, errors.New("no relationship found between node and this object"))
	}
	return false, nil, nil
}

func (b *bed) open() {
	b.t.Helper()
	var err error
	b.p, err = New(b.t.Context(), Options{Runner: b.runner, Pods: b.client.CoreV1(), Events: b.events, Dir: b.dir,
		NodeIPs: []netip.Addr{netip.MustParseAddr("192.0.2.7")}})
	if err != nil {
		b.t.Fatal(err)
	}
	synctest.Wait()
}

func (b *bed) close() {
	if err := b.p.Close(); err != nil {
		b.t.Error(err)
	}
}

// pod makes the object of a pod, at the API server too.
func (b *bed) pod(change func(*corev1.Pod)) *corev1.Pod {
	b.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "vm", UID: "uid-1", Annotations: map[string]string{RuntimeAnnotation: Runtime}},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, NodeName: "node",
			Containers: []corev1.Container{{Name: "guest", Image: "virtlet.cloud/x", Env: []corev1.EnvVar{{Name: "TOKEN", Value: "canary"}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable,
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}},
	}
	if change != nil {
		change(pod)
	}
	if _, err := b.client.CoreV1().Pods(pod.Namespace).Create(b.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	return pod
}

// create gives the node a pod and waits until nothing happens any more.
func (b *bed) create(change func(*corev1.Pod)) *corev1.Pod {
	b.t.Helper()
	pod := b.pod(change)
	if err := b.p.CreatePod(b.t.Context(), pod); err != nil {
		b.t.Fatal(err)
	}
	synctest.Wait()
	return pod
}

// after lets time pass.
func (b *bed) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// api is the pod as the API server has it when everything is written, or nil.
func (b *bed) api(pod *corev1.Pod) *corev1.Pod {
	b.t.Helper()
	b.after(together)
	out, err := b.client.CoreV1().Pods(pod.Namespace).Get(b.t.Context(), pod.Name, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// brief writes a status in a line: phase, what the container does, restarts, whether the pod is ready, or why not.
func brief(pod *corev1.Pod) string {
	if pod == nil {
		return "gone"
	}
	s := []string{string(pod.Status.Phase)}
	if pod.Status.Reason != "" {
		s = append(s, "reason="+pod.Status.Reason)
	}
	for _, c := range pod.Status.ContainerStatuses {
		switch {
		case c.State.Running != nil:
			s = append(s, "running")
		case c.State.Waiting != nil:
			s = append(s, "waiting="+c.State.Waiting.Reason)
		case c.State.Terminated != nil:
			s = append(s, "terminated="+c.State.Terminated.Reason)
		}
		if c.RestartCount > 0 {
			s = append(s, "restarts="+string(rune('0'+c.RestartCount)))
		}
		if last := c.LastTerminationState.Terminated; last != nil {
			s = append(s, "last="+last.Reason)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			if c.Status == corev1.ConditionTrue {
				s = append(s, "ready")
			} else {
				s = append(s, "not:"+c.Reason)
			}
		}
	}
	return strings.Join(s, " ")
}

// is demands a status.
func (b *bed) is(pod *corev1.Pod, want string) *corev1.Pod {
	b.t.Helper()
	now := b.api(pod)
	if got := brief(now); got != want {
		b.t.Fatalf("the pod is\n  %s, want\n  %s", got, want)
	}
	return now
}

// condition returns a condition of a pod.
func condition(pod *corev1.Pod, t corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == t {
			return c
		}
	}
	return corev1.PodCondition{}
}

// told returns the events so far.
func (b *bed) told() []string {
	var out []string
	for {
		select {
		case e := <-b.events.Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

// said demands an event that begins with a text.
func (b *bed) said(prefix string) {
	b.t.Helper()
	if all := b.told(); !slices.ContainsFunc(all, func(e string) bool { return strings.HasPrefix(e, prefix) }) {
		b.t.Errorf("no event begins with %q:\n%s", prefix, strings.Join(all, "\n"))
	}
}

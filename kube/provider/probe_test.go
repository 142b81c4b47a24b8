package provider

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// TestTally counts results as the API documents successThreshold and failureThreshold.
func TestTally(t *testing.T) {
	for _, c := range []struct {
		name         string
		success, bad int32
		results      string // s and f
		want         string // what is decided after each: + - or .
	}{
		{"the defaults", 0, 0, "sffsfff", "+..+..-"},
		{"two in a row", 2, 1, "ssfsfss", ".+-.-.+"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tl tally
			p, got := &corev1.Probe{SuccessThreshold: c.success, FailureThreshold: c.bad}, ""
			for _, r := range c.results {
				switch decided := tl.count(r == 's', p); {
				case !decided:
					got += "."
				case tl.ok:
					got += "+"
				default:
					got += "-"
				}
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// capable is a guest with an agent and a web server.
type capable struct {
	*simGuest
	exec func(args []string) (supervisor.Result, error)
	addr string
	port uint16
}

func (c *capable) Exec(_ context.Context, cmd supervisor.Command) (supervisor.Result, error) {
	return c.exec(cmd.Args)
}

func (c *capable) DialGuest(ctx context.Context, port uint16) (net.Conn, error) {
	if port != c.port {
		return nil, errors.New("refused")
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", c.addr)
}

// TestProbeOnce asks probes of all kinds.
func TestProbeOnce(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/ok" && r.URL.RawQuery == "a=b" && r.Host == "name" && r.Header.Get("X-A") == "1":
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/nowhere", http.StatusFound)
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer server.Close()
	g := &capable{addr: server.Listener.Addr().String(), port: 80, exec: func(args []string) (supervisor.Result, error) {
		if args[0] == "true" {
			return supervisor.Result{}, nil
		}
		return supervisor.Result{Status: 3, Stderr: []byte("no such thing\n")}, nil
	}}
	c := corev1.Container{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 80}}}
	get := func(path string, port intstr.IntOrString) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: port,
			HTTPHeaders: []corev1.HTTPHeader{{Name: "Host", Value: "name"}, {Name: "X-A", Value: "1"}}}}
	}
	for _, x := range []struct {
		name string
		p    corev1.ProbeHandler
		want string // what the error holds
	}{
		{"exec", corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}, ""},
		{"exec fails", corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"false"}}}, "exit code 3: no such thing"},
		{"tcp", corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}}, ""},
		{"tcp refused", corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(81)}}, "refused"},
		{"tcp, no such port", corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("ssh")}}, "no port ssh"},
		{"http by name", get("/ok?a=b", intstr.FromString("web")), ""},
		{"http, redirected", get("moved", intstr.FromInt32(80)), ""},
		{"http fails", get("/no", intstr.FromInt32(80)), "418"},
		{"grpc", corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 1}}, "gRPC"},
	} {
		t.Run(x.name, func(t *testing.T) {
			err := probeOnce(t.Context(), g, &corev1.Probe{ProbeHandler: x.p}, c)
			if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
				t.Errorf("got %v, want %q", err, x.want)
			}
		})
	}
}

// TestProbes has a guest start slowly, become ready, unready, and die.
func TestProbes(t *testing.T) {
	lie(t, func(b *bed) {
		answers := map[string]bool{}
		exec := func(args []string) (supervisor.Result, error) {
			if answers[args[0]] {
				return supervisor.Result{}, nil
			}
			return supervisor.Result{Status: 1}, nil
		}
		probe := func(name string, period int32) *corev1.Probe {
			return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{name}}}, PeriodSeconds: period}
		}
		b.runner.equip = func(g *simGuest) Guest { return &capable{simGuest: g, exec: exec} }
		pod := b.create(func(pod *corev1.Pod) {
			c := &pod.Spec.Containers[0]
			c.StartupProbe, c.ReadinessProbe, c.LivenessProbe = probe("started", 10), probe("ready", 1), probe("alive", 1)
			c.StartupProbe.FailureThreshold = 30
		})
		b.runner.guest(pod.UID).boots()
		b.after(250 * time.Second) // neither of the other probes is asked yet, or the guest would be dead
		now := b.is(pod, "Running running not:ProbeNotReady")
		if *now.Status.ContainerStatuses[0].Started {
			t.Error("it counts as started")
		}
		answers["started"], answers["alive"] = true, true
		b.after(12 * time.Second)
		b.is(pod, "Running running not:ProbeNotReady")
		answers["ready"] = true
		b.after(2 * time.Second)
		b.is(pod, "Running running ready")
		answers["ready"] = false
		b.after(2 * time.Second)
		b.is(pod, "Running running ready")
		b.after(2 * time.Second)
		b.is(pod, "Running running not:ProbeNotReady")
		answers["alive"] = false
		b.after(5 * time.Second)
		b.is(pod, "Running running restarts=1 last=Error not:Booting")
		b.said("Normal Killing The guest is shut down, because the liveness probe failed: exit code 1")
	})
}

// TestProbesOfLaterProcess has a node's next process ask a probe with a header, whose value no record holds, and count its
// first delay from the guest's start.
func TestProbesOfLaterProcess(t *testing.T) {
	lie(t, func(b *bed) {
		asked := 0
		b.runner.equip = func(g *simGuest) Guest {
			return &web{simGuest: g, answer: func(r *http.Request) bool { asked++; return r.Header.Get("Authorization") == "canary" }}
		}
		pod := b.create(func(pod *corev1.Pod) {
			pod.Annotations[TimeoutAnnotation] = "0s"
			pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{InitialDelaySeconds: 60, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
				Port: intstr.FromInt32(80), HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: "canary"}}}}}
		})
		b.after(59 * time.Second)
		b.close()
		if text, err := os.ReadFile(b.p.path(RefOf(pod))); err != nil || strings.Contains(string(text), "canary") {
			t.Errorf("%v, the record is %s", err, text)
		}
		b.open()
		b.after(30 * time.Second)
		if asked > 0 {
			t.Error("it was asked without its header")
		}
		if err := b.p.CreatePod(t.Context(), b.api(pod)); err != nil {
			t.Fatal(err)
		}
		b.after(time.Second)
		b.is(pod, "Running running ready")
	})
}

// web is a guest with a web server in the bubble of its test.
type web struct {
	*simGuest
	answer func(*http.Request) bool
}

func (w *web) DialGuest(context.Context, uint16) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		r, err := http.ReadRequest(bufio.NewReader(theirs))
		if err != nil {
			return
		}
		status := "200 OK"
		if !w.answer(r) {
			status = "401 Unauthorized"
		}
		_, _ = io.WriteString(theirs, "HTTP/1.1 "+status+"\r\nContent-Length: 0\r\n\r\n")
	}()
	return ours, nil
}

// TestProbeOfLeavingGuest gives a guest that shuts down the time that its deletion gave it, though it answers no more.
func TestProbeOfLeavingGuest(t *testing.T) {
	lie(t, func(b *bed) {
		b.runner.equip = func(g *simGuest) Guest {
			g.deaf = true
			return &capable{simGuest: g, exec: func([]string) (supervisor.Result, error) { return supervisor.Result{Status: 1}, nil }}
		}
		pod := b.create(func(pod *corev1.Pod) {
			soon := int64(1)
			pod.Spec.Containers[0].LivenessProbe = &corev1.Probe{InitialDelaySeconds: 10, PeriodSeconds: 1, FailureThreshold: 1, TerminationGracePeriodSeconds: &soon,
				ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
		})
		guest, grace, stamp := b.runner.guest(pod.UID), int64(300), metav1.Now()
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &stamp, &grace
		if err := b.p.DeletePod(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		b.after(299 * time.Second)
		if s, err := guest.State(t.Context()); err != nil || !s.Status.Alive() {
			t.Errorf("%v, after %v", s, guest.graces)
		}
		for _, e := range b.told() {
			if strings.Contains(e, "Killing") {
				t.Error(e)
			}
		}
		b.after(2 * time.Second)
		b.is(pod, "gone")
	})
}

// TestEventsOfOneReason says something new after a guest has said too much.
func TestEventsOfOneReason(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		for i := range 500 {
			b.runner.guest(pod.UID).say(supervisor.Event{Note: fmt.Sprint("note ", i)})
		}
		b.runner.guest(pod.UID).boots()
		synctest.Wait()
		all := b.told()
		if len(all) > maxSaid+5 || !strings.Contains(strings.Join(all, "\n"), reasonDone) {
			t.Errorf("%d events: %q", len(all), all)
		}
	})
}

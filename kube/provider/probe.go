package provider

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// tally counts the results of a probe, as kubelets do.
type tally struct {
	successes, failures int32
	// ok is the present verdict.
	ok bool
}

// count takes in a result and reports whether the verdict has changed, or is now that the probe has failed.
func (t *tally) count(success bool, p *corev1.Probe) (decided bool) {
	if success {
		t.successes, t.failures = t.successes+1, 0
		if decided = t.successes >= max(p.SuccessThreshold, 1); decided {
			t.ok = true
		}
		return decided
	}
	t.successes, t.failures = 0, t.failures+1
	if decided = t.failures >= cmp.Or(p.FailureThreshold, 3); decided {
		t.ok = false
	}
	return decided
}

// seconds is a number of seconds of a probe, with its default.
func seconds(n, otherwise int32) time.Duration {
	return time.Duration(cmp.Or(n, otherwise)) * time.Second
}

// probe has the probes of the container asked as long as ctx lasts: the startup probe first, until it succeeds. A guest of
// which the startup or liveness probe fails is ended, for the restart policy to decide.
func (v *vm) probe(ctx context.Context, guest Guest) {
	v.mutex.Lock()
	containers := v.pod.Spec.Containers
	v.mutex.Unlock()
	if len(containers) == 0 {
		return
	}
	c := containers[0]
	probes := []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe}
	if !slices.ContainsFunc(probes, func(p *corev1.Probe) bool { return p != nil }) {
		return
	}
	v.change(func() {
		if c.StartupProbe != nil {
			v.now.started = &probeVerdict{message: "the startup probe has not succeeded yet"}
		}
		if c.ReadinessProbe != nil {
			v.now.ready = &probeVerdict{message: "the readiness probe has not succeeded yet"}
		}
	})
	if slices.ContainsFunc(probes, hasHeaders) {
		select { // the record has no values of headers
		case <-v.known:
		case <-ctx.Done():
			return
		}
		v.mutex.Lock()
		c = v.pod.Spec.Containers[0]
		v.mutex.Unlock()
	}
	if p := c.StartupProbe; p != nil {
		started := false
		v.repeat(ctx, guest, p, "Startup", c, func(ok bool, message string) bool {
			if started = ok; ok {
				v.change(func() { v.now.started = &probeVerdict{ok: true} })
			} else {
				v.kill("startup", p, message)
			}
			return false
		})
		if !started {
			return
		}
	}
	if p := c.LivenessProbe; p != nil {
		v.p.background(func() {
			v.repeat(ctx, guest, p, "Liveness", c, func(ok bool, message string) bool {
				if !ok {
					v.kill("liveness", p, message)
				}
				return ok
			})
		})
	}
	if p := c.ReadinessProbe; p != nil {
		v.repeat(ctx, guest, p, "Readiness", c, func(ok bool, message string) bool {
			v.change(func() { v.now.ready = &probeVerdict{ok, message} })
			return true
		})
	}
}

// rests reports whether a user has paused the guest. It is asked nothing then, because it cannot answer.
func (v *vm) rests() bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.now.byUser
}

// kill ends a guest whose probe failed. One that is being shut down answers no probes, and keeps the time that it has.
func (v *vm) kill(name string, p *corev1.Probe, message string) {
	if !v.look().Run.Asked.IsZero() {
		return
	}
	grace := v.grace()
	if p.TerminationGracePeriodSeconds != nil {
		grace = time.Duration(*p.TerminationGracePeriodSeconds) * time.Second
	}
	text := "the " + name + " probe failed: " + message
	v.event(corev1.EventTypeNormal, "Killing", "The guest is shut down, because "+text)
	v.ask(forProbe, grace, text)
}

// hasHeaders reports whether a probe sends headers of the user's.
func hasHeaders(p *corev1.Probe) bool {
	return p != nil && p.HTTPGet != nil && len(p.HTTPGet.HTTPHeaders) > 0
}

// repeat asks a probe again and again, and calls f with each verdict as long as that returns true.
func (v *vm) repeat(ctx context.Context, guest Guest, p *corev1.Probe, name string, c corev1.Container, f func(ok bool, message string) bool) {
	if !v.p.sleep(ctx, time.Until(v.look().Run.Since.Add(time.Duration(p.InitialDelaySeconds)*time.Second))) {
		return
	}
	var t tally
	for again := true; again; again = v.p.sleep(ctx, seconds(p.PeriodSeconds, 10)) {
		err := v.attend(ctx, guest, p, c)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errRests) {
			continue
		}
		message := ""
		if err != nil {
			message = clip(err.Error(), maxCondition)
			v.event(corev1.EventTypeWarning, "Unhealthy", name+" probe failed: "+message)
		}
		if t.count(err == nil, p) && !f(t.ok, message) {
			return
		}
	}
}

// errRests means that a guest gave no answer because a user has paused it.
var errRests = errors.New("a user has paused the guest")

// attend asks a probe once, unless the guest rests. One that was paused meanwhile, or before this process knew, has not failed.
func (v *vm) attend(ctx context.Context, guest Guest, p *corev1.Probe, c corev1.Container) error {
	if v.rests() {
		return errRests
	}
	once, cancel := context.WithTimeout(ctx, seconds(p.TimeoutSeconds, 1))
	defer cancel()
	err := probeOnce(once, guest, p, c)
	switch {
	case err != nil && v.rests():
		return errRests
	case err != nil && once.Err() != nil:
		return fmt.Errorf("no answer within %v", seconds(p.TimeoutSeconds, 1))
	}
	return err
}

// probeOnce asks a probe once. Ports are those of the guest.
func probeOnce(ctx context.Context, guest Guest, p *corev1.Probe, c corev1.Container) error {
	switch {
	case p.Exec != nil:
		return probeExec(ctx, guest, p.Exec.Command)
	case p.TCPSocket != nil:
		conn, err := probeDial(ctx, guest, p.TCPSocket.Host, p.TCPSocket.Port, c)
		if err != nil {
			return err
		}
		return conn.Close()
	case p.HTTPGet != nil:
		return probeHTTP(ctx, guest, p.HTTPGet, c)
	case p.GRPC != nil:
		return errors.New("this node asks no gRPC probes; use exec, httpGet or tcpSocket")
	}
	return errors.New("the probe has nothing to ask")
}

func probeExec(ctx context.Context, guest Guest, command []string) error {
	e, ok := guest.(Executor)
	if !ok {
		return errors.New("no programs can be run in the guests of this node")
	}
	r, err := e.Exec(ctx, supervisor.Command{Args: command})
	if err != nil {
		return err
	}
	if r.Status != 0 {
		text := strings.TrimSpace(string(append(r.Stdout, r.Stderr...)))
		return fmt.Errorf("exit code %d: %s", r.Status, clip(text, maxCondition))
	}
	return nil
}

// probeDial connects to a port of the guest, or of the host that the probe names.
func probeDial(ctx context.Context, guest Guest, host string, port intstr.IntOrString, c corev1.Container) (net.Conn, error) {
	n, err := portNumber(port, c)
	if err != nil {
		return nil, err
	}
	if host != "" {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(n))))
	}
	d, ok := guest.(Dialer)
	if !ok {
		return nil, errors.New("the guests of this node cannot be connected to")
	}
	return d.DialGuest(ctx, n)
}

// portNumber finds the number of a port that may be named.
func portNumber(port intstr.IntOrString, c corev1.Container) (uint16, error) {
	n := int(port.IntVal)
	if port.Type == intstr.String {
		n = 0
		for _, p := range c.Ports {
			if p.Name == port.StrVal {
				n = int(p.ContainerPort)
			}
		}
		if number, err := strconv.Atoi(port.StrVal); n == 0 && err == nil {
			n = number
		}
	}
	if n < 1 || n > 65535 {
		return 0, fmt.Errorf("the container has no port %s", port.String())
	}
	return uint16(n), nil
}

// probeBody is how much of an answer is read, in bytes.
const probeBody = 10 << 10

// probeHTTP succeeds when the answer's status is from 200 to 399 (Pod v1 core, httpGet). A certificate is not looked at.
func probeHTTP(ctx context.Context, guest Guest, get *corev1.HTTPGetAction, c corev1.Container) error {
	n, err := portNumber(get.Port, c)
	if err != nil {
		return err
	}
	scheme := strings.ToLower(string(cmp.Or(get.Scheme, corev1.URISchemeHTTP)))
	target, err := url.Parse(get.Path)
	if err != nil {
		return fmt.Errorf("the path of the probe cannot be read: %w", err)
	}
	target.Scheme, target.Host = scheme, net.JoinHostPort(cmp.Or(get.Host, "localhost"), strconv.Itoa(int(n)))
	if !strings.HasPrefix(target.Path, "/") {
		target.Path = path.Join("/", target.Path)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "kube-probe/vmseed")
	request.Header.Set("Accept", "*/*")
	for _, h := range get.HTTPHeaders {
		if strings.EqualFold(h.Name, "Host") {
			request.Host = h.Value
			continue
		}
		request.Header.Add(h.Name, h.Value)
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return probeDial(ctx, guest, get.Host, intstr.FromInt32(int32(n)), c)
		}}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, probeBody)
	if answer.StatusCode < 200 || answer.StatusCode >= 400 {
		return fmt.Errorf("the answer has the status %s", answer.Status)
	}
	return nil
}

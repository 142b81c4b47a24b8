package server_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/utils/exec"
)

// executors are the two ways in which clients open streams.
func executors(t *testing.T, config *rest.Config, address string) map[string]remotecommand.Executor {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	byStream, err := remotecommand.NewSPDYExecutor(config, "POST", u)
	if err != nil {
		t.Fatal(err)
	}
	bySocket, err := remotecommand.NewWebSocketExecutorForProtocols(config, "GET", address, "v4.channel.k8s.io")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]remotecommand.Executor{"SPDY": byStream, "WebSocket": bySocket}
}

// TestExec: output arrives, and so does the exit status, however deep it is in the provider's error.
func TestExec(t *testing.T) {
	s := start(t)
	config := s.as(t, "alice")
	for name, e := range executors(t, config, s.url+"/exec/default/vm/compute?command=echo&command=a&output=1&error=1") {
		var out, errs bytes.Buffer
		if err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out, Stderr: &errs}); err != nil || out.String() != "echo a\n" {
			t.Errorf("%s: %v, %q", name, err, out.String())
		}
	}
	for name, e := range executors(t, config, s.url+"/exec/default/vm/u/compute?command=false&output=1") {
		var out bytes.Buffer
		err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out})
		if exit, ok := errors.AsType[utilexec.ExitError](err); !ok || exit.ExitStatus() != 3 {
			t.Errorf("%s: a command that ended with 3 gives %v", name, err)
		}
	}
}

// TestExecRefused: why a command cannot be run stands where its own words would, also for a terminal, which has one stream.
func TestExecRefused(t *testing.T) {
	s := start(t)
	for _, query := range []string{"output=1&error=1", "output=1&tty=1&input=1"} {
		for name, e := range executors(t, s.as(t, "alice"), s.url+"/exec/default/vm/compute?command=refused&"+query) {
			var out, errs bytes.Buffer
			o := remotecommand.StreamOptions{Stdout: &out, Stderr: &errs}
			if strings.Contains(query, "tty") {
				o = remotecommand.StreamOptions{Stdin: strings.NewReader(""), Stdout: &errs, Tty: true}
			}
			err := e.StreamWithContext(t.Context(), o)
			if exit, ok := errors.AsType[utilexec.ExitError](err); !ok || exit.ExitStatus() != 126 || errs.String() != "vmseed: the guest agent does not answer\r\n" || out.Len() > 0 {
				t.Errorf("%s, %s: %v, %q", name, query, err, errs.String())
			}
		}
	}
}

type oneSize struct{ sent bool }

func (o *oneSize) Next() *remotecommand.TerminalSize {
	if o.sent {
		return nil
	}
	o.sent = true
	return &remotecommand.TerminalSize{Width: 132, Height: 43}
}

// TestAttach: what goes in comes out, and a terminal's size arrives. Web sockets of protocol v4 cannot close one direction,
// so the echo would not end over them.
func TestAttach(t *testing.T) {
	s := start(t)
	e := executors(t, s.as(t, "alice"), s.url+"/attach/default/vm/compute?input=1&output=1&error=1&tty=1")["SPDY"]
	var out bytes.Buffer
	err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader("typed"), Stdout: &out, Tty: true, TerminalSizeQueue: &oneSize{}})
	if err != nil || out.String() != "typed" {
		t.Errorf("%v, %q", err, out.String())
	}
	if size := <-s.provider.sizes; size != (api.TermSize{Width: 132, Height: 43}) {
		t.Errorf("the terminal's size is %v", size)
	}
}

// TestPortForward: over SPDY, as the API server does it, several connections are one session.
func TestPortForward(t *testing.T) {
	s := start(t)
	config := s.as(t, "alice")
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(s.url + "/portForward/default/vm")
	if err != nil {
		t.Fatal(err)
	}
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", u),
		[]string{"127.0.0.1"}, []string{"0:22", "0:1"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := speak(t, ports[0].Local); got != "22 hello" {
			t.Errorf("port 22 says %q", got)
		}
	}
	// The client gives the session up when a port does not answer, so this is last.
	if got := speak(t, ports[1].Local); got != "" {
		t.Errorf("a port on which nobody listens says %q", got)
	}
	close(stop)
	<-done
}

func speak(t *testing.T, port uint16) string {
	t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()            //nolint:errcheck // All is read.
	io.WriteString(c, "hello") //nolint:errcheck // Judged by the answer.
	b, _ := io.ReadAll(c)      //nolint:errcheck // A connection that is cut has said nothing.
	return string(b)
}

// TestPortForwardWebSocket: each port has a channel of data and one of errors, which both begin with the port.
func TestPortForwardWebSocket(t *testing.T) {
	s := start(t)
	cert := s.ca.issue(t, x509.ExtKeyUsageClientAuth, "alice")
	dialer := websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: s.trust, Certificates: []tls.Certificate{cert}}, Subprotocols: []string{"v4.channel.k8s.io"}}
	c, _, err := dialer.DialContext(t.Context(), strings.Replace(s.url, "https", "wss", 1)+"/portForward/default/vm?port=22&port=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // All is read.
	if err := c.WriteMessage(websocket.BinaryMessage, []byte("\x00hello")); err != nil {
		t.Fatal(err)
	}
	got := map[byte][]byte{}
	for {
		_, message, err := c.ReadMessage()
		if err != nil {
			break
		}
		got[message[0]] = append(got[message[0]], message[1:]...)
	}
	head := func(port uint16, rest string) string {
		return string(binary.LittleEndian.AppendUint16(nil, port)) + rest
	}
	for channel, want := range map[byte]string{0: head(22, "22 hello"), 1: head(22, ""), 2: head(1, ""), 3: head(1, "port 1: nothing listens")} {
		if string(got[channel]) != want {
			t.Errorf("channel %d has %q, not %q", channel, got[channel], want)
		}
	}
	for _, bad := range []string{"", "?port=0", "?port=65536", "?port=x"} {
		_, answer, err := dialer.DialContext(t.Context(), strings.Replace(s.url, "https", "wss", 1)+"/portForward/default/vm"+bad, nil)
		if err == nil || answer == nil || answer.StatusCode != 400 {
			t.Errorf("ports %q: %v", bad, err)
		}
	}
}

// TestLogs: each parameter reaches the provider, and what is wrong is refused.
func TestLogs(t *testing.T) {
	s := start(t)
	alice := s.ca.issue(t, x509.ExtKeyUsageClientAuth, "alice")
	for query, want := range map[string]string{
		"":                                       "one\ntwo\n",
		"limitBytes=5":                           "one\nt",
		"tailLines=0":                            "",
		"tailLines=7&timestamps=true&stream=All": "one\ntwo\n",
		"sinceSeconds=3":                         "one\ntwo\n",
		"sinceTime=2020-01-02T03:04:05Z":         "one\ntwo\n",
		"sinceTime=yesterday":                    "400",
		"sinceSeconds=0":                         "400",
		"sinceSeconds=1&sinceTime=2020-01-02T03:04:05Z": "400",
		"tailLines=-1":  "400",
		"limitBytes=0":  "400",
		"follow=maybe":  "400",
		"stream=Stderr": "400",
		"previous=true": "404",
	} {
		status, body := s.get(t, &alice, "GET", "/containerLogs/default/vm/compute?"+query, "")
		if status != 200 {
			body = fmt.Sprint(status)
		}
		if body != want {
			t.Errorf("%q gives %q, not %q", query, body, want)
		}
	}
}

// TestFollow: lines arrive when they are written, and the reader ends when the client goes.
func TestFollow(t *testing.T) {
	s := start(t)
	alice := s.ca.issue(t, x509.ExtKeyUsageClientAuth, "alice")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.trust, Certificates: []tls.Certificate{alice}}}}
	answer, err := client.Get(s.url + "/containerLogs/default/vm/compute?follow=true&tailLines=0")
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	if err != nil || line != "live\n" {
		t.Errorf("%v: %q", err, line)
	}
	s.provider.mu.Lock()
	defer s.provider.mu.Unlock()
	if s.provider.opts.Tail >= 0 || !s.provider.opts.Follow {
		t.Errorf("the provider is asked for %+v", s.provider.opts)
	}
	answer.Body.Close() //nolint:errcheck // That is the event.
	<-s.provider.ended
}

// TestStats: the three documents that `top`, autoscalers and monitoring read.
func TestStats(t *testing.T) {
	s := start(t)
	alice := s.ca.issue(t, x509.ExtKeyUsageClientAuth, "alice")
	_, metrics := s.get(t, &alice, "GET", "/metrics/resource", "")
	for _, line := range []string{
		"node_cpu_usage_seconds_total 1\n",
		`pod_cpu_usage_seconds_total{namespace="default",pod="vm"} 2.5 1700000000000` + "\n",
		`container_cpu_usage_seconds_total{container="compute",namespace="default",pod="vm"} 2.5 1700000000000` + "\n",
		`container_memory_working_set_bytes{container="compute",namespace="default",pod="vm"} 6.7108864e+07 1700000000000` + "\n",
		`container_start_time_seconds{container="compute",namespace="default",pod="vm"} 1.7e+09` + "\n",
		"# TYPE container_cpu_usage_seconds_total counter\n",
		"resource_scrape_error 0\n",
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("/metrics/resource lacks %q:\n%s", line, metrics)
		}
	}
	_, whole := s.get(t, &alice, "GET", "/stats/summary", "")
	_, short := s.get(t, &alice, "GET", "/stats/summary?only_cpu_and_memory=true", "")
	if !strings.Contains(whole, `"fs":`) || !strings.Contains(whole, `"logs":`) || strings.Contains(short, `"fs":`) || strings.Contains(short, `"logs":`) ||
		!strings.Contains(short, `"usageCoreNanoSeconds":2500000000`) {
		t.Errorf("the summary is\n%s\nand in short\n%s", whole, short)
	}
	_, running := s.get(t, &alice, "GET", "/runningpods/", "")
	if !strings.Contains(running, `"name":"vm"`) || strings.Contains(running, "waiting") || !strings.Contains(running, `"kind":"PodList"`) {
		t.Errorf("the pods that run are\n%s", running)
	}
	_, own := s.get(t, &alice, "GET", "/metrics", "")
	for _, line := range []string{"vmseed_node_pods 1\n", "kubelet_running_pods ", `kubelet_node_name{node="`, `route="GET /stats/summary"`} {
		if !strings.Contains(own, line) {
			t.Errorf("the server's own metrics lack %q:\n%s", line, own)
		}
	}
}

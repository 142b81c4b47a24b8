package subresources

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// dial opens a stream as the front proxy for a user.
func (h *harness) dial(t *testing.T, user, path string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	dialer := websocket.Dialer{TLSClientConfig: h.tls(h.proxy.client(t, "front-proxy")), Subprotocols: []string{subprotocol}}
	socket, response, err := dialer.DialContext(t.Context(), "wss"+strings.TrimPrefix(h.http.URL, "https")+path, http.Header{"X-Remote-User": {user}})
	if err == nil {
		t.Cleanup(func() { socket.Close() })
		if got := socket.Subprotocol(); got != subprotocol {
			t.Errorf("subprotocol %q", got)
		}
	}
	return socket, response, err
}

// open is dial that must work.
func (h *harness) open(t *testing.T, user, path string) *websocket.Conn {
	t.Helper()
	socket, response, err := h.dial(t, user, path)
	if err != nil {
		body := []byte{}
		if response != nil {
			body, _ = io.ReadAll(response.Body)
		}
		t.Fatalf("%v: %s", err, body)
	}
	return socket
}

// talk sends a text and reads until the answer has come.
func talk(t *testing.T, socket *websocket.Conn, say, want string) {
	t.Helper()
	check(t, socket.WriteMessage(websocket.BinaryMessage, []byte(say)))
	var got bytes.Buffer
	for !strings.Contains(got.String(), want) {
		_, message, err := socket.ReadMessage()
		if err != nil {
			t.Fatalf("after %q: %v", got.String(), err)
		}
		got.Write(message)
	}
}

// ending reads until a stream ends, and returns the code and the reason of the close message; 1006 is none.
func ending(t *testing.T, socket *websocket.Conn) (int, string) {
	t.Helper()
	for {
		_, _, err := socket.ReadMessage()
		var closed *websocket.CloseError
		switch {
		case errors.As(err, &closed):
			return closed.Code, closed.Text
		case err != nil:
			return websocket.CloseAbnormalClosure, err.Error()
		}
	}
}

// echoes is a console, or a service, that says what it hears until it hears "bye", or "fail".
func echoes(_ context.Context, in io.Reader, out io.Writer) error {
	buffer := make([]byte, 100)
	for {
		n, err := in.Read(buffer)
		if _, err := out.Write(buffer[:n]); err != nil {
			return err
		}
		switch {
		case bytes.Contains(buffer[:n], []byte("bye")), errors.Is(err, io.EOF):
			return nil
		case bytes.Contains(buffer[:n], []byte("fail")):
			return errors.New("the guest is on fire")
		case bytes.Contains(buffer[:n], []byte("long")):
			return errors.New("x" + strings.Repeat("ä", reasonBytes))
		case err != nil:
			return err
		}
	}
}

func streaming(t *testing.T, o Options) *harness {
	t.Helper()
	h := serve(t, o, interceptor.Funcs{}, machineX(kubevirtv1.RunStrategyAlways), instanceX(kubevirtv1.Running), launcherX("vmi"))
	h.pods.attach = echoes
	h.pods.forward = func(ctx context.Context, port uint16, in io.Reader, out io.Writer, opened func()) error {
		if port != 7 {
			return errors.New("the pod has no such port")
		}
		opened()
		return echoes(ctx, in, out)
	}
	h.Server.pods = h.pods
	return h
}

// TestConsoleEnds holds how a console ends: without a close message when the VM ends it or another client takes it, as
// KubeVirt's clients know it, and with one that says why when something is wrong.
func TestConsoleEnds(t *testing.T) {
	h := streaming(t, Options{})
	console := url(instances, "console")
	first := h.open(t, "owner", console)
	talk(t, first, "hello", "hello")
	second := h.open(t, "owner", console)
	if code, why := ending(t, first); code != websocket.CloseAbnormalClosure {
		t.Errorf("the console that was taken away ends with %d %s", code, why)
	}
	eventually(t, "the log says who took the console", func() bool { return strings.Contains(h.log.String(), errReplaced.Error()) })
	talk(t, second, "bye", "bye")
	if code, why := ending(t, second); code != websocket.CloseAbnormalClosure {
		t.Errorf("the console of a VM that ends closes with %d %s", code, why)
	}
	third := h.open(t, "owner", console)
	talk(t, third, "fail", "fail")
	if code, why := ending(t, third); code != websocket.CloseInternalServerErr || why != "the guest is on fire" {
		t.Errorf("a console that fails closes with %d %s", code, why)
	}
	long := h.open(t, "owner", console)
	talk(t, long, "long", "long")
	if code, why := ending(t, long); code != websocket.CloseInternalServerErr || why != "x"+strings.Repeat("ä", reasonBytes/2-1) {
		t.Errorf("a console that fails at length closes with %d %s", code, why)
	}
	fourth := h.open(t, "owner", console)
	h.streams.end()
	if code, why := ending(t, fourth); code != websocket.CloseGoingAway || why != errShutdown.Error() {
		t.Errorf("the console of a server that shuts down closes with %d %s", code, why)
	}
	check(t, h.streams.wait(t.Context()))
	if len(h.consoles) != 0 {
		t.Errorf("%d consoles are left", len(h.consoles))
	}
}

// TestForwards holds how a forwarded port ends, and what is refused before it opens.
func TestForwards(t *testing.T) {
	h := streaming(t, Options{})
	for _, path := range []string{url(machines, "portforward/7"), url(instances, "portforward/7/tcp")} {
		socket := h.open(t, "owner", path)
		talk(t, socket, "bye", "bye")
		if code, why := ending(t, socket); code != websocket.CloseNormalClosure {
			t.Errorf("%s closes with %d %s", path, code, why)
		}
	}
	for path, want := range map[string]string{
		url(instances, "portforward/8"):     `500 .*the pod has no such port`,
		url(instances, "portforward/0"):     `400 .*port must be a number from 1 to 65535, not \"0\"`,
		url(instances, "portforward/99999"): `400 .*port must be a number`,
		url(instances, "portforward/7/udp"): `501 .*only TCP is forwarded`,
		url(instances, "portforward/7/x"):   `400 .*protocol must be tcp`,
		url(instances, "guestosinfo"):       `500 .*`,
	} {
		h.pods.exec = func([]string) ([]byte, error) { return nil, errors.New("this is no stream") }
		_, response, err := h.dial(t, "owner", path)
		if err == nil {
			t.Errorf("%s opens", path)
			continue
		}
		body, _ := io.ReadAll(response.Body)
		code, says, _ := strings.Cut(want, " .*")
		if !strings.HasPrefix(response.Status, code) || !strings.Contains(string(body), says) {
			t.Errorf("%s: %s %s, want %s", path, response.Status, body, want)
		}
	}
	if response, body := h.do(t, "owner", http.MethodGet, url(instances, "console"), ""); response.StatusCode != http.StatusBadRequest || !strings.Contains(body, subprotocol) {
		t.Errorf("no WebSocket: %d %s", response.StatusCode, body)
	}
}

// TestStreamLimits holds that neither one user nor all together have more streams than there are places.
func TestStreamLimits(t *testing.T) {
	h := streaming(t, Options{Streams: 8}) // two for each user
	path := url(instances, "portforward/7")
	refused := func(user string) {
		t.Helper()
		_, response, err := h.dial(t, user, path)
		if err == nil || response.StatusCode != http.StatusTooManyRequests {
			t.Errorf("one stream too many for %s: %v", user, err)
		}
	}
	for _, user := range []string{"a", "b", "c", "d"} {
		for range 2 {
			talk(t, h.open(t, user, path), "hello", "hello")
		}
		refused(user)
	}
	refused("e")
	h.streams.end()
	check(t, h.streams.wait(t.Context()))
}

// TestStuckEnds has each end stop taking what the other one says: the stream ends all the same when one of them goes.
func TestStuckEnds(t *testing.T) {
	h := streaming(t, Options{})
	h.pingEvery = 50 * time.Millisecond
	deaf := make(chan struct{}, 2)
	h.pods.forward = func(ctx context.Context, port uint16, in io.Reader, out io.Writer, opened func()) error {
		opened()
		if port == 1 { // never reads
			<-ctx.Done()
			deaf <- struct{}{}
			return nil
		}
		for { // always writes, also after its context has ended
			if _, err := out.Write(make([]byte, bufferBytes)); err != nil {
				deaf <- struct{}{}
				return err
			}
		}
	}
	for _, port := range []string{"1", "2"} {
		socket := h.open(t, "owner", url(instances, "portforward/"+port))
		check(t, socket.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		for socket.WriteMessage(websocket.BinaryMessage, make([]byte, bufferBytes)) == nil && port == "1" {
		}
		socket.Close()
		select {
		case <-deaf:
		case <-time.After(3 * time.Minute):
			t.Fatalf("port %s: the node's end goes on", port)
		}
	}
	h.streams.end()
	check(t, h.streams.wait(t.Context()))
}

// TestLastWords has a client say something and close at once: the node's end gets it, and the end of it, before it is
// ended itself. What it answers goes nowhere.
func TestLastWords(t *testing.T) {
	h := streaming(t, Options{})
	heard := make(chan error, 1)
	h.pods.forward = func(ctx context.Context, _ uint16, in io.Reader, out io.Writer, opened func()) error {
		opened()
		text, err := io.ReadAll(in)
		if err == nil && string(text) != "last words" {
			err = errors.New("heard " + string(text))
		}
		heard <- errors.Join(err, ctx.Err())
		_, err = out.Write(make([]byte, 4<<20))
		return err
	}
	socket := h.open(t, "owner", url(instances, "portforward/7"))
	check(t, socket.WriteMessage(websocket.BinaryMessage, []byte("last words")))
	check(t, socket.Close())
	check(t, <-heard)
	h.streams.end()
	check(t, h.streams.wait(t.Context()))
}

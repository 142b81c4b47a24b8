package subresources

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"testing"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestStart follows a server from its first certificate to its end, which ends the streams and nothing else.
func TestStart(t *testing.T) {
	h := streaming(t, Options{})
	callers, err := newFrontProxy(h.kube)
	check(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	o := h.options
	o.Listener, o.Connections = listener, 10
	s := newServer(o, h.kube, h.objects, callers, h.pods)
	if s.NeedLeaderElection() {
		t.Error("replicas that do not lead would not serve")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	t.Cleanup(stop)

	var secret *corev1.Secret
	eventually(t, "the certificate is in the Secret", func() bool {
		secret, err = h.kube.CoreV1().Secrets("kubevirt").Get(t.Context(), DefaultSecret, metav1.GetOptions{})
		return err == nil
	})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data[corev1.ServiceAccountRootCAKey])
	config := &tls.Config{RootCAs: roots, ServerName: "vmseed-api.kubevirt.svc", Certificates: []tls.Certificate{*h.proxy.client(t, "front-proxy")}}
	plain := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	address := listener.Addr().String()
	eventually(t, "the server is healthy", func() bool {
		response, err := plain.Get("https://" + address + "/healthz")
		check(t, err)
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	dialer := websocket.Dialer{TLSClientConfig: config, Subprotocols: []string{subprotocol}}
	socket, _, err := dialer.DialContext(t.Context(), "wss://"+address+url(instances, "console"), http.Header{"X-Remote-User": {"owner"}})
	check(t, err)
	defer socket.Close()
	talk(t, socket, "hello", "hello")
	stop()
	if code, why := ending(t, socket); code != websocket.CloseGoingAway {
		t.Errorf("the console ends with %d %s", code, why)
	}
	if err := <-ended; err != nil {
		t.Errorf("the server ends with %v", err)
	}
	if _, err := plain.Get("https://" + address + "/healthz"); err == nil {
		t.Error("the server still answers")
	}
}

// TestUnknownFrontProxy refuses everybody while nobody has said who the front proxy is.
func TestUnknownFrontProxy(t *testing.T) {
	h := serve(t, Options{}, interceptor.Funcs{})
	var err error
	h.callers, err = newFrontProxy(h.kube)
	check(t, err)
	for path, code := range map[string]int{url(machines, "start"): http.StatusServiceUnavailable, "/healthz": http.StatusServiceUnavailable} {
		method := http.MethodGet
		if path != "/healthz" {
			method = http.MethodPut
		}
		if response, body := h.do(t, "owner", method, path, ""); response.StatusCode != code {
			t.Errorf("%s: %d %s, want %d", path, response.StatusCode, body, code)
		}
	}
}

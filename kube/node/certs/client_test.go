package certs_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/vmseed/vmseed/kube/node/certs"
)

// approver is as much of an API server as a node needs to get its certificate: it issues certificates of six seconds to
// whoever has the token "bootstrap" or a certificate of before, and tells others nothing.
type approver struct {
	t *testing.T

	mu       sync.Mutex
	requests map[string]certificatesv1.CertificateSigningRequest
	// by are what the requests were made with: "token", or the serial number of a certificate.
	by []string
}

func (a *approver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	who := ""
	switch {
	case r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && time.Now().Before(r.TLS.PeerCertificates[0].NotAfter):
		who = r.TLS.PeerCertificates[0].SerialNumber.String()
	case r.Header.Get("Authorization") == "Bearer bootstrap":
		who = "token"
	default:
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	list := certificatesv1.CertificateSigningRequestList{TypeMeta: metav1.TypeMeta{Kind: "CertificateSigningRequestList", APIVersion: "certificates.k8s.io/v1"}}
	switch {
	case strings.HasPrefix(r.URL.Path, "/whoami"):
		io.WriteString(w, who) //nolint:errcheck // Judged by the client.
	case r.Method == http.MethodPost:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			a.t.Error(err)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			a.t.Error(err)
			return
		}
		request := *object.(*certificatesv1.CertificateSigningRequest)
		n := len(a.requests) + 1
		request.TypeMeta = metav1.TypeMeta{Kind: "CertificateSigningRequest", APIVersion: "certificates.k8s.io/v1"}
		request.Name, request.UID = fmt.Sprintf("csr-%d", n), types.UID(fmt.Sprint(n))
		request.Status = certificatesv1.CertificateSigningRequestStatus{Certificate: sign(a.t, request.Spec.Request, int64(n), 6*time.Second),
			Conditions: []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}}
		a.requests[request.Name] = request
		a.by = append(a.by, who)
		json.NewEncoder(w).Encode(request) //nolint:errcheck // As above.
	case r.URL.Query().Get("watch") != "":
		name := strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
		end := metav1.ObjectMeta{ResourceVersion: "1", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}
		for i, object := range []certificatesv1.CertificateSigningRequest{a.requests[name], {ObjectMeta: end}} {
			object.TypeMeta = metav1.TypeMeta{Kind: "CertificateSigningRequest", APIVersion: "certificates.k8s.io/v1"}
			json.NewEncoder(w).Encode(map[string]any{"type": []string{"ADDED", "BOOKMARK"}[i], "object": object}) //nolint:errcheck // As above.
		}
	default:
		name := strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
		list.Items = append(list.Items, a.requests[name])
		list.ResourceVersion = "1"
		json.NewEncoder(w).Encode(list) //nolint:errcheck // As above.
	}
}

// renewed reports whether somebody has requested a certificate with one.
func (a *approver) renewed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.by, func(who string) bool { return who != "token" })
}

// TestBootstrapAndRenewal: the first certificate is requested with the token, further ones with the one before, and clients
// show the new one from then on.
func TestBootstrapAndRenewal(t *testing.T) {
	a := &approver{t: t, requests: map[string]certificatesv1.CertificateSigningRequest{}}
	s := httptest.NewUnstartedServer(a)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.EnableHTTP2 = false
	s.TLS = clientCertificates()
	s.StartTLS()
	defer s.Close()
	dir := filepath.Join(t.TempDir(), "pki")
	bootstrap := filepath.Join(t.TempDir(), "bootstrap")
	authority, err := json.Marshal(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	if err != nil {
		t.Fatal(err)
	}
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority-data":%s}}],`+
		`"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{"token":"bootstrap"}}],"current-context":"x"}`, s.URL, authority)
	if err := os.WriteFile(bootstrap, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	config, err := certs.Client(ctx, certs.ClientOptions{Node: "n1", Bootstrap: bootstrap, Dir: dir, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	private(t, dir)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	seen := map[string]bool{}
	for len(seen) < 2 || !a.renewed() {
		select {
		case <-tick.C:
			answer, err := client.Get(config.Host + "/whoami")
			if err != nil {
				continue
			}
			body, err := io.ReadAll(answer.Body)
			answer.Body.Close() //nolint:errcheck // All is read.
			if err == nil && answer.StatusCode == http.StatusOK {
				seen[string(body)] = true
			}
		case <-deadline:
			t.Fatalf("the certificates that were shown are %v, and they were requested with %v", seen, a.by)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by[0] != "token" || seen["token"] {
		t.Errorf("certificates were requested with %v", a.by)
	}
}

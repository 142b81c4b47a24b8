package subresources

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestIdentities leads the front proxy to the webhook, without a question to the API server, and nobody else. What it sends may be
// larger than the bodies of other requests.
func TestIdentities(t *testing.T) {
	webhook := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || len(body) != 2*bodyBytes {
			t.Errorf("the webhook gets %d bytes, %v", len(body), err)
		}
		_, _ = io.WriteString(w, "completed")
	})
	h := serve(t, Options{Identities: webhook}, interceptor.Funcs{})
	review := strings.Repeat("s", 2*bodyBytes)
	for _, c := range []struct {
		name, method string
		code         int
		authority    *authority
	}{
		{"a review", http.MethodPost, http.StatusOK, h.proxy},
		{"a question", http.MethodGet, http.StatusNotFound, h.proxy},
		{"a review of somebody else's", http.MethodPost, http.StatusUnauthorized, newAuthority(t, "front-proxy-ca")},
	} {
		if response, body := h.as(t, c.authority.client(t, "front-proxy"), "system:apiserver", c.method, IdentityPath, review); response.StatusCode != c.code || (body == "completed") != (c.code == http.StatusOK) {
			t.Errorf("%s: %d %s", c.name, response.StatusCode, body)
		}
	}
	if len(h.reviews) != 0 {
		t.Errorf("%d callers were asked about", len(h.reviews))
	}
	without := serve(t, Options{}, interceptor.Funcs{})
	if response, _ := without.do(t, "system:apiserver", http.MethodPost, IdentityPath, "{}"); response.StatusCode != http.StatusNotFound {
		t.Errorf("without a webhook: %d", response.StatusCode)
	}
}

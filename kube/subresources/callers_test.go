package subresources

import (
	"crypto/tls"
	"net/http"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestWhoMayCall holds that headers count from the front proxy alone, whose authority may change, and that the API server
// is asked about each caller.
func TestWhoMayCall(t *testing.T) {
	h := serve(t, Options{}, interceptor.Funcs{}, machineX(kubevirtv1.RunStrategyHalted))
	path := url(machines, "start") + "?token=hunter2"
	other := newAuthority(t, "front-proxy-ca")
	proxy := h.proxy.client(t, "front-proxy")
	for name, test := range map[string]struct {
		certificate *tls.Certificate
		user        string
		code        int
		says        string
	}{
		"no certificate":             {nil, "owner", http.StatusUnauthorized, "only the API server's front proxy may call"},
		"another authority":          {other.client(t, "front-proxy"), "owner", http.StatusUnauthorized, "only the API server's front proxy may call"},
		"a name that is not allowed": {h.proxy.client(t, "kubelet"), "owner", http.StatusUnauthorized, "only the API server's front proxy may call"},
		"no user":                    {proxy, "", http.StatusUnauthorized, "only the API server's front proxy may call"},
		"a user without rights":      {proxy, "stranger", http.StatusForbidden, `virtualmachines/start.subresources.kubevirt.io \"x\" is forbidden`},
		"a user with them":           {proxy, "owner", http.StatusAccepted, ""},
	} {
		response, body := h.as(t, test.certificate, test.user, http.MethodPut, path, "")
		if response.StatusCode != test.code || !strings.Contains(body, test.says) {
			t.Errorf("%s: %d %s, want %d and %q", name, response.StatusCode, body, test.code, test.says)
		}
	}

	h.mu.Lock()
	for _, review := range h.reviews {
		a := review.ResourceAttributes
		got := strings.Join([]string{a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Namespace, a.Name}, " ")
		if want := "update subresources.kubevirt.io v1 virtualmachines start ns x"; got != want {
			t.Errorf("asked about %q, want %q", got, want)
		}
		if len(review.Groups) != 1 || review.Groups[0] != "people" || review.Extra["scopes"][0] != "all" {
			t.Errorf("asked about groups %v and extra %v", review.Groups, review.Extra)
		}
	}
	if len(h.reviews) != 2 {
		t.Errorf("%d reviews, want one for each caller that the front proxy named", len(h.reviews))
	}
	h.mu.Unlock()
	if log := h.log.String(); strings.Contains(log, "hunter2") || strings.Contains(log, "scopes") || !strings.Contains(log, "user=owner") {
		t.Errorf("the log:\n%s", log)
	}

	_, err := h.kube.CoreV1().ConfigMaps(proxyNamespace).Update(t.Context(), proxyConfig(other.pem), metav1.UpdateOptions{})
	check(t, err)
	eventually(t, "the new authority of the front proxy counts", func() bool {
		response, _ := h.as(t, other.client(t, "front-proxy"), "owner", http.MethodPut, path, "")
		return response.StatusCode != http.StatusUnauthorized
	})
	if response, _ := h.as(t, proxy, "owner", http.MethodPut, path, ""); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("the old authority of the front proxy still counts: %d", response.StatusCode)
	}
}

// TestPortForwardRights asks about the subresource and not about the port.
func TestPortForwardRights(t *testing.T) {
	h := serve(t, Options{}, interceptor.Funcs{})
	h.do(t, "stranger", http.MethodGet, url(instances, "portforward/22/tcp"), "")
	h.mu.Lock()
	defer h.mu.Unlock()
	if a := h.reviews[0].ResourceAttributes; a.Verb != "get" || a.Resource != instances || a.Subresource != "portforward" || a.Name != "x" {
		t.Errorf("asked about %+v", a)
	}
}

// TestDocuments holds what anybody may read.
func TestDocuments(t *testing.T) {
	h := serve(t, Options{Version: "0.6 beta"}, interceptor.Funcs{})
	for path, want := range map[string]string{
		"/":                              `"/apis/subresources.kubevirt.io/v1alpha3"`,
		"/apis":                          `"preferredVersion":{"groupVersion":"subresources.kubevirt.io/v1","version":"v1"}`,
		"/apis/" + Group:                 `"kind":"APIGroup"`,
		"/apis/" + Group + "/v1":         `{"name":"virtualmachineinstances/console","singularName":"","namespaced":true,"group":"kubevirt.io","version":"v1","kind":"VirtualMachineInstance","verbs":["get"]}`,
		"/apis/" + Group + "/v1/":        `"kind":"APIResourceList"`,
		"/apis/" + Group + "/v1alpha3":   `"groupVersion":"subresources.kubevirt.io/v1alpha3"`,
		"/apis/" + Group + "/v1/version": `"gitVersion":"v1.8.0+vmseed.0.6-beta"`,
		"/apis/" + Group + "/v1/healthz": `"connectivity":"ok"`,
		"/healthz":                       `"connectivity":"ok"`,
		"/openapi/v2":                    `"swagger":"2.0"`,
		"/apis/" + Group + "/v1alpha3/":  `"virtualmachines/restart"`,
	} {
		response, body := h.as(t, nil, "", http.MethodGet, path, "")
		if response.StatusCode != http.StatusOK || !strings.Contains(body, want) || response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s, want %s", path, response.StatusCode, body, want)
		}
	}
	if _, body := h.as(t, nil, "", http.MethodGet, "/apis/"+Group+"/v1", ""); strings.Contains(body, "migrate") || strings.Contains(body, "freeze") || !strings.Contains(body, "virtualmachineinstances/unpause") {
		t.Errorf("what is refused is listed, or what is served is not: %s", body)
	}
	h.kube.ClearActions()
	if response, _ := h.as(t, nil, "", http.MethodGet, "/openapi/v3", ""); response.StatusCode != http.StatusNotFound {
		t.Errorf("/openapi/v3: %d, want 404, which has the API server convert version 2", response.StatusCode)
	}
}

// TestDocumented holds the compatibility page to the routes: a row for each that is served, and each that is refused in the
// row of its resource's refusals.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/compat/kubevirt.md")
	check(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Subresources\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[bool]string{}
	for _, line := range strings.Split(section, "\n") {
		if strings.HasPrefix(line, "| `virtual") {
			rows[strings.Contains(line, "| refused |")] += line + "\n"
		}
	}
	for _, r := range routes() {
		if r.serve != nil && !strings.Contains(rows[false], "`"+r.resource+"/"+r.attribute()) {
			t.Errorf("%s/%s is served and not in the page", r.resource, r.path)
		}
		if r.serve == nil {
			_, row, _ := strings.Cut(rows[true], "`"+r.resource+"/")
			row, _, _ = strings.Cut("`"+row, "\n")
			if !strings.Contains(row, "`"+r.attribute()+"`") {
				t.Errorf("%s/%s is refused and not in the page", r.resource, r.path)
			}
		}
	}
}

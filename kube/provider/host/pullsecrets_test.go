package host

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/image/imagetest"
)

// privateRegistry is a registry that only robot:sesame may use, with the container disk team/disk:1. It returns its host.
func privateRegistry(t *testing.T) string {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "robot" || password != "sesame" {
			w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	host := strings.TrimPrefix(s.URL, "http://")
	img := imagetest.Disk(t, runtime.GOARCH, "disk/disk.img", make([]byte, 4096))
	at, err := name.ParseReference(host + "/team/disk:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(at, img, remote.WithAuth(&authn.Basic{Username: "robot", Password: "sesame"})); err != nil {
		t.Fatal(err)
	}
	return host
}

// TestPullSecrets fetches an image of a private registry with the credentials that a pod names.
func TestPullSecrets(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // the credentials of who runs the test are no matter
	registry := privateRegistry(t)
	pull := func(name string, kind corev1.SecretType, key, text string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}, Type: kind, Data: map[string][]byte{key: []byte(text)}}
	}
	login := `{"` + registry + `": {"username": "robot", "password": "sesame"}}`
	client := fake.NewClientset(
		pull("good", corev1.SecretTypeDockerConfigJson, ".dockerconfigjson", `{"auths": `+login+`}`),
		pull("encoded", corev1.SecretTypeDockerConfigJson, ".dockerconfigjson", `{"auths": {"http://`+registry+`/v2/": {"auth": "cm9ib3Q6c2VzYW1l"}}}`),
		pull("older", corev1.SecretTypeDockercfg, ".dockercfg", login),
		pull("other", corev1.SecretTypeDockerConfigJson, ".dockerconfigjson", `{"auths": {"quay.io": {"username": "a", "password": "b"}}}`),
		pull("broken", corev1.SecretTypeDockerConfigJson, ".dockerconfigjson", `{"auths": "sesame`),
		pull("opaque", corev1.SecretTypeOpaque, ".dockerconfigjson", `{"auths": `+login+`}`))
	ref, err := image.Parse("docker://" + registry + "/team/disk:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names    string
		fetched  bool
		problems int
	}{
		{"good", true, 0}, {"encoded", true, 0}, {"older", true, 0}, {"other good", true, 0}, {"absent broken good", true, 2},
		{"", false, 0}, {"other", false, 0}, {"absent", false, 1}, {"broken", false, 1}, {"opaque", false, 1},
	} {
		t.Run(c.names, func(t *testing.T) {
			dir := t.TempDir()
			h, err := New(Options{Client: client, Root: filepath.Join(dir, "vms"), Images: &image.Store{Dir: filepath.Join(dir, "images")}})
			if err != nil {
				t.Fatal(err)
			}
			pod := testPod()
			for _, name := range strings.Fields(c.names) {
				pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
			}
			launcher, keys, err := h.launcherOf(t.Context(), pod)
			if err != nil {
				t.Fatal(err)
			}
			got, err := launcher.Images.Resolve(t.Context(), ref, image.Options{})
			if (err == nil) != c.fetched {
				t.Errorf("fetched: %v, want %v: %v", err == nil, c.fetched, err)
			}
			if err == nil {
				if _, err := os.Stat(got.Path); err != nil {
					t.Error(err)
				}
			}
			if len(keys.problems) != c.problems || slices.ContainsFunc(keys.problems, leaks) {
				t.Errorf("told: %v", keys.problems)
			}
		})
	}
}

// leaks reports whether a diagnostic quotes a Secret.
func leaks(d diag.Diagnostic) bool { return strings.Contains(d.Summary, "sesame") }

// TestMatchesRegistry holds which keys of a docker configuration are a repository's.
func TestMatchesRegistry(t *testing.T) {
	for _, c := range []struct {
		key, registry, repository string
		want                      bool
	}{
		{"quay.io", "quay.io", "quay.io/team/disk", true},
		{"https://quay.io/v2/", "quay.io", "quay.io/team/disk", true},
		{"quay.io/team", "quay.io", "quay.io/team/disk", true},
		{"quay.io/tea", "quay.io", "quay.io/team/disk", false},
		{"quay.io:5000", "quay.io", "quay.io/team/disk", false},
		{"quay.io:5000", "quay.io:5000", "quay.io:5000/team/disk", true},
		{"*.example.org", "eu.example.org", "eu.example.org/disk", true},
		{"*.example.org", "example.org", "example.org/disk", false},
		{"*.example.org", "a.eu.example.org", "a.eu.example.org/disk", false},
		{"https://index.docker.io/v1/", "index.docker.io", "index.docker.io/library/debian", true},
		{"docker.io", "index.docker.io", "index.docker.io/library/debian", true},
		{"[", "quay.io", "quay.io/team/disk", false},
	} {
		if got := matchesRegistry(registryPattern(c.key), c.registry, c.repository); got != c.want {
			t.Errorf("%s for %s: %v", c.key, c.repository, got)
		}
	}
}

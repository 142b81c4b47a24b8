package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/compression"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/vmseed/vmseed/image/imagetest"
)

func TestRegistryFaults(t *testing.T) {
	data := disk(1, 400_000)
	var h *hub
	isBlob := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/blobs/") }
	isManifest := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/manifests/") }
	status := func(match func(*http.Request) bool, status int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if match(r) {
				w.WriteHeader(status)
			}
			return match(r)
		}
	}
	tests := []struct {
		name  string
		spoil func(w http.ResponseWriter, r *http.Request) bool
		fault Fault
		say   string
	}{
		{"other bytes", func(w http.ResponseWriter, r *http.Request) bool {
			if isBlob(r) {
				_, _ = w.Write(zipped(t, archiveOf(t, file{name: "disk/d", data: disk(9, 400_000)})))
			}
			return isBlob(r)
		}, BadImage, "damaged"},
		{"cut short", func(w http.ResponseWriter, r *http.Request) bool {
			if isBlob(r) {
				whole := httptest.NewRecorder()
				h.inner.ServeHTTP(whole, r)
				w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
				_, _ = w.Write(whole.Body.Bytes()[:100_000])
			}
			return isBlob(r)
		}, Unavailable, "broke off"},
		{"cut short and complete", func(w http.ResponseWriter, r *http.Request) bool {
			if isBlob(r) {
				_, _ = w.Write(zipped(t, archiveOf(t, file{name: "disk/d", data: data}))[:100_000])
			}
			return isBlob(r)
		}, BadImage, "damaged"},
		{"layer is gone", status(isBlob, 404), BadImage, "404 Not Found"},
		{"no such image", status(isManifest, 404), BadImage, "check the name and the tag"},
		{"forbidden", status(isManifest, 403), Unavailable, "docker login 127.0.0.1"},
		{"refuses", status(isManifest, 418), Unavailable, "418"},
		{"silent", func(_ http.ResponseWriter, r *http.Request) bool {
			if isBlob(r) {
				<-r.Context().Done()
			}
			return isBlob(r)
		}, Unavailable, "sends nothing any more"},
		{"manifest of another digest", func(w http.ResponseWriter, r *http.Request) bool {
			if isManifest(r) {
				w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
				_, _ = io.WriteString(w, `{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","size":5,"digest":"sha256:`+strings.Repeat("0", 64)+`"}]}`)
			}
			return isManifest(r)
		}, BadImage, ""},
		{"something else", func(w http.ResponseWriter, r *http.Request) bool {
			if isManifest(r) {
				w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v1+json")
				_, _ = io.WriteString(w, `{"schemaVersion":1}`)
			}
			return isManifest(r)
		}, BadImage, "no container image"},
		{"layer elsewhere", func(w http.ResponseWriter, r *http.Request) bool {
			if isManifest(r) {
				w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
				_, _ = io.WriteString(w, `{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","size":5,"urls":["http://169.254.169.254/"],"digest":"sha256:`+
					strings.Repeat("0", 64)+`"}]}`)
			}
			return isManifest(r)
		}, BadImage, "outside its registry"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h = newHub(t)
			s := newStore(t)
			if tt.name == "silent" {
				s.Stall = 200 * time.Millisecond
			}
			ref := h.push(t, "team/web:1", containerDisk(t, data))
			h.spoils(tt.spoil)
			i, err := s.Resolve(context.Background(), ref, amd64)
			refused(t, i, err, tt.fault, tt.say, ref.String())
			assertClean(t, s, 0)
			// The control: without the fault the same store has the image.
			h.spoils(nil)
			s.Stall = 0
			holds(t, resolve(t, s, ref, amd64), data)
		})
	}
}

// TestRegistryCredentials has a registry that wants a password, which docker's file of credentials has.
func TestRegistryCredentials(t *testing.T) {
	h, s := newHub(t), newStore(t)
	data := disk(1, 5000)
	ref := h.push(t, "private/web:1", containerDisk(t, data))
	h.spoils(func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		if user == "me" && password == "canary-password" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="canary"`)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"canary-password"}]}`)
		return true
	})
	login := func(password string) {
		text := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, h.host, base64.StdEncoding.EncodeToString([]byte("me:"+password)))
		if err := os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	i, err := s.Resolve(context.Background(), ref, amd64)
	refused(t, i, err, Unavailable, "401 Unauthorized", "log in")
	said := err.Error()
	login("canary-wrong")
	i, err = s.Resolve(context.Background(), ref, amd64)
	refused(t, i, err, Unavailable, "401 Unauthorized", "log in")
	if said += err.Error(); strings.Contains(said, "canary") {
		t.Errorf("a secret is said: %s", said)
	}
	login("canary-password")
	holds(t, resolve(t, s, ref, amd64), data)
}

// TestPlainHTTP has a registry that does not speak https under names that are not this host's.
func TestPlainHTTP(t *testing.T) {
	h, s := newHub(t), newStore(t)
	h.push(t, "web:1", containerDisk(t, disk(1, 5000)))
	var plain atomic.Int32
	s.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Scheme == "http" {
			plain.Add(1)
		}
		r = r.Clone(r.Context())
		r.URL.Host = h.host
		return http.DefaultTransport.RoundTrip(r)
	})
	for _, host := range []string{"10.1.2.3:5000", "192.168.1.1", "registry.example.org", "registry.local"} {
		i, err := s.Resolve(context.Background(), parse(t, host+"/team/web:1"), amd64)
		refused(t, i, err, Unavailable, host)
	}
	if plain.Load() != 0 {
		t.Errorf("%d requests went by http", plain.Load())
	}
	// The control: this host may.
	_ = resolve(t, s, parse(t, "localhost:5000/web:1"), amd64)
	if plain.Load() == 0 {
		t.Error("the test sees no request by http")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCompressions(t *testing.T) {
	h, s := newHub(t), newStore(t)
	for n, how := range []compression.Compression{compression.GZip, compression.ZStd} {
		data := disk(uint64(n), 200_000)
		text := archiveOf(t, file{name: "disk/d", data: data})
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, tarball.WithCompression(how))
		if err != nil {
			t.Fatal(err)
		}
		holds(t, resolve(t, s, h.push(t, fmt.Sprintf("web:%d", n), imagetest.Container(t, "amd64", l)), amd64), data)
	}
	data := disk(7, 200_000)
	l := static.NewLayer(archiveOf(t, file{name: "disk/d", data: data}), types.OCIUncompressedLayer)
	holds(t, resolve(t, s, h.push(t, "web:plain", imagetest.Container(t, "amd64", l)), amd64), data)
}

// writeLayout writes images into a layout by their tags.
func writeLayout(t testing.TB, images map[string]mutate.Appendable) string {
	t.Helper()
	dir := t.TempDir()
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	for tag, what := range images {
		annotations := layout.WithAnnotations(map[string]string{refName: tag})
		switch x := what.(type) {
		case v1.Image:
			err = l.AppendImage(x, annotations)
		case v1.ImageIndex:
			err = l.AppendIndex(x, annotations)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pack makes a tar archive of a directory.
func pack(t testing.TB, dir string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLocalContainers(t *testing.T) {
	s := newStore(t)
	one, two, arm := disk(1, 90_000), disk(2, 90_000), disk(3, 90_000)
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: containerDisk(t, two), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}},
		mutate.IndexAddendum{Add: containerDisk(t, arm), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64"}}})
	single := writeLayout(t, map[string]mutate.Appendable{"": containerDisk(t, one)})
	several := writeLayout(t, map[string]mutate.Appendable{"one": containerDisk(t, one), "two": index})
	saved := filepath.Join(t.TempDir(), "saved.tar")
	if err := tarball.WriteToFile(saved, name.MustParseReference("team/web:1"), containerDisk(t, one)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		text, arch string
		want       []byte
	}{
		{"oci:" + single, "amd64", one}, {"oci:" + single, "arm64", one}, {"oci:" + several + ":one", "amd64", one},
		{"oci:" + several + ":two", "amd64", two}, {"oci:" + several + ":two", "arm64", arm}, {"oci-archive:" + pack(t, single), "amd64", one},
		{"oci-archive:" + pack(t, several) + ":two", "arm64", arm}, {"docker-archive:" + saved, "amd64", one},
		{"docker-archive:" + saved + "#path=/disk/web.qcow2", "amd64", one},
	} {
		holds(t, resolve(t, s, parse(t, tt.text), Options{Arch: tt.arch, Policy: Never}), tt.want)
	}
	assertClean(t, s, 3)
	for _, tt := range []struct {
		text  string
		fault Fault
		say   string
	}{
		{"oci:" + several, BadImage, "several images in it: "},
		{"oci:" + several + ":three", BadImage, `no image "three"`},
		{"oci:" + t.TempDir(), BadImage, "no index.json"},
		{"oci:" + filepath.Join(t.TempDir(), "gone"), BadReference, "no such file"},
		{"oci-archive:" + saved, BadImage, "no index.json"},
		{"docker-archive:" + pack(t, single), BadImage, "no manifest.json"},
		{"docker-archive:" + filepath.Join(single, "index.json"), BadImage, "no tar archive"},
		{"oci:" + several + ":two", BadImage, "not for linux/riscv64, but for linux/amd64, linux/arm64"},
	} {
		i, err := s.Resolve(context.Background(), parse(t, tt.text), Options{Arch: "riscv64"})
		refused(t, i, err, tt.fault, tt.say)
	}
}

// TestDamagedLocalContainers changes a byte of every blob of a layout in turn, and of the layer that docker save wrote.
func TestDamagedLocalContainers(t *testing.T) {
	data := disk(1, 90_000)
	dir := writeLayout(t, map[string]mutate.Appendable{"": containerDisk(t, data)})
	config, err := containerDisk(t, data).ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs/sha256/*"))
	if err != nil || len(blobs) != 3 {
		t.Fatal(blobs, err)
	}
	for _, blob := range blobs {
		if filepath.Base(blob) == config.Hex {
			continue // nothing of the configuration is used
		}
		good, err := os.ReadFile(blob)
		if err != nil {
			t.Fatal(err)
		}
		for what, bad := range map[string][]byte{"changed": append(append([]byte{}, good[:len(good)-2]...), good[len(good)-2]^1, good[len(good)-1]), "cut": good[:len(good)/2],
			"longer": append(append([]byte{}, good...), "more"...), "empty": {}} {
			if err := os.WriteFile(blob, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			s := newStore(t)
			i, err := s.Resolve(context.Background(), parse(t, "oci:"+dir), amd64)
			refused(t, i, err, BadImage)
			if text := err.Error(); !strings.Contains(text, "is not what it should be") && !strings.Contains(text, "damaged") {
				t.Errorf("%s: %v", what, err)
			}
			assertClean(t, s, 0)
		}
		if err := os.WriteFile(blob, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newStore(t)
	holds(t, resolve(t, s, parse(t, "oci:"+dir), amd64), data)

	saved := filepath.Join(t.TempDir(), "saved.tar")
	if err := tarball.WriteToFile(saved, name.MustParseReference("team/web:1"), imagetest.Container(t, "amd64", static.NewLayer(archiveOf(t, file{name: "disk/d", data: data}), types.DockerUncompressedLayer))); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, data[1000:1100])
	if at < 0 {
		t.Fatal("the archive does not have the disk")
	}
	text[at] ^= 1
	if err := os.WriteFile(saved, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s = newStore(t)
	i, err := s.Resolve(context.Background(), parse(t, "docker-archive:"+saved), amd64)
	refused(t, i, err, BadImage, "is not what it should be")
	assertClean(t, s, 0)
}

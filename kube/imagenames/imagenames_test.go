package imagenames

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/machine"
)

// content is a raw image: a boot sector and nothing else.
var content = append(make([]byte, 510), 0x55, 0xaa)

func sum() string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

// write makes files below a directory and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func resolver(t *testing.T, o Options) *Resolver {
	t.Helper()
	o.Images = &image.Store{Dir: t.TempDir(), Stall: 30 * time.Second}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func of(form string) machine.Machine {
	return machine.Machine{Document: machine.Document{Form: form}}
}

const rules = `
translations:
- name: cirros
  url: https://example.org/cirros.img
- regexp: 'centos/(\d+)-(\d+)'
  url: https://example.org/centos/$1/CentOS-${1}-$2.qcow2
- name: exact/7
  url: https://example.org/exact.img
- regexp: exact/.*
  url: https://example.org/pattern.img
- name: summed
  url: https://example.org/summed.img#sha256=` + "0000000000000000000000000000000000000000000000000000000000000000" + `
- name: example.net/where/it/was.qcow2
  url: https://example.org/moved.qcow2
`

const objects = `
apiVersion: virtlet.k8s/v1
kind: VirtletImageMapping
metadata: {name: z-later, namespace: kube-system, labels: {a: b}}
spec:
  prefix: prod
  translations: [{name: cirros, url: "https://example.org/z.img"}]
---
apiVersion: virtlet.k8s/v1
kind: VirtletImageMapping
metadata: {name: a-first}
spec:
  prefix: prod/
  translations: [{name: cirros, url: "https://example.org/a.img"}]
`

func TestNames(t *testing.T) {
	dir := write(t, map[string]string{"plain": "x", "web.qcow2": "x", "ubuntu/16.04.img": "x", "docker.io/library/fedora:39": "x", "quay.io/disks/d:1.qcow2": "x", "folder/f": "x"})
	mappings := write(t, map[string]string{"10.yaml": rules, "20.yaml": objects, ".hidden": "no rules"})
	r := resolver(t, Options{Dir: dir, Mappings: []string{mappings}})
	digest := strings.Repeat("ab", 32)
	for _, tt := range []struct{ form, name, want string }{
		{"virtlet", "plain", filepath.Join(dir, "plain")},
		{"virtlet", "web", filepath.Join(dir, "web.qcow2")},
		{"virtlet", "ubuntu/16.04", filepath.Join(dir, "ubuntu/16.04.img")},
		{"virtlet", "https://quay.io/disks/d:1", filepath.Join(dir, "quay.io/disks/d:1.qcow2")},
		{"virtlet", "cirros", "https://example.org/cirros.img"},
		{"virtlet", "centos/7-01", "https://example.org/centos/7/CentOS-7-01.qcow2"},
		{"virtlet", "exact/7", "https://example.org/exact.img"},
		{"virtlet", "exact/8", "https://example.org/pattern.img"},
		{"virtlet", "prod/cirros", "https://example.org/a.img"},
		{"virtlet", "https://example.net/where/it/was.qcow2", "https://example.org/moved.qcow2"},
		{"virtlet", "https://example.net/another.qcow2", "https://example.net/another.qcow2"},
		{"virtlet", "https://example.net/another.qcow2@sha256:" + digest, "https://example.net/another.qcow2#sha256=" + digest},
		{"virtlet", "cirros@sha256:" + digest, "https://example.org/cirros.img#sha256=" + digest},
		{"kubevirt", "fedora:39", filepath.Join(dir, "docker.io/library/fedora:39")},
		{"kubevirt", "docker://quay.io/disks/d:1", filepath.Join(dir, "quay.io/disks/d:1.qcow2")},
	} {
		named, ok, err := r.Resolve(of(tt.form), tt.name)
		if err != nil || !ok || named.Reference.String() != tt.want {
			t.Errorf("%s: %s, %t, %v", tt.name, named.Reference, ok, err)
		}
	}
	for _, name := range []string{"nowhere", "prod/other", "folder", "../" + filepath.Base(dir) + "/plain", "exact/../../x"} {
		_, _, err := r.Resolve(of("virtlet"), name)
		if image.FaultOf(err) != image.Unavailable || err == nil || !strings.Contains(err.Error(), "--image-mapping") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, tt := range [][2]string{{"kubevirt", "quay.io/other:1"}, {"native", "plain"}} {
		if _, ok, err := r.Resolve(of(tt[0]), tt[1]); ok || err != nil {
			t.Errorf("%v: %t, %v", tt, ok, err)
		}
	}
	if _, _, err := r.Resolve(of("virtlet"), "summed@sha256:"+digest); err == nil {
		t.Error("two checksums that differ are taken")
	}
}

func TestBadRules(t *testing.T) {
	for text, want := range map[string]string{
		"translations: [{name: a, url: 'https://h/x', sha: 1}]":                                      "sha",
		"translations: [{url: 'https://h/x'}]":                                                       "either a name or a regexp",
		"translations: [{name: a, regexp: b, url: 'https://h/x'}]":                                   "either a name or a regexp",
		"translations: [{name: a}]":                                                                  "no url",
		"translations: [{regexp: '(', url: 'https://h/x'}]":                                          "translations[0]: regexp",
		"translations: [{name: a, url: 'http://h/x'}]":                                               "nobody vouches",
		"translations: [{name: a, url: 'https://h/x', transport: t}]":                                `no transport "t"`,
		"{translations: [{name: a, url: 'https://h/x'}], transports: {'': {tls: {insecure: true}}}}": "no checksum",
		"transports: {t: {proxy: 'canary@'}}":                                                        "no URL of a proxy",
		"transports: {t: {tls: {certificates: [{cert: canary}]}}}":                                   "no certificate in PEM form",
		"kind: ConfigMap": `the kind "ConfigMap"`,
	} {
		_, err := New(Options{Mappings: []string{write(t, map[string]string{"x.yaml": text})}, Images: &image.Store{Dir: t.TempDir()}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "x.yaml") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := New(Options{Dir: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a directory that is not there is taken")
	}
}

// TestTransports fetches from a server that only one of the profiles trusts.
func TestTransports(t *testing.T) {
	stuck := make(chan struct{})
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved.img":
			http.Redirect(w, r, "/disk.img", http.StatusFound)
		case "/disk.img":
			_, _ = w.Write(content)
		case "/late.img":
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-stuck
		}
	}))
	defer srv.Close()
	defer close(stuck)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	trusted := "tls: {certificates: [{cert: " + quote(authority) + "}]}"
	text := "translations:\n"
	for name, where := range map[string][2]string{
		"good": {"/disk.img", "good"}, "unknown": {"/disk.img", "plain"}, "moved": {"/moved.img", "good"}, "unmoved": {"/moved.img", "still"},
		"late": {"/late.img", "hasty"}, "other": {"/disk.img", "name"}, "blind": {"/disk.img#sha256=" + sum(), "blind"},
		"wrong": {"/disk.img#sha256=" + strings.Repeat("0", 64), "blind"},
	} {
		text += "- {name: " + name + ", url: '" + srv.URL + where[0] + "', transport: " + where[1] + "}\n"
	}
	text += "transports:\n  good: {" + trusted + "}\n  plain: {}\n  still: {maxRedirects: 0, " + trusted + "}\n  hasty: {timeout: 50, " + trusted + "}\n" +
		"  name: {" + strings.Replace(trusted, "tls: {", "tls: {serverName: other.example, ", 1) + "}\n  blind: {tls: {insecure: true}}\n"
	r := resolver(t, Options{Mappings: []string{write(t, map[string]string{"x.yaml": text})}})
	for _, tt := range []struct{ name, want string }{
		{"unknown", "certificate"}, {"good", ""}, {"moved", ""}, {"unmoved", "too many redirections"}, {"late", "timeout of the transport"},
		{"other", "other.example"}, {"wrong", "another sha256"}, {"blind", ""},
	} {
		named, ok, err := r.Resolve(of("virtlet"), tt.name)
		if err != nil || !ok {
			t.Fatal(tt.name, err)
		}
		// Each has a store of its own, so that what one has fetched helps no other.
		named.Store.Dir = t.TempDir()
		i, err := named.Store.Resolve(t.Context(), named.Reference, image.Options{})
		switch {
		case tt.want != "":
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", tt.name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		default:
			if got, err := os.ReadFile(i.Path); err != nil || string(got) != string(content) {
				t.Errorf("%s: %d bytes, %v", tt.name, len(got), err)
			}
			if err := i.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// quote writes a text of several lines on one line of YAML.
func quote(text string) string { return `"` + strings.ReplaceAll(text, "\n", `\n`) + `"` }

package image

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

var (
	hex256 = strings.Repeat("ab", 32)
	hex512 = strings.Repeat("cd", 64)
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text string
		kind Kind
		want string
	}{
		{"/images/web.qcow2", File, "/images/web.qcow2"},
		{"./web", File, "./web"},
		{"../web", File, "../web"},
		{"web.raw", File, "web.raw"},
		{"dir/web.IMG", File, "dir/web.IMG"},
		{"file:///images/a%20b.qcow2", File, "/images/a b.qcow2"},
		{"file://localhost/images/web", File, "/images/web"},
		{"debian:13", Named, "debian:13"},
		{"ubuntu:24.04", Named, "ubuntu:24.04"},
		{"https://example.org/i/web.qcow2#sha256=" + hex256, Web, "https://example.org/i/web.qcow2#sha256=" + hex256},
		{"https://example.org/i/web.qcow2#sha512=" + strings.ToUpper(hex512), Web, "https://example.org/i/web.qcow2#sha512=" + hex512},
		{"https://example.org/i/web.qcow2@sha256:" + hex256, Web, "https://example.org/i/web.qcow2#sha256=" + hex256},
		{"https://example.org/i/web.qcow2#checksum=SUMS", Web, "https://example.org/i/web.qcow2#checksum=https://example.org/i/SUMS"},
		{"https://example.org/i/web.qcow2#checksum=sha256:" + hex256, Web, "https://example.org/i/web.qcow2#sha256=" + hex256},
		{"https://me:pw@example.org/w?q=1#sha256=" + hex256, Web, "https://example.org/w#sha256=" + hex256},
		{"http://example.org/w#sha256=" + hex256, Web, "http://example.org/w#sha256=" + hex256},
		{"https://example.org/w", Web, "https://example.org/w"},
		{"kubevirt/fedora-cloud-container-disk-demo", Registry, "docker.io/kubevirt/fedora-cloud-container-disk-demo:latest"},
		{"kubevirt/fedora-cloud-container-disk-demo:devel", Registry, "docker.io/kubevirt/fedora-cloud-container-disk-demo:devel"},
		{"quay.io/containerdisks/debian:13", Registry, "quay.io/containerdisks/debian:13"},
		{"localhost:5000/web", Registry, "localhost:5000/web:latest"},
		{"registry:5000/web@sha256:" + hex256, Registry, "registry:5000/web@sha256:" + hex256},
		{"docker://debian:13", Registry, "docker.io/library/debian:13"},
		{"docker://cirros", Registry, "docker.io/library/cirros:latest"},
		{"docker.io/library/debian:13", Registry, "docker.io/library/debian:13"},
		{"team/web:1#path=/images/./d.img", Registry, "docker.io/team/web:1#path=/images/d.img"},
		{"oci:dir", Layout, "oci:dir"},
		{"oci:/a/b/:tag", Layout, "oci:/a/b:tag"},
		{"oci-archive:a.tar:1.2#path=/d", LayoutArchive, "oci-archive:a.tar:1.2#path=/d"},
		{"docker-archive:a.tar", DockerArchive, "docker-archive:a.tar"},
	} {
		got, err := Parse(tt.text)
		if err != nil || got.Kind != tt.kind || filepath.ToSlash(got.String()) != tt.want {
			t.Errorf("%s: %s %s, %v; want %s %s", tt.text, got.Kind, got, err, tt.kind, tt.want)
		}
	}
	for text, say := range map[string]string{
		"": "is empty", " ": "is empty", "a\nb": "cannot be printed", "a\x00": "cannot be printed", strings.Repeat("a/", 3000): "too long",
		"web":               "\"docker://web\"",
		"debian:99":         "it knows debian:12, debian:13, ubuntu",
		"debian":            "it knows debian:12",
		"ftp://host/x":      `fetches no images by "ftp"`,
		"s3://bucket/x.img": `fetches no images by "s3"`,
		"https://":          "no URL", "https:///x#sha256=" + hex256: "no URL", "https:web": "no URL", "https://host/%zz": "no URL",
		"https://host/#sha256=" + hex256:                     "names no file",
		"https://host/dir/#sha256=" + hex256:                 "names no file",
		"https://host/x#sha256=abc":                          "64 hexadecimal digits",
		"https://host/x#md5=abc":                             "behind the # stands a checksum",
		"https://host/x#sha256=":                             "behind the # stands a checksum",
		"https://host/x#checksum=md5:abc":                    "sha256:HEX or sha512:HEX",
		"https://host/x#checksum=http://host/SUMS":           "must come by https",
		"https://host/x#checksum=x":                          "sha256:HEX",
		"https://host/x@sha256:" + hex256 + "#sha512=" + "x": "has a checksum already",
		"file://host/x":                                      "file:///PATH", "file:x": "file:///PATH", "file:///x?y": "file:///PATH",
		"Team/Web:1": "no name of a container image", "team/web:1:2": "no name of a container image", "docker://": "is empty",
		"team/web#disk": "#path=/disk/NAME", "team/web#path=d": "#path=/disk/NAME", "team/web#path=/": "#path=/disk/NAME",
		"oci:": "needs a path", "oci::x": "needs a path",
	} {
		if r, err := Parse(text); err == nil || FaultOf(err) != BadReference || !strings.Contains(err.Error(), say) {
			t.Errorf("%.40q: %v, %v; want %q", text, r, err, say)
		}
	}
	for text, want := range map[string]string{"debian:12": "docker.io/library/debian:12", "web": "docker.io/library/web:latest", "x.img": "docker.io/library/x.img:latest"} {
		if got, err := ParseContainer(text); err != nil || got.String() != want {
			t.Errorf("container %s: %s, %v", text, got, err)
		}
	}
}

// TestSetChecksum reads what users give beside a URL.
func TestSetChecksum(t *testing.T) {
	for text, want := range map[string]string{
		"sha256:" + hex256: "sha256:" + hex256, hex256: "sha256:" + hex256, strings.ToUpper(hex512): "sha512:" + hex512,
		hex256[1:]: "", "x" + hex256[1:]: "", "md5:abc": "",
	} {
		ref, err := Parse("http://host/x.img")
		if err != nil {
			t.Fatal(err)
		}
		if ref, err = ref.SetChecksum(text); ref.Checksum.String() != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", text, ref.Checksum, err)
		}
	}
}

func TestNamesAreWhole(t *testing.T) {
	for _, name := range Names() {
		d, _ := named(name)
		for _, arch := range []string{"amd64", "arm64"} {
			ref, err := d.web(arch)
			if err != nil || ref.Check() != nil || !strings.Contains(ref.Name, arch) || !strings.HasPrefix(ref.Name, "https://") {
				t.Errorf("%s: %s, %v", name, ref, err)
			}
		}
	}
}

func TestFindSum(t *testing.T) {
	other := strings.Repeat("0", 64)
	for _, tt := range []struct{ name, list, want string }{
		{"text", hex256 + "  a.img\n", "sha256:" + hex256},
		{"binary", hex256 + " *a.img\n", "sha256:" + hex256},
		{"path", hex256 + "  ./images/a.img\r\n", "sha256:" + hex256},
		{"one space", hex256 + " a.img", "sha256:" + hex256},
		{"BSD", "SHA512 (a.img) = " + strings.ToUpper(hex512), "sha512:" + hex512},
		{"stronger", hex256 + "  a.img\n" + hex512 + "  a.img\nSHA256 (a.img) = " + hex256, "sha512:" + hex512},
		{"same twice", hex256 + "  a.img\n" + hex256 + "  a.img\n", "sha256:" + hex256},
		{"signed", "-----BEGIN PGP SIGNED MESSAGE-----\n\n" + hex256 + "  a.img\n-----BEGIN PGP SIGNATURE-----\n", "sha256:" + hex256},
		{"others", other + "  b.img\n" + other + "  xa.img\n" + other + "  a.img.sig\n", ""},
		{"sha1", strings.Repeat("0", 40) + "  a.img\n", ""},
		{"two", hex256 + "  a.img\n" + other + "  a.img\n", ""},
		{"empty", "", ""},
		{"long line", strings.Repeat("x", 1<<17), ""},
	} {
		got, err := findSum([]byte(tt.list), "a.img")
		if got.String() != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %s, %v", tt.name, got, err)
		}
	}
}

// FuzzParseReference wants of every reference that can be read: it reads back from its text as what it is, and the text
// has nothing of a URL's credentials and query.
func FuzzParseReference(f *testing.F) {
	for _, seed := range []string{"debian:13", "/a/b.qcow2", "./a:b", "a/b.img", "kubevirt/web:devel", "localhost:5000/a@sha256:" + hex256, "oci:a:b:c", "oci:a/:", "oci-archive:../x",
		"docker-archive:x:y", "https://u:p@h/a?b#sha256=" + hex256, "https://h/a%2fb#checksum=S", "https://h/a@sha256:" + hex256, "file:///a/../b", "docker://x/y#path=/z", "C:\\a.img", "a.img:1", "https.img"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			if FaultOf(err) != BadReference {
				t.Fatalf("%q: %v is no bad reference", text, err)
			}
			return
		}
		said := r.String()
		again, err := Parse(said)
		if err != nil {
			t.Fatalf("%q is written as %q, which is no reference: %v", text, said, err)
		}
		if again.Kind != r.Kind || again.String() != said || again.Path != r.Path || again.Name != r.Name || again.Inside != r.Inside || again.Checksum != r.Checksum {
			t.Fatalf("%q is written as %q, which is another: %+v, not %+v", text, said, again, r)
		}
		if again.key("x") == "" || r.Kind != Web && again.key("x") != r.key("x") {
			t.Fatalf("%q and %q have other keys", text, said)
		}
		if u, err := url.Parse(r.Name); r.Kind == Web && (err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
			t.Fatalf("%q says too much: %v", said, err)
		}
	})
}

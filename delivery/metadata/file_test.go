package metadata

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// TestReceipt: whoever starts the guest learns file and URL, and the guest learns the URL.
func TestReceipt(t *testing.T) {
	s := allSeed("vm", seed.TokensRequired)
	s.Firmware.SMBIOS = []seed.SMBIOS{{Type: 1, Field: "serial", Value: "ds=nocloud;dsmode=net;s={{base}}nocloud/"}}
	s.KernelArgs = []string{"ignition.config.url={{base}}ignition/config.ign", "quiet"}
	for base, want := range map[string]string{"": DefaultBase, "http://[fd00::1]:8080/x/": "http://[fd00::1]:8080/x/", "https://meta.example/": "https://meta.example/"} {
		path := filepath.Join(t.TempDir(), "seed.metadata")
		r, err := New().Deliver(t.Context(), s, delivery.Target{Path: path, Base: base})
		if err != nil {
			t.Fatal(err)
		}
		if got := []seed.Attachment{{Kind: seed.Endpoint, Path: path, Value: want},
			{Kind: seed.SMBIOSRow, Type: 1, Field: "serial", Value: "ds=nocloud;dsmode=net;s=" + want + "nocloud/"},
			{Kind: seed.KernelArg, Value: "ignition.config.url=" + want + "ignition/config.ign"}, {Kind: seed.KernelArg, Value: "quiet"}}; !reflect.DeepEqual(r.Attachments, got) {
			t.Errorf("%q: %+v", base, r.Attachments)
		}
	}
	if s.KernelArgs[1] != "quiet" || !strings.Contains(s.KernelArgs[0], seed.Base) {
		t.Error("the caller's seed has changed")
	}
	for _, base := range []string{"169.254.169.254", "http://x", "http:///", "http://x/y", "ftp://x/", "http://u:p@x/", "http://x/?q/", "http://x/#f/", "http://x /", "http://x/;y/", "http://x/,/",
		"http://x/\n/", "http://ü/", "//x/", "http:/x/", "http://x:y/"} {
		if _, err := New().Deliver(t.Context(), s, delivery.Target{Path: filepath.Join(t.TempDir(), "x"), Base: base}); !errors.Is(err, ErrBase) || !errors.Is(CheckBase(base), ErrBase) {
			t.Errorf("%q: %v", base, err)
		}
	}
}

// TestBadTrees are refused when they are delivered, when they are loaded and when they are served.
func TestBadTrees(t *testing.T) {
	tree := func(change func(*seed.Tree)) []seed.Tree {
		tree := ec2Tree("canary", seed.TokensRequired)
		change(&tree)
		return []seed.Tree{tree}
	}
	blob := func(path string) func(*seed.Tree) {
		return func(t *seed.Tree) {
			t.Blobs = append(t.Blobs, seed.Blob{Path: path, Content: secret.New("canary-content")})
		}
	}
	for name, trees := range map[string][]seed.Tree{
		"no root":       tree(func(t *seed.Tree) { t.Roots = nil }),
		"root up":       tree(func(t *seed.Tree) { t.Roots[0] = "../x" }),
		"root slash":    tree(func(t *seed.Tree) { t.Roots[0] = "/latest" }),
		"root dot":      tree(func(t *seed.Tree) { t.Roots[0] = "." }),
		"root twice":    tree(func(t *seed.Tree) { t.Roots[0] = "1.0" }),
		"reports' root": tree(func(t *seed.Tree) { t.Roots[0] = "vmseed" }),
		"below it":      tree(func(t *seed.Tree) { t.Roots[0] = "vmseed/x" }),
		"two trees":     {noCloudTree("a"), noCloudTree("b")},
		"tokens":        tree(func(t *seed.Tree) { t.Tokens = "maybe" }),
		"hops":          tree(func(t *seed.Tree) { t.HopLimit = 65 }),
		"less hops":     tree(func(t *seed.Tree) { t.HopLimit = -1 }),
		"token path":    tree(blob("api/token")),
		"below token":   tree(blob("api/token/x")),
		"content type":  tree(func(t *seed.Tree) { t.Blobs[0].ContentType = "text/plain\r\nX: y" }),
		"twice":         tree(blob("user-data")),
		"file and dir":  tree(blob("user-data/x")),
		"dir and file":  tree(blob("meta-data")),
		"listing, file": tree(blob("user-data/")),
		"double slash":  tree(blob("x//")),
	} {
		if _, err := NewSite(seed.Seed{Trees: trees}); !errors.Is(err, ErrTree) || strings.Contains(err.Error(), "canary-content") {
			t.Errorf("%s is served: %v", name, err)
		}
		path := filepath.Join(t.TempDir(), "x")
		if _, err := New().Deliver(t.Context(), seed.Seed{Trees: trees}, delivery.Target{Path: path}); !errors.Is(err, ErrTree) {
			t.Errorf("%s is delivered: %v", name, err)
		}
		content, err := encode(seed.Seed{Trees: trees}, DefaultBase)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); !errors.Is(err, delivery.ErrNotSeed) || strings.Contains(err.Error(), "canary-content") {
			t.Errorf("%s is loaded: %v", name, err)
		}
	}
	for name, s := range map[string]seed.Seed{"nothing": {}, "volume": {Volumes: []seed.Volume{{}}}} {
		if _, err := New().Deliver(t.Context(), s, delivery.Target{Path: filepath.Join(t.TempDir(), "x")}); !errors.Is(err, ErrNoTree) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := allSeed("vm", "")
	s.Firmware.Credentials = []seed.Credential{{Name: "x"}}
	if _, err := New().Deliver(t.Context(), s, delivery.Target{Path: filepath.Join(t.TempDir(), "x")}); !errors.Is(err, delivery.ErrPart) {
		t.Errorf("credentials: %v", err)
	}
	// A tree without tokens may have what looks like the path of tokens.
	if _, err := NewSite(seed.Seed{Trees: []seed.Tree{{Name: "x", Roots: []string{""}, Blobs: []seed.Blob{{Path: "api/token"}, {Path: "/"}}}}}); err != nil {
		t.Error(err)
	}
}

// TestDamagedFiles are no seeds, of later versions they say so, and no error shows what is in them.
func TestDamagedFiles(t *testing.T) {
	good, err := encode(allSeed("canary", seed.TokensRequired), DefaultBase)
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) []byte {
		out := bytes.Replace(good, []byte(old), []byte(new), 1)
		if bytes.Equal(out, good) {
			t.Fatalf("%q is not in the file", old)
		}
		return out
	}
	for name, data := range map[string][]byte{
		"cut": good[:len(good)/2], "more behind": append(slices.Clone(good), "{}"...), "unknown field": change(`"base"`, `"bass"`),
		"another form": change(form, "vmseed-medadata"), "no base64": change(`"content":"`, `"content":"*`), "a number": change(`"roots":[`, `"roots":[1,`),
		"version 0": change(`"version":1`, `"version":0`),
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); !errors.Is(err, delivery.ErrNotSeed) || errors.Is(err, ErrNewer) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
		if err := SealFile(path); !errors.Is(err, delivery.ErrNotSeed) {
			t.Errorf("%s is sealed: %v", name, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
			t.Errorf("%s has been changed", name)
		}
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, change(`"version":1`, `"version":2,"future":true`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, ErrNewer) {
		t.Errorf("a later version: %v", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"form":"` + form); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(maxFile + 1); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, bounded.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

// TestSealOverwrites: the bytes of a file that is sealed are gone, also for whoever still has the old one open.
func TestSealOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seed.metadata")
	if _, err := New().Deliver(t.Context(), allSeed("vm", ""), delivery.Target{Path: path}); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	info, err := old.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := SealFile(path); err != nil {
		t.Fatal(err)
	}
	left := make([]byte, info.Size())
	if n, err := old.ReadAt(left, 0); err != nil || n != len(left) || len(bytes.Trim(left, "\x00")) > 0 {
		t.Errorf("%d bytes are left, %v", len(bytes.Trim(left, "\x00")), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestSealBesidePassword: a guest that posts its password while its first boot ends has both kept.
func TestSealBesidePassword(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("other systems do not lock files")
	}
	for range 20 {
		path := filepath.Join(t.TempDir(), "seed.metadata")
		if _, err := New().Deliver(t.Context(), allSeed("vm", ""), delivery.Target{Path: path}); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		errs := make([]error, 2)
		group.Go(func() { errs[0] = SealFile(path) })
		group.Go(func() { errs[1] = SavePassword(path, []byte("posted")) })
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if site, err := Load(path); err != nil || !site.Sealed() || site.Password().Reveal() != "posted" {
			t.Fatalf("sealed: %v, with the password: %v, %v", site.Sealed(), !site.Password().IsZero(), err)
		}
	}
}

// FuzzFile reads any bytes as a file. What is read can be written, reads back the same and can be served, and no error
// shows a value.
func FuzzFile(f *testing.F) {
	for _, s := range []seed.Seed{allSeed("vm", seed.TokensRequired), ec2Seed("vm", ""), {Trees: []seed.Tree{{Name: "x", Roots: []string{""}}}}} {
		data, err := encode(s, DefaultBase)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"form":"vmseed-metadata","version":1,"base":"canary-7f3a","trees":[{"name":"canary-7f3a","roots":["..."],"blobs":[{"path":"a/","content":"Y2FuYXJ5"}]}]}`))
	f.Add([]byte(`{"form":"vmseed-metadata","version":1,"form":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := parse(data)
		if err != nil {
			if strings.Contains(err.Error(), "canary-content") {
				t.Errorf("the error shows a value: %v", err)
			}
			return
		}
		again, err := first.bytes()
		if err != nil {
			t.Fatal(err)
		}
		second, err := parse(again)
		if err != nil {
			t.Fatalf("does not read back: %v", err)
		}
		a, errA := json.Marshal(first)
		b, errB := json.Marshal(second)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Fatalf("reads back as another")
		}
		if _, err := NewSite(first.seed()); err != nil {
			t.Errorf("is not served: %v", err)
		}
	})
}

// FuzzPath asks a known machine's server for any path. The oracle is the set of the trees' own paths: an answer with a
// blob's content is given to a path that means this blob and no other, and nothing is answered by sending on.
func FuzzPath(f *testing.F) {
	site := mustSite(f, allSeed("vm", seed.TokensOptional))
	d := NewDirectories(secret.New("key"))
	d.Set(site)
	h := NewHandler(Config{Identify: Only(site), Directories: d, Limits: Limits{Rate: -1}})
	for _, p := range []string{"/", "/latest/meta-data/", "/latest/user-data", "/openstack/latest/user_data/", "/nocloud/%2e%2e/latest/user-data", "/latest%2fuser-data", "//latest/user-data",
		"/latest/../nocloud/user-data", "http://x/latest/user-data?x#y", "*", "/%00", "/" + d.Path("nocloud", site.Machine()) + "user-data", "/nocloud/a.b/c", "/1.0", "/openstack", "/latest/api/token"} {
		f.Add(p)
	}
	own := map[string]string{}
	for _, tree := range allSeed("vm", "").Trees {
		for _, root := range tree.Roots {
			for _, b := range tree.Blobs {
				own["/"+root+"/"+strings.TrimSuffix(b.Path, "/")] = b.Content.Reveal()
			}
		}
	}
	f.Fuzz(func(t *testing.T, target string) {
		code, header, path, body, ok := get(h, target)
		if !ok {
			return
		}
		if code >= 300 && code < 400 || header.Get("Location") != "" || code >= 500 {
			t.Fatalf("%q: %d %v", target, code, header)
		}
		meant := strings.TrimSuffix(path, "/")
		if rest, signed := strings.CutPrefix(meant, "/"+strings.TrimSuffix(d.Path("nocloud", site.Machine()), "/")); signed {
			meant = "/nocloud" + rest
		}
		want, is := own[meant]
		switch {
		case is && code == 200 && body != want:
			t.Errorf("%q: got %q, want %q", target, body, want)
		case !is && code == 200 && strings.Contains(body, " of vm"):
			t.Errorf("%q, which is %q, gives %q", target, path, body)
		case is && code == 404 && !strings.Contains(target, "%"):
			t.Errorf("%q is not found", target)
		}
	})
}

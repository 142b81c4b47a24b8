//go:build linux

package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/secret"
)

// packed is what may be a text in base64.
var packed = regexp.MustCompile(`[A-Za-z0-9+/_-]{12,}(?:\r?\n[ \t]*[A-Za-z0-9+/_-]+)*`)

// unpacked are a text and all that is packed in it, whatever says that it is.
func unpacked(text string, depth int) []string {
	out := []string{text, strings.ReplaceAll(text, "\x00", "")}
	if depth == 0 {
		return out
	}
	more := []string{}
	if plain, err := url.PathUnescape(text); err == nil && plain != text {
		more = append(more, plain)
	}
	for _, p := range packed.FindAllString(text, -1) {
		p = strings.Join(strings.Fields(p), "")
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if raw, err := e.DecodeString(p); err == nil {
				more = append(more, string(raw))
			}
		}
	}
	if r, err := gzip.NewReader(strings.NewReader(text)); err == nil {
		if raw, err := io.ReadAll(r); err == nil {
			more = append(more, string(raw))
		}
	}
	for _, m := range more {
		out = append(out, unpacked(m, depth-1)...)
	}
	return out
}

// canaries are those that stand in a seed, in whatever form.
func canaries(s client.Seed) []string {
	found := map[string]bool{}
	for _, text := range contents(s) {
		for _, plain := range unpacked(text, 4) {
			for _, c := range canary.FindAllString(plain, -1) {
				found[c] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

var canary = regexp.MustCompile(`canary[a-z-]+`)

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a bytes.Buffer takes everything
	_ = w.Close()
	return b.String()
}

func wide(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.Write([]byte{c, 0})
	}
	return b.String()
}

// TestCopyHasNoSecrets looks into what is kept of what a guest was given for secrets in every form, and makes sure that it would
// find them in what the guest was given.
func TestCopyHasNoSecrets(t *testing.T) {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	text := strings.Replace(secretive, "spec:\n", "spec:\n  disks:\n  - {name: root, root: true, source: {blank: true}, size: 1Mi}\n", 1)
	text = strings.Replace(text, "  files:\n", `  files:
  - {path: /etc/of-the-clear-text, content: "in a file canary-clear-text for all"}
  - {path: /etc/token, mode: "0600", content: "token"}
`, 1)
	text = strings.Replace(text, "        packages: [shown]\n", `        packages: [shown]
        write_files:
        - {path: /packed, encoding: b64, content: `+b64("nested "+b64("once more canary-environment"))+`}
        - {path: /zipped, encoding: gz+b64, content: `+b64(zipped("set by canary-environment"))+`}
        - {path: /wide, encoding: b64, content: `+b64(wide("powershell canary-environment"))+`}
        - {path: /binary, encoding: b64, content: `+b64("\xff\xfe\x00canary-environment")+`}
        - {path: /named, encoding: b64, content: `+b64("password: canary-in-a-file\n")+`}
        - {path: /named-and-zipped, encoding: gz+b64, content: `+b64(zipped("api_key: canary-in-a-zip\n"))+`}
        - {path: /url, content: "curl https://user:canary-in-a-url@example.org/"}
`, 1)
	const windows = `<vm><name>windows</name><os><type>windows_2022</type></os><initialization><host_name>win</host_name>
<root_password>canary-of-the-administrator</root_password><domain>corp</domain></initialization></vm>`
	for name, c := range map[string]struct {
		document string
		// given is how many secrets the guest gets, shown what stands beside them.
		given int
		shown string
	}{
		"nocloud": {text + "  dataSource: nocloud\n", 8, "packages:"}, "configdrive": {text + "  dataSource: configdrive\n", 8, "packages:"},
		"ec2": {text + "  dataSource: ec2\n", 8, "packages:"}, "openstack": {text + "  dataSource: openstack\n", 8, "packages:"},
		"Windows": {windows, 1, "<ComputerName>win"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			made, err := s.Create(t.Context(), client.CreateRequest{Documents: []client.Document{{Name: "vm", Text: secret.New(c.document)}}, Start: true})
			if err != nil {
				t.Fatal(err)
			}
			id := made.Machines[0].ID
			live, err := s.Given(t.Context(), id, true)
			if err != nil {
				t.Fatal(err)
			}
			if given := canaries(live.Seeds[0]); len(given) < c.given {
				t.Errorf("the guest was given %q", given)
			}
			// What is changed while the machine runs is no longer told by its documents.
			if _, err := s.Update(t.Context(), id, client.UpdateRequest{Documents: documents("other", "", "")}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Stop(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			kept, err := s.Given(t.Context(), id, true)
			if err != nil || !kept.MaskedOnly || !strings.Contains(strings.Join(slices.Collect(maps.Values(contents(kept.Seeds[0]))), "\n"), c.shown) {
				t.Fatalf("%+v, %v", kept, err)
			}
			if shown := canaries(kept.Seeds[0]); len(shown) > 0 {
				t.Errorf("what is kept shows %q", shown)
			}
		})
	}
}

// TestCopyIsBounded keeps no more of a large seed than there is room for, and says so.
func TestCopyIsBounded(t *testing.T) {
	s := begin(t)
	text := documents("large", "", "")[0].Text.Reveal() + "  files:\n  - path: /x\n    content: \"" + strings.Repeat("a large file ", 250_000) + "\"\n"
	made, err := s.Create(t.Context(), client.CreateRequest{Documents: []client.Document{{Name: "vm.yaml", Text: secret.New(text)}}, Start: true})
	if err != nil {
		t.Fatal(err)
	}
	id := made.Machines[0].ID
	if _, err := s.Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	kept, err := s.Given(t.Context(), id, false)
	if err != nil {
		t.Fatal(err)
	}
	size, cut := 0, false
	for _, f := range kept.Seeds[0].Volumes[0].Files {
		size += f.Content.Len()
		cut = cut || f.Truncated && f.Size > f.Content.Len()
	}
	if !cut || size > 2<<20 || size < 1<<20 {
		t.Errorf("%d bytes are kept, cut: %t", size, cut)
	}
}

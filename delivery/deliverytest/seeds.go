package deliverytest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Seed returns a seed of NoCloud with contents that are hard to carry: binary, empty, large, deep and long names, and a
// further medium.
func Seed() seed.Seed {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	s := small("i-1")
	s.Volumes[0].Files = append(s.Volumes[0].Files,
		seed.File{Path: "binary", Content: secret.FromBytes(every)},
		seed.File{Path: "empty"},
		seed.File{Path: "large", Content: secret.FromBytes(bytes.Repeat(every, 12_289))},
		seed.File{Path: "lines", Content: secret.New("cr\r\nlf\nnone")},
		seed.File{Path: "a/b/c/d/deep", Content: secret.New("deep")},
		seed.File{Path: "a/b/beside", Content: secret.New("beside")},
		seed.File{Path: "openstack/content/" + strings.Repeat("long-name.", 6) + "conf", Content: secret.New("long")},
	)
	s.Volumes = append(s.Volumes, seed.Volume{Name: "extra", Label: "extra", Files: []seed.File{
		{Path: "meta-data", Content: secret.New("instance-id: extra\n")}, {Path: "user-data", Content: secret.New("extra")}}})
	return s
}

func small(instance string) seed.Seed {
	return seed.Seed{Machine: seed.Name{Namespace: "ns", Name: "vm"}, DataSource: "nocloud", Volumes: []seed.Volume{{Label: "cidata",
		Files: []seed.File{
			{Path: "meta-data", Content: secret.New("instance-id: " + instance + "\n")},
			{Path: "user-data", Content: secret.New("#cloud-config\n{}\n"), Mode: 0o600},
		}}}}
}

// ignition returns a seed whose config holds a text.
func ignition(text string) seed.Seed {
	config := fmt.Sprintf("{\"ignition\": {\"version\": \"3.0.0\"},\r\n\t\"note\": %q}\n", text)
	return seed.Seed{Machine: seed.Name{Namespace: "ns", Name: "vm"}, DataSource: "ignition",
		Firmware: seed.Firmware{FwCfg: []seed.FwCfg{{Name: seed.IgnitionItem, Content: secret.New(config)}}}}
}

// served returns a seed of one tree.
func served(instance string) seed.Seed {
	return seed.Seed{Machine: seed.Name{Namespace: "ns", Name: "vm"}, DataSource: "ec2", Identity: seed.Identity{InstanceID: instance},
		Trees: []seed.Tree{{Name: "ec2", Roots: []string{"latest", "2021-07-15"}, Tokens: seed.TokensRequired, HopLimit: 2, Blobs: []seed.Blob{
			{Path: "meta-data/instance-id", ContentType: "text/plain", Content: secret.New(instance)},
			{Path: "user-data", ContentType: "application/octet-stream", Content: secret.New("#cloud-config\n{}\n"), Sealable: true},
		}}}}
}

// servedFull returns a seed of two trees with contents that are hard to carry.
func servedFull() seed.Seed {
	s := served("i-1")
	for _, f := range Seed().Volumes[0].Files {
		if f.Path != "user-data" {
			s.Trees[0].Blobs = append(s.Trees[0].Blobs, seed.Blob{Path: "dynamic/" + f.Path, Content: f.Content})
		}
	}
	s.Trees[0].Blobs = append(s.Trees[0].Blobs, seed.Blob{Path: "meta-data/public-keys/", Content: secret.New("0=key")})
	s.Trees = append(s.Trees, seed.Tree{Name: "nocloud", Roots: []string{"nocloud"}, Blobs: []seed.Blob{
		{Path: "meta-data", Content: secret.New("instance-id: i-1\n")}, {Path: "user-data"}}})
	return s
}

// small is a seed of one part that fits everywhere.
func (c Config) small(instance string) seed.Seed {
	switch c.Carries {
	case Volumes:
		return small(instance)
	case Trees:
		return served(instance)
	}
	return ignition(instance)
}

// full is a seed that is hard to carry, of all the parts that the delivery takes.
func (c Config) full() seed.Seed {
	switch c.Carries {
	case Volumes:
		return Seed()
	case Trees:
		return servedFull()
	}
	s := ignition("ü\u2028<&,=" + strings.Repeat("0123456789abcdef", 1000))
	if c.Carries == Items {
		s.Firmware.FwCfg = append(s.Firmware.FwCfg, seed.FwCfg{Name: "opt/com.example/a,b=c", Content: ignition("further").Firmware.FwCfg[0].Content})
	}
	return s
}

// huge is a full seed that no disk of 3 MiB holds.
func (c Config) huge() seed.Seed {
	s := c.full()
	switch c.Carries {
	case Volumes:
	case Trees:
		s.Trees[0].Blobs[1].Content = secret.New(strings.Repeat("x", 3<<20))
	default:
		s.Firmware.FwCfg[0].Content = ignition(strings.Repeat("x", 3<<20)).Firmware.FwCfg[0].Content
	}
	return s
}

// large is a seed of one part that no disk of 3 MiB holds.
func (c Config) large() seed.Seed {
	s := c.huge()
	s.Volumes, s.Firmware.FwCfg = s.Volumes[:min(1, len(s.Volumes))], s.Firmware.FwCfg[:min(1, len(s.Firmware.FwCfg))]
	return s
}

// parts is how many files or directories a full seed is delivered as.
func (c Config) parts() int { return parts(c.full()) }

// parts counts what is delivered on its own. All trees go together.
func parts(s seed.Seed) int {
	return len(s.Volumes) + len(s.Firmware.FwCfg) + min(1, len(s.Trees))
}

// broken is a seed whose last part cannot be delivered.
func (c Config) broken() seed.Seed {
	s := c.full()
	switch c.Carries {
	case Volumes:
		s.Volumes[1].Files[0].Path = "../escape"
	case Trees:
		s.Trees[1].Blobs[1].Path = "../escape"
	default:
		s.Firmware.FwCfg[len(s.Firmware.FwCfg)-1].Name = "../escape"
	}
	return s
}

// sameSeed reads a seed back from where it was delivered.
func (c Config) sameSeed(t *testing.T, path string, want seed.Seed) {
	t.Helper()
	places := []string{path}
	if parts(want) > 1 {
		places = append(places, further(t, path))
	}
	for i, place := range places {
		got := c.open(t, place)
		if i == 0 && got.DataSource != want.DataSource {
			t.Errorf("the data source of what was delivered is %q", got.DataSource)
		}
		if c.Carries == Trees {
			sameTrees(t, got, want)
			continue
		}
		if c.Carries != Volumes {
			if w := want.Firmware.FwCfg[i].Content; !got.Firmware.FwCfg[0].Content.Equal(w) {
				t.Errorf("%s: %d bytes differ from the %d of the seed", place, got.Firmware.FwCfg[0].Content.Len(), w.Len())
			}
			continue
		}
		same(t, got.Volumes[0], want.Volumes[i])
		if l := got.Volumes[0].Label; l != "" && !strings.EqualFold(l, want.Volumes[i].Label) {
			t.Errorf("%s: the label is %q", place, l)
		}
	}
}

// sameTrees compares trees, all that is in them.
func sameTrees(t *testing.T, got, want seed.Seed) {
	t.Helper()
	bare := func(s seed.Seed) (out seed.Seed) {
		out = seed.Seed{Machine: s.Machine, Identity: s.Identity}
		for _, tree := range s.Trees {
			tree.Blobs = slices.Clone(tree.Blobs)
			for i := range tree.Blobs {
				tree.Blobs[i].Content = secret.Text{}
			}
			out.Trees = append(out.Trees, tree)
		}
		return out
	}
	if g, w := bare(got), bare(want); !reflect.DeepEqual(g, w) {
		t.Fatalf("got %+v, want %+v", g, w)
	}
	for i, tree := range want.Trees {
		for j, b := range tree.Blobs {
			if content := got.Trees[i].Blobs[j].Content; !content.Equal(b.Content) {
				t.Errorf("%s: %d bytes differ from the %d of the seed", b.Path, content.Len(), b.Content.Len())
			}
		}
	}
}

// same compares files by path.
func same(t *testing.T, got, want seed.Volume) {
	t.Helper()
	for _, f := range want.Files {
		content, ok := got.File(f.Path)
		switch {
		case !ok:
			t.Errorf("%s is missing", f.Path)
		case !content.Equal(f.Content):
			t.Errorf("%s: %d bytes differ from the %d of the seed", f.Path, content.Len(), f.Content.Len())
		}
	}
	if len(got.Files) != len(want.Files) {
		t.Errorf("%d files, want %d", len(got.Files), len(want.Files))
	}
}

// hostile are seeds with names that are refused.
func (c Config) hostile() map[string]seed.Seed {
	out := map[string]seed.Seed{}
	if c.Carries == Items || c.Carries == Ignition {
		for _, name := range []string{"", ".", "..", "../escape", "/escape", "opt/../../escape", "opt/", "opt//a", "opt/a\x00b", "opt/a\nb",
			"opt/a b", `opt/a\b`, "opt/ü", "etc/acpi/tables", "opt/" + strings.Repeat("x", 52)} {
			s := c.small("canary-content")
			s.Firmware.FwCfg[0].Name = name
			if name == "" { // what a file was read from has no name, and is an Ignition config all the same
				s.Firmware.FwCfg[0].Content = secret.New("canary-content")
			}
			out[name] = s
		}
		return out
	}
	for _, names := range [][]string{
		{".."}, {"../escape"}, {"a/../../escape"}, {"a/../b"}, {"/escape"}, {""}, {"."}, {"a/"}, {"./a"}, {"a//b"}, {"a/."},
		{"a\x00b"}, {"a\nb"}, {"a\x1bb"}, {`a\b`}, {strings.Repeat("x", 256)}, {"bad\xffutf-8"}, {"twice", "twice"}, {"file", "file/below"}, {"file/below", "file"},
	} {
		s := c.small("i-1")
		for _, name := range names {
			if c.Carries == Trees {
				s.Trees[0].Blobs = append(s.Trees[0].Blobs, seed.Blob{Path: name, Content: secret.New("canary-content")})
				continue
			}
			s.Volumes[0].Files = append(s.Volumes[0].Files, seed.File{Path: name, Content: secret.New("canary-content")})
		}
		if c.Carries == Trees && names[0] == "a/" {
			continue // the listing of a directory
		}
		out[strings.Join(names, " ")] = s
	}
	return out
}

// hostileNames are refused, and nothing is written anywhere.
func (c Config) hostileNames(t *testing.T) {
	for names, s := range c.hostile() {
		t.Run(fmt.Sprintf("%.40q", names), func(t *testing.T) {
			outer := t.TempDir()
			dir := filepath.Join(outer, "dir")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := c.Delivery.Deliver(t.Context(), s, target(filepath.Join(dir, "out")))
			if err == nil {
				t.Errorf("accepted; the directory has %q", entries(t, outer))
			} else if strings.Contains(err.Error(), "canary-content") {
				t.Errorf("the error shows the content: %v", err)
			}
			if left := entries(t, outer); !slices.Equal(left, []string{"dir"}) && err != nil {
				t.Errorf("left over: %q", left)
			}
			if _, err := os.Lstat("/escape"); err == nil {
				t.Error("a file was written outside")
			}
		})
	}
}

// otherParts adds to a seed what the delivery does not carry: it must refuse rather than lose that.
func (c Config) otherParts(t *testing.T) {
	for name, add := range map[string]func(*seed.Seed){
		"tree": func(s *seed.Seed) { s.Trees = []seed.Tree{{Name: "ec2"}} },
		"volume": func(s *seed.Seed) {
			if c.Carries != Volumes {
				s.Volumes = small("i-1").Volumes
			} else {
				s.Trees = []seed.Tree{{Name: "nocloud"}}
			}
		},
		"another item": func(s *seed.Seed) {
			s.Firmware.FwCfg = append(s.Firmware.FwCfg, seed.FwCfg{Name: "opt/com.example/other", Content: secret.New("canary-content")})
		},
		"SMBIOS": func(s *seed.Seed) {
			s.Firmware.SMBIOS = []seed.SMBIOS{{Type: 1, Field: "serial", Value: "canary-content"}}
		},
	} {
		if name == "tree" && c.Carries == Trees {
			continue
		}
		s := c.small("i-1")
		add(&s)
		dir := t.TempDir()
		r, err := c.Delivery.Deliver(t.Context(), s, target(filepath.Join(dir, "out")))
		attached := slices.ContainsFunc(r.Attachments, func(a seed.Attachment) bool {
			return a.Name == "opt/com.example/other" || a.Kind == seed.SMBIOSRow && a.Value == "canary-content"
		})
		switch {
		case err == nil && !attached:
			t.Errorf("%s: lost in silence", name)
		case err != nil && (!errors.Is(err, delivery.ErrPart) || strings.Contains(err.Error(), "canary-content") || len(entries(t, dir)) > 0):
			t.Errorf("%s: %v; left over: %v", name, err, entries(t, dir))
		}
	}
}

// kernelArgs are handed on by every delivery.
func (c Config) kernelArgs(t *testing.T) {
	s := c.small("i-1")
	s.KernelArgs = []string{"first", "second=2"}
	r := c.deliver(t, s, filepath.Join(t.TempDir(), "out"))
	var got []string
	for _, a := range r.Attachments {
		if a.Kind == seed.KernelArg {
			got = append(got, a.Value)
		}
	}
	if !slices.Equal(got, s.KernelArgs) {
		t.Errorf("got %v", got)
	}
}

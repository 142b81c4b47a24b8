package ignconfig

import (
	"bytes"
	"strings"
	"testing"

	"github.com/clarketm/json"
	"github.com/coreos/ignition/v2/config/util"
	v3 "github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
)

var str = util.StrToPtr

// features are configs, each with the version that has what it uses.
func features() map[string]struct {
	version string
	c       types.Config
} {
	type row = struct {
		version string
		c       types.Config
	}
	files := func(f types.File) types.Config { return types.Config{Storage: types.Storage{Files: []types.File{f}}} }
	contents := func(r types.Resource) types.Config {
		return files(types.File{Node: types.Node{Path: "/x"}, FileEmbedded1: types.FileEmbedded1{Contents: r}})
	}
	source := func(s string) types.Config { return contents(types.Resource{Source: str(s)}) }
	mode := func(m int) types.Config {
		return files(types.File{Node: types.Node{Path: "/x"}, FileEmbedded1: types.FileEmbedded1{Mode: &m}})
	}
	luks := func(l types.Luks) types.Config {
		l.Name, l.Device = "data", str("/dev/vdb")
		return types.Config{Storage: types.Storage{Luks: []types.Luks{l}}}
	}
	fs := func(f types.Filesystem) types.Config {
		f.Device = "/dev/vdb"
		return types.Config{Storage: types.Storage{Filesystems: []types.Filesystem{f}}}
	}
	return map[string]row{
		"nothing": {"3.0.0", types.Config{}},
		"a user": {"3.0.0", types.Config{Passwd: types.Passwd{Users: []types.PasswdUser{{Name: "core", Groups: []types.Group{"sudo"},
			SSHAuthorizedKeys: []types.SSHAuthorizedKey{key}, PasswordHash: str("$6$a$b"), Gecos: str("<&>"), UID: util.IntToPtr(1000)}}}}},
		"a unit":            {"3.0.0", types.Config{Systemd: types.Systemd{Units: []types.Unit{{Name: "a.service", Mask: util.BoolToPtr(true)}}}}},
		"a file":            {"3.0.0", source("data:,x")},
		"a link":            {"3.0.0", types.Config{Storage: types.Storage{Links: []types.Link{{Node: types.Node{Path: "/l"}, LinkEmbedded1: types.LinkEmbedded1{Target: str("/x"), Hard: util.BoolToPtr(false)}}}}}},
		"an array":          {"3.0.0", types.Config{Storage: types.Storage{Raid: []types.Raid{{Name: "md0", Level: str("raid1"), Devices: []types.Device{"/dev/vdb", "/dev/vdc"}}}}}},
		"a file system":     {"3.0.0", fs(types.Filesystem{Format: str("ext4"), Path: str("/srv")})},
		"a partition":       {"3.0.0", types.Config{Storage: types.Storage{Disks: []types.Disk{{Device: "/dev/vdb", Partitions: []types.Partition{{Number: 1, SizeMiB: util.IntToPtr(0)}}}}}}},
		"gzip of a file":    {"3.0.0", contents(types.Resource{Source: str("data:,x"), Compression: str("gzip")})},
		"gzip of a config":  {"3.1.0", types.Config{Ignition: types.Ignition{Config: types.IgnitionConfig{Merge: []types.Resource{{Source: str("data:,x"), Compression: str("gzip")}}}}}},
		"sha256":            {"3.1.0", contents(types.Resource{Source: str("data:,x"), Verification: types.Verification{Hash: str("sha256-" + strings.Repeat("0", 64))}})},
		"HTTP headers":      {"3.1.0", contents(types.Resource{Source: str("http://example.org/"), HTTPHeaders: types.HTTPHeaders{{Name: "A", Value: str("b")}}})},
		"a proxy":           {"3.1.0", types.Config{Ignition: types.Ignition{Proxy: types.Proxy{HTTPProxy: str("http://example.org")}}}},
		"mount options":     {"3.1.0", fs(types.Filesystem{Format: str("ext4"), Path: str("/srv"), MountOptions: []types.MountOption{"ro"}})},
		"a removed user":    {"3.2.0", types.Config{Passwd: types.Passwd{Users: []types.PasswdUser{{Name: "core", ShouldExist: util.BoolToPtr(false)}}}}},
		"gs":                {"3.2.0", source("gs://bucket/object")},
		"resize":            {"3.2.0", types.Config{Storage: types.Storage{Disks: []types.Disk{{Device: "/dev/vdb", Partitions: []types.Partition{{Number: 1, Resize: util.BoolToPtr(true)}}}}}}},
		"LUKS":              {"3.2.0", luks(types.Luks{Clevis: types.Clevis{Tpm2: util.BoolToPtr(true)}})},
		"kernel arguments":  {"3.3.0", types.Config{KernelArguments: types.KernelArguments{ShouldExist: []types.KernelArgument{"quiet"}}}},
		"no format":         {"3.3.0", fs(types.Filesystem{Format: str("none"), WipeFilesystem: util.BoolToPtr(true)})},
		"LUKS that trims":   {"3.4.0", luks(types.Luks{Discard: util.BoolToPtr(true), Clevis: types.Clevis{Tpm2: util.BoolToPtr(true)}})},
		"S3 by ARN":         {"3.4.0", source("arn:aws:s3:::bucket/key")},
		"LUKS by CEX":       {"3.5.0", luks(types.Luks{Cex: types.Cex{Enabled: util.BoolToPtr(true)}})},
		"setuid":            {"3.6.0", mode(0o4755)},
		"a mode without it": {"3.0.0", mode(0o755)},
	}
}

// Build takes the lowest version that has everything. The proof is the official parser of that version: it reads the text
// with the same result, and that of the version before does not.
func TestLowestVersion(t *testing.T) {
	for name, tt := range features() {
		c, l := Build(tt.c)
		if l.HasErrors() || c.Version() != tt.version || c.Translated() {
			t.Errorf("%s: version %s, want %s; %v", name, c.Version(), tt.version, l)
			continue
		}
		read, rpt, err := v3.ParseCompatibleVersion(c.Text())
		if err != nil || len(rpt.Entries) > len(l) {
			t.Errorf("%s: %v, %v", name, err, rpt)
		}
		want := tt.c
		want.Ignition.Version = "3.6.0"
		if d := cmp.Diff(want, read); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff(want, c.Types()); d != "" {
			t.Errorf("%s: the types: %s", name, d)
		}
	}
}

// lowest asks the official parser of each version in turn for the first one that reads the config whole. Two features may
// contradict each other; then it is empty.
func lowest(t *testing.T, c types.Config) string {
	t.Helper()
	first, entries := "", 0
	for minor := newest; minor >= 0; minor-- {
		c.Ignition.Version = spec(minor)
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		read, rpt, err := v3.ParseCompatibleVersion(text)
		if minor == newest {
			entries = len(rpt.Entries)
		}
		read.Ignition.Version = c.Ignition.Version
		if err == nil && len(rpt.Entries) <= entries && cmp.Equal(c, read) {
			first = spec(minor)
		}
	}
	return first
}

// Every pair of features needs the version that the official parsers need for it.
func TestVersionOfPairs(t *testing.T) {
	all := features()
	for a, x := range all {
		for b, y := range all {
			if a > b {
				continue
			}
			merged := v3.Merge(x.c, y.c)
			c, l := Build(merged)
			if want := lowest(t, merged); c.Version() != want {
				t.Errorf("%s and %s: version %q, want %q: %v", a, b, c.Version(), want, l)
			}
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	c, l := Build(types.Config{Storage: types.Storage{Files: []types.File{{Node: types.Node{Path: "x"}}}}})
	if !c.IsZero() || len(l) != 1 || l[0].Error() != `error[VS3404]: storage.files[0].path: the path is not absolute; begin it with a slash, such as /etc/motd` {
		t.Errorf("got %q, %v", c.Text(), l)
	}
	c, l = Build(types.Config{Systemd: types.Systemd{Units: []types.Unit{{Name: "a.service", Enabled: util.BoolToPtr(true), Contents: str("[Service]\n")}}}})
	if c.Version() != "3.0.0" || len(l) != 1 || l[0].Severity != diag.Warning {
		t.Errorf("got %q, %v", c.Text(), l)
	}
}

func mustParse(t testing.TB, text string) Config {
	t.Helper()
	c, l := Parse(diag.File("c.ign"), []byte(text))
	if l.HasErrors() {
		t.Fatal(l)
	}
	return c
}

func TestMerge(t *testing.T) {
	parent := mustParse(t, `{"ignition": {"version": "3.4.0"}, "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["`+key+`"], "uid": 7}, {"name": "a"}]},
		"storage": {"files": [{"path": "/etc/hostname", "overwrite": true, "contents": {"source": "data:,parent"}}]}}`)
	child := mustParse(t, with(`"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["`+strings.Replace(key, "test", "other", 1)+`"], "uid": 8}]},
		"storage": {"files": [{"path": "/etc/hostname", "contents": {"source": "data:,child"}}]}, "systemd": {"units": [{"name": "a.service", "enabled": true, "contents": "[Service]\n"}]}`))
	c, l := Merge(parent, child)
	want := `{"ignition":{"version":"3.0.0"},"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["` + key + `","` + strings.Replace(key, "test", "other", 1) + `"],"uid":8},{"name":"a"}]},` +
		`"storage":{"files":[{"overwrite":true,"path":"/etc/hostname","contents":{"source":"data:,child"}}]},"systemd":{"units":[{"contents":"[Service]\n","enabled":true,"name":"a.service"}]}}`
	if d := cmp.Diff(want, string(c.Text())); d != "" || len(l) > 0 {
		t.Errorf("%s, %v", d, l)
	}
	for _, other := range []func() (Config, diag.List){
		func() (Config, diag.List) { return Merge(Config{}, parent) }, func() (Config, diag.List) { return Merge(parent, Config{}) },
	} {
		if c, l := other(); !bytes.Equal(c.Text(), parent.Text()) || len(l) > 0 {
			t.Errorf("with nothing: %s, %v", c.Text(), l)
		}
	}
	// Two valid configs may contradict each other.
	file := mustParse(t, with(`"storage": {"files": [{"path": "/x"}]}`))
	link := mustParse(t, with(`"storage": {"links": [{"path": "/x", "target": "/b"}]}`))
	if c, l := Merge(file, link); l.HasErrors() || len(c.Types().Storage.Files) != 0 || len(c.Types().Storage.Links) != 1 {
		t.Errorf("the child's link should replace the parent's file: %s, %v", c.Text(), l)
	}
	below := mustParse(t, with(`"storage": {"files": [{"path": "/x/y"}]}`))
	c, l = Merge(link, below)
	if !l.HasErrors() || !c.IsZero() {
		t.Errorf("a file below a link: %s, %v", c.Text(), l)
	}
	if d := cmp.Diff(l, Conflicts(link, below)); d != "" {
		t.Error(d)
	}
	if l := Conflicts(parent, child, file, link); len(l) > 0 {
		t.Errorf("configs that fit: %v", l)
	}
}

func TestWrap(t *testing.T) {
	small := with(`"passwd": {"users": [{"name": "core"}]}`) + "\n"
	large := strings.Replace(with(`"storage": {"files": [{"path": "/x", "contents": {"source": "data:,`+strings.Repeat("x", 20_000)+`"}}]}`), "3.0.0", "3.4.0", 1)
	for name, tt := range map[string]struct {
		children []string
		version  string
		limit    int
	}{
		"nothing": {nil, "3.0.0", 40}, "one": {[]string{small}, "3.0.0", 300}, "two": {[]string{small, large}, "3.1.0", 700},
	} {
		var children []Config
		for _, text := range tt.children {
			children = append(children, mustParse(t, text))
		}
		c := Wrap(children...)
		back, l := Parse(diag.File("c.ign"), c.Text())
		if l.HasErrors() || c.Version() != tt.version || back.Version() != tt.version || !cmp.Equal(back.Types(), c.Types()) || len(c.Text()) > tt.limit {
			t.Errorf("%s: version %s, %d bytes, %v", name, c.Version(), len(c.Text()), l)
		}
		s, _ := readJSON(c.Text())
		for i, r := range back.Types().Ignition.Config.Merge {
			inside, ok := s.content(r, dataPath{})
			if !ok || string(inside) != tt.children[i] {
				t.Errorf("%s: child %d has changed to %q", name, i, inside)
			}
		}
		if !bytes.Equal(c.Text(), Wrap(children...).Text()) {
			t.Errorf("%s: two times, two texts", name)
		}
	}
}

// Text and Types belong to the caller.
func TestTextIsACopy(t *testing.T) {
	text := []byte(with(`"passwd": {}`))
	c := mustParse(t, string(text))
	c.Text()[0] = 'x'
	if got := c.Text(); !bytes.Equal(got, text) {
		t.Errorf("got %s", got)
	}
	c, _ = Parse(diag.Origin{}, text)
	text[0] = 'x'
	if c.Text()[0] != '{' {
		t.Error("the config changes with the caller's bytes")
	}
}

package ignconfig

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
)

var update = flag.Bool("update", false, "rewrite the expectations below testdata")

// golden compares text with a file below testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

// The config that KubeVirt's announcement of Ignition prints: a comma too many, specification 2, and a section that
// specification 3 does not have.
func TestKubeVirt(t *testing.T) {
	printed, err := os.ReadFile("testdata/kubevirt.ign")
	if err != nil {
		t.Fatal(err)
	}
	said := func(name string, text []byte) (Config, []byte) {
		c, l := Parse(diag.File(name), text)
		var b bytes.Buffer
		if err := diag.Write(&b, diag.Text, l); err != nil {
			t.Fatal(err)
		}
		return c, b.Bytes()
	}
	c, words := said("printed.ign", printed)
	golden(t, "kubevirt.printed.txt", words)
	if !c.IsZero() {
		t.Error("it is accepted as printed")
	}
	mended := bytes.Replace(printed, []byte("},\n]"), []byte("}\n]"), 1)
	c, words = said("mended.ign", mended)
	golden(t, "kubevirt.mended.txt", words)
	golden(t, "kubevirt.want.ign", append(c.Text(), '\n'))
	if c.Version() != "3.0.0" || c.Stated() != "2.2.0" || !c.Translated() {
		t.Errorf("version %s of %s", c.Version(), c.Stated())
	}
	networkd := bytes.Replace(mended, []byte(`"networkd": {}`), []byte(`"networkd": {"units": [{"name": "10-dhcp.network", "contents": "[Match]\nName=en*\n\n[Network]\nDHCP=yes\n",
  "dropins": [{"name": "dns.conf", "contents": "[Network]\nDNS=192.0.2.53\n"}]}]}`), 1)
	c, words = said("networkd.ign", networkd)
	golden(t, "kubevirt.networkd.txt", words)
	golden(t, "kubevirt.networkd.want.ign", append(c.Text(), '\n'))
	third := bytes.Replace(networkd, []byte("2.2.0"), []byte("3.0.0"), 1)
	c, words = said("third.ign", third)
	golden(t, "kubevirt.third.txt", words)
	if !bytes.Equal(c.Text(), third) {
		t.Error("a config of specification 3 is changed")
	}
}

// of makes a config of version 2.minor.0.
func of(version, members string) string {
	return `{"ignition": {"version": "` + version + `"}, ` + members + `}`
}

func TestOldSpecifications(t *testing.T) {
	contents := `"filesystem": "root", "mode": 420, "contents": {"source": "data:,x"}`
	tests := []struct{ name, in, want string }{
		{"2.0.0", of("2.0.0", `"storage": {"files": [{"path": "/x", `+contents+`}]}`),
			`{"ignition":{"version":"3.0.0"},"storage":{"files":[{"overwrite":true,"path":"/x","contents":{"source":"data:,x"},"mode":420}]}}`},
		{"2.0.0, a user that is created", of("2.0.0", `"passwd": {"users": [{"name": "a", "create": {"uid": 7, "groups": ["sudo"], "shell": "/bin/sh"}}]}`),
			`{"ignition":{"version":"3.0.0"},"passwd":{"users":[{"groups":["sudo"],"name":"a","shell":"/bin/sh","uid":7}]}}`},
		{"2.1.0", of("2.1.0", `"storage": {"directories": [{"filesystem": "root", "path": "/x", "mode": 493, "user": {"name": "a"}}]}`),
			`{"ignition":{"version":"3.0.0"},"storage":{"directories":[{"path":"/x","user":{"name":"a"},"mode":493}]}}`},
		{"2.2.0, append", of("2.2.0", `"storage": {"files": [{"path": "/x", "append": true, `+contents+`}]}`),
			`{"ignition":{"version":"3.0.0"},"storage":{"files":[{"overwrite":false,"path":"/x","append":[{"source":"data:,x"}],"mode":420}]}}`},
		{"2.2.0, partitions in sectors", of("2.2.0", `"storage": {"disks": [{"device": "/dev/vdb", "partitions": [{"number": 1, "size": 4096, "start": 2048}]}]}`),
			`{"ignition":{"version":"3.0.0"},"storage":{"disks":[{"device":"/dev/vdb","partitions":[{"number":1,"sizeMiB":2,"startMiB":1}]}]}}`},
		{"2.3.0, a file system that nothing is written to", of("2.3.0", `"storage": {"filesystems": [{"name": "data", "mount": {"device": "/dev/vdb", "format": "ext4"}}]}`),
			`{"ignition":{"version":"3.0.0"},"storage":{"filesystems":[{"device":"/dev/vdb","format":"ext4"}]}}`},
		{"2.3.0, the root made anew", of("2.3.0", `"storage": {"filesystems": [{"name": "root", "mount": {"device": "/dev/disk/by-label/ROOT", "format": "xfs", "wipeFilesystem": true, "label": "ROOT"}}]}`),
			`{"ignition":{"version":"3.0.0"},"storage":{"filesystems":[{"device":"/dev/disk/by-label/ROOT","format":"xfs","label":"ROOT","path":"/","wipeFilesystem":true}]}}`},
		{"2.2.0, a file system made by force", of("2.2.0", `"storage": {"filesystems": [{"name": "data", "mount": {"device": "/dev/vdb", "format": "ext4", "create": {"force": true, "options": ["-m0"]}}}]}`),
			`{"ignition":{"version":"3.0.0"},"storage":{"filesystems":[{"device":"/dev/vdb","format":"ext4","options":["-m0"],"wipeFilesystem":true}]}}`},
		{"2.3.0, a file system that is there", of("2.3.0", `"storage": {"filesystems": [{"name": "oem", "path": "/sysroot/oem"}], "files": [{"path": "/x", "filesystem": "oem", "mode": 420, "contents": {"source": "data:,x"}}]}`),
			`{"ignition":{"version":"3.0.0"},"storage":{"files":[{"overwrite":true,"path":"/oem/x","contents":{"source":"data:,x"},"mode":420}]}}`},
		{"2.3.0, a unit", of("2.3.0", `"systemd": {"units": [{"name": "a.service", "enable": true, "contents": "[Install]\nWantedBy=multi-user.target\n"}]}`),
			`{"ignition":{"version":"3.0.0"},"systemd":{"units":[{"contents":"[Install]\nWantedBy=multi-user.target\n","enabled":true,"name":"a.service"}]}}`},
		{"2.4.0, a header needs 3.1.0", of("2.4.0", `"storage": {"files": [{"path": "/x", "filesystem": "root", "mode": 420, "contents": {"source": "http://example.org/x", "httpHeaders": [{"name": "A", "value": "b"}]}}]}`),
			`{"ignition":{"version":"3.1.0"},"storage":{"files":[{"overwrite":true,"path":"/x","contents":{"httpHeaders":[{"name":"A","value":"b"}],"source":"http://example.org/x"},"mode":420}]}}`},
	}
	for _, tt := range tests {
		c, l := Parse(diag.File("c.ign"), []byte(tt.in))
		if l.HasErrors() || l.Max() != diag.Warning || !strings.Contains(l[0].Summary, "no current Ignition accepts") {
			t.Errorf("%s: %v", tt.name, l)
		}
		if d := cmp.Diff(tt.want, string(c.Text())); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

// What means one thing in specification 2 and nothing or several in specification 3 is refused, and what would change its
// meaning is kept.
func TestNotTranslated(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"relative path", of("2.2.0", `"storage": {"files": [{"filesystem": "root", "mode": 420, "path": ‸"x"}]}`), "error[VS3404]: storage.files[0].path: the path is not absolute"},
		{"no file system", of("2.2.0", `"storage": {"files": [{"path": "/x", "mode": 420, "filesystem": ‸""}]}`), "error[VS3404]: storage.files[0].filesystem: no file system is named"},
		{"broken URL", of("2.3.0", `"storage": {"files": [{"path": "/x", "mode": 420, "filesystem": "root", "contents": {"source": ‸"canary-secret"}}]}`), "error[VS3404]: storage.files[0].contents.source: the URL has no scheme"},
		{"mode in quotes", of("2.2.0", `"storage": {"files": [{"path": "/x", "filesystem": "root", "mode": ‸"0600"}]}`), "error[VS3403]: storage.files[0].mode: this should be a whole number"},
		{"path twice", of("2.2.0", `"storage": {"files": [{"path": "/x", "mode": 420, "filesystem": "root"}, ‸{"path": "/x", "mode": 384, "filesystem": "root"}]}`), `error[VS3415]: storage.files[1]: "/x" stands here for the second time`},
		{"file and link", of("2.2.0", `"storage": {"files": [{"path": "/x", "mode": 420, "filesystem": "root"}], "links": [‸{"path": "/x", "target": "/y", "filesystem": "root"}]}`), `error[VS3415]: storage.links[0]: "/x" stands here for the second time`},
		{"through a link", of("2.2.0", `"storage": {"files": [‸{"path": "/x/y", "mode": 420, "filesystem": "root"}], "links": [{"path": "/x", "target": "/z", "filesystem": "root"}]}`), "error[VS3415]: storage.files[0]: the path leads through a link"},
		{"user twice", of("2.2.0", `"passwd": {"users": [{"name": "a"}, ‸{"name": "a"}]}`), `error[VS3415]: passwd.users[1]: "a" stands here for the second time`},
		{"unit twice", of("2.2.0", `"systemd": {"units": [{"name": "a.service"}, ‸{"name": "a.service"}]}`), `error[VS3415]: systemd.units[1]: "a.service" stands here for the second time`},
		{"drop-in twice", of("2.2.0", `"systemd": {"units": [{"name": "a.service", "dropins": [{"name": "a.conf"}, ‸{"name": "a.conf"}]}]}`), `error[VS3415]: systemd.units[0].dropins[1]: "a.conf" stands here`},
		{"named file system", of("2.2.0", `"storage": {"filesystems": [{"name": "data", "mount": {"device": "/dev/vdb", "format": "ext4"}}], "files": [{"path": "/x", "mode": 420, "filesystem": ‸"data"}]}`),
			`error[VS3415]: storage.files[0].filesystem: specification 3 needs the place where the file system "data" is mounted`},
		{"file system outside", of("2.2.0", `"storage": {"filesystems": [‸{"name": "usr", "path": "/run/usr"}]}`), "error[VS3415]: storage.filesystems[0]: the file system is mounted outside"},
		{"name twice", of("2.2.0", `"storage": {"filesystems": [{"name": "a", "mount": {"device": "/dev/vdb", "format": "ext4"}}, ‸{"name": "a", "mount": {"device": "/dev/vdc", "format": "ext4"}}]}`), "error[VS3415]: storage.filesystems[1]: two file systems have the same name"},
		{"half a MiB", of("2.2.0", `"storage": {"disks": [{"device": "/dev/vdb", "partitions": [{"number": 1, "size": ‸1024}]}]}`), "error[VS3415]: storage.disks[0].partitions[0].size: specification 3 counts in MiB"},
		{"no mode", of("2.2.0", `"storage": {"files": [‸{"path": "/x", "filesystem": "root", "contents": {"source": "data:,x"}}]}`), "warning[VS3406]: storage.files[0]: there is no mode, and specification 2 takes 0000 then"},
		{"fetched", `{"ignition": {"version": "2.2.0", "config": {"append": [‸{"source": "http://example.org/x"}]}}}`, "warning[VS3414]: ignition.config.append[0]: the config that is fetched from here has to be of specification 3"},
		{"old config inside", `{"ignition": {"version": "2.2.0", "config": {"append": [{"source": ‸"data:,%7B%22ignition%22:%7B%22version%22:%222.2.0%22%7D%7D"}]}}}`, "error[VS3402]: ignition.version: in the config at ignition.config.append[0], line 1: a config of specification 2 cannot be part"},
		{"misspelt key", of("2.2.0", `‸"systemd_": {}`), "warning[VS3405]: systemd_: Ignition does not know this key and ignores it; did you mean \"systemd\"?"},
		{"networkd ending", of("2.2.0", `"networkd": {"units": [‸{"name": "a.service"}]}`), "error[VS3404]: networkd.units[0]: the name of a networkd unit ends in"},
		{"key", of("2.2.0", `"passwd": {"users": [{"name": "a", "sshAuthorizedKeys": [‸"canary-secret"]}]}`), "warning[VS3409]: passwd.users[0].sshAuthorizedKeys[0]: this is not a public key"},
		{"directory on a named file system", of("2.2.0", `"storage": {"filesystems": [{"name": "data", "mount": {"device": "/dev/vdb", "format": "ext4"}}], "directories": [{"path": "/x", "mode": 493, "filesystem": ‸"data"}]}`),
			`error[VS3415]: storage.directories[0].filesystem: specification 3 needs the place`},
		{"link on a named file system", of("2.2.0", `"storage": {"filesystems": [{"name": "data", "mount": {"device": "/dev/vdb", "format": "ext4"}}], "links": [{"path": "/x", "target": "/y", "filesystem": ‸"data"}]}`),
			`error[VS3415]: storage.links[0].filesystem: specification 3 needs the place`},
		{"replaced by what is fetched", `{"ignition": {"version": "2.2.0", "config": {"replace": ‸{"source": "http://example.org/x"}}}}`, "warning[VS3414]: ignition.config.replace: the config that is fetched from here has to be of specification 3"},
		{"hash of version 2.0.0", of("2.0.0", `"storage": {"files": [{"path": "/x", "filesystem": "root", "contents": {"source": "data:,x", "verification": {"hash": ‸"md5-0"}}}]}`), "error[VS3404]: storage.files[0].contents.verification.hash: the hash function is unknown"},
		{"both create and beside", of("2.2.0", `"passwd": {"users": [‸{"name": "a", "gecos": "x", "create": {"gecos": "y"}}]}`), "error[VS3404]: passwd.users[0]: gecos stands in create and beside it"},
	}
	for _, tt := range tests {
		in, places := marked(tt.in)
		c, l := Parse(diag.File("c.ign"), []byte(in))
		found := false
		for _, d := range l {
			bare := d
			bare.Range = diag.Range{}
			found = found || strings.HasPrefix(bare.Error(), tt.want) && d.Range.Start == places[0]
		}
		if !found || strings.Contains(l.Error(), "canary") {
			t.Errorf("%s: want %v: %s, got %v", tt.name, places[0], tt.want, l)
		}
		if c.IsZero() != strings.HasPrefix(tt.want, "error") {
			t.Errorf("%s: the config is %q", tt.name, c.Text())
		}
	}
}

// A file of specification 2 without a mode can be read by root alone, and stays so.
func TestModeIsKept(t *testing.T) {
	c, _ := Parse(diag.File("c.ign"), []byte(of("2.2.0", `"storage": {"files": [{"path": "/x", "filesystem": "root", "contents": {"source": "data:,x"}}]}`)))
	if files := c.Types().Storage.Files; len(files) != 1 || files[0].Mode == nil || *files[0].Mode != 0 {
		t.Errorf("got %s", c.Text())
	}
}

//go:build conformance

package ignconfig_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/internal/judge"
)

// judged is a config, and what the real Ignition makes of it.
type judged struct {
	name, config string
	// fails is in what a guest says when it refuses the author's own bytes, or dies of them.
	fails string
	// want is what must be in the guest: "user:NAME", "group:NAME", "presets", or a path, as the judge describes them. Of
	// a config that fails, it is what the guest has of the config as this package passes it on, if it does.
	want map[string]string
}

// v3 is a config of a version with members.
func v3(version, members string) string {
	return `{"ignition": {"version": "` + version + `"}` + strings.TrimSuffix(", "+members, ", ") + "}"
}

// file is a config with one file, described by members.
func file(members string) string {
	return v3("3.0.0", `"storage": {"files": [{"path": "/etc/x", `+members+`}]}`)
}

func compressed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func merged(version, resource string) string {
	return `{"ignition": {"version": "` + version + `", "config": {"merge": [` + resource + `]}},
		"storage": {"files": [{"path": "/etc/hostname", "overwrite": true, "contents": {"source": "data:,parent"}}]}}`
}

// child overrides the parent's file and adds a user.
const child = `{"ignition":{"version":"3.0.0"},"storage":{"files":[{"path":"/etc/hostname","overwrite":true,"contents":{"source":"data:,child"}}]},` +
	`"passwd":{"users":[{"name":"core","uid":1500}]}}`

func dataURL(text string) string {
	return "data:;base64," + base64.StdEncoding.EncodeToString([]byte(text))
}

func hash(text string) string { return fmt.Sprintf("sha512-%x", sha512.Sum512([]byte(text))) }

// right are configs that a guest applies.
func right() []judged {
	return []judged{
		{"least", v3("3.0.0", ""), "", nil},
		{"text", file(`"contents": {"source": "data:,a%20b"}`), "", map[string]string{"/etc/x": "file 0644 root:root\na b"}},
		{"base64", file(`"contents": {"source": "data:text/plain;charset=utf-8;base64,/wD+"}`), "", map[string]string{"/etc/x": "file 0644 root:root\n\xff\x00\xfe"}},
		{"gzip", file(`"contents": {"compression": "gzip", "source": "data:;base64,` + compressed("unpacked") + `"}`), "",
			map[string]string{"/etc/x": "file 0644 root:root\nunpacked"}},
		{"hash", file(`"contents": {"source": "data:,sure", "verification": {"hash": "` + hash("sure") + `"}}`), "",
			map[string]string{"/etc/x": "file 0644 root:root\nsure"}},
		{"mode", file(`"mode": 384, "contents": {"source": "data:,x"}`), "", map[string]string{"/etc/x": "file 0600 root:root\nx"}},
		{"owner by number", file(`"user": {"id": 1}, "group": {"id": 4}`), "", map[string]string{"/etc/x": "file 0644 daemon:adm\n"}},
		{"owner by name, who comes with the config", v3("3.0.0", `"passwd": {"users": [{"name": "app", "uid": 700, "system": true, "noCreateHome": true}]},
			"storage": {"files": [{"path": "/srv/x", "user": {"name": "app"}, "group": {"name": "app"}}]}`), "",
			map[string]string{"/srv/x": "file 0644 app:app\n", "user:app": "700:app::/home/app:/bin/bash:*:"}},
		{"append", v3("3.0.0", `"storage": {"files": [{"path": "/etc/hostname", "append": [{"source": "data:,one%0A"}, {"source": "data:,two"}]}]}`), "",
			map[string]string{"/etc/hostname": "file 0644 root:root\nlocalhost\none\ntwo"}},
		{"overwrite", v3("3.0.0", `"storage": {"files": [{"path": "/etc/hostname", "overwrite": true, "mode": 420, "contents": {"source": "data:,web"}}]}`), "",
			map[string]string{"/etc/hostname": "file 0644 root:root\nweb"}},
		{"octal digits in decimal", file(`"mode": 644, "contents": {"source": "data:,x"}`), "", map[string]string{"/etc/x": "file 0204 root:root\nx"}},
		{"unknown member", v3("3.0.0", `"networkd": {}, "storage": {"files": [{"path": "/etc/x", "filesystem": "root"}]}`), "", map[string]string{"/etc/x": "file 0644 root:root\n"}},
		{"enabled unit that nothing wants", v3("3.0.0", `"systemd": {"units": [{"name": "a.service", "enabled": true, "contents": "[Service]\nExecStart=/bin/true\n"}]}`), "",
			map[string]string{"presets": "enable a.service"}},
		{"directory", v3("3.0.0", `"storage": {"directories": [{"path": "/srv/a/b", "mode": 488, "group": {"name": "sudo"}}]}`), "",
			map[string]string{"/srv/a/b": "directory 0750 root:sudo", "/srv/a": "directory 0755 root:root"}},
		{"links", v3("3.0.0", `"storage": {"links": [{"path": "/etc/localtime", "target": "../usr/share/zoneinfo/Europe/Paris"}, {"path": "/etc/copy", "target": "/etc/hostname", "hard": true}]}`), "",
			map[string]string{"/etc/localtime": "link ../usr/share/zoneinfo/Europe/Paris", "/etc/copy": "file 0644 root:root\nlocalhost\n"}},
		{"link in place of a file", v3("3.0.0", `"storage": {"links": [{"path": "/etc/hostname", "target": "/run/hostname", "overwrite": true}]}`), "",
			map[string]string{"/etc/hostname": "link /run/hostname"}},
		{"user", v3("3.0.0", `"passwd": {"users": [{"name": "core", "uid": 1200, "gecos": "The One", "homeDir": "/srv/core", "shell": "/bin/sh",
			"groups": ["adm", "sudo"], "passwordHash": "$y$j9T$abc", "sshAuthorizedKeys": ["ssh-ed25519 AAAA a", "ssh-ed25519 BBBB b"]}]}`), "",
			map[string]string{"user:core": "1200:core:The One:/srv/core:/bin/sh:$y$j9T$abc:adm,sudo",
				"/srv/core/.ssh/authorized_keys": "file 0600 core:core\nssh-ed25519 AAAA a\nssh-ed25519 BBBB b\n"}},
		{"keys of root", v3("3.0.0", `"passwd": {"users": [{"name": "root", "sshAuthorizedKeys": ["ssh-ed25519 AAAA a"]}]}`), "",
			map[string]string{"/root/.ssh/authorized_keys": "file 0600 root:root\nssh-ed25519 AAAA a\n", "user:root": "0:root:root:/root:/bin/bash:*:"}},
		{"empty hash, which locks", v3("3.0.0", `"passwd": {"users": [{"name": "a", "uid": 1300, "passwordHash": ""}]}`), "", map[string]string{"user:a": "1300:a::/home/a:/bin/bash:*:"}},
		{"primary group", v3("3.0.0", `"passwd": {"groups": [{"name": "ops", "gid": 800}], "users": [{"name": "a", "uid": 1301, "primaryGroup": "ops"}]}`), "",
			map[string]string{"user:a": "1301:ops::/home/a:/bin/bash:*:", "group:ops": "800"}},
		{"user taken away", v3("3.2.0", `"passwd": {"users": [{"name": "daemon", "shouldExist": false}], "groups": [{"name": "adm", "shouldExist": false}]}`), "",
			map[string]string{"user:daemon": "", "group:adm": ""}},
		{"units", v3("3.0.0", `"systemd": {"units": [{"name": "a.service", "enabled": true, "contents": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"},
			{"name": "b.timer", "mask": true}, {"name": "ssh.service", "enabled": false, "dropins": [{"name": "x.conf", "contents": "[Service]\nNice=1\n"}]}]}`), "",
			map[string]string{"/etc/systemd/system/a.service": "file 0644 root:root\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
				"/etc/systemd/system/b.timer":              "link /dev/null",
				"/etc/systemd/system/ssh.service.d/x.conf": "file 0644 root:root\n[Service]\nNice=1\n",
				"presets": "disable ssh.service, enable a.service"}},
		{"child", merged("3.0.0", `{"source": "`+dataURL(child)+`"}`), "", map[string]string{"/etc/hostname": "file 0644 root:root\nchild", "user:core": "1500:core::/home/core:/bin/bash:*:"}},
		{"child, compressed and hashed", merged("3.1.0", `{"compression": "gzip", "source": "data:;base64,`+compressed(child)+`", "verification": {"hash": "`+hash(child)+`"}}`), "",
			map[string]string{"/etc/hostname": "file 0644 root:root\nchild"}},
		{"replaced", `{"ignition": {"version": "3.0.0", "config": {"replace": {"source": "` + dataURL(child) + `"}}},
			"storage": {"files": [{"path": "/etc/never"}]}}`, "", map[string]string{"/etc/hostname": "file 0644 root:root\nchild", "/etc/never": ""}},
		{"newest that this guest reads", v3("3.3.0", `"storage": {"filesystems": [{"device": "/dev/disk/by-label/none", "format": "none"}]}`), "", nil},
		{"members in the wrong case", `{"Ignition": {"Version": "3.0.0"}, "Storage": {"Files": [{"Path": "/etc/x"}]}}`, "", map[string]string{"/etc/x": "file 0644 root:root\n"}},
	}
}

// wrong are configs that a guest refuses, or dies of.
func wrong() []judged {
	return []judged{
		{"comma too many", `{"ignition": {"version": "3.0.0"}, "passwd": {"users": [{"name": "core"},]}}`, "config is not valid", nil},
		{"mark at the beginning", "\ufeff" + v3("3.0.0", ""), "config is not valid", nil},
		{"more behind it", v3("3.0.0", "") + "}", "config is not valid", nil},
		{"no version", `{"storage": {}}`, "invalid config version", nil},
		{"cloud-config", "#cloud-config\nusers: []\n", "config is not valid", nil},
		{"newer than the guest", v3("3.4.0", ""), "unsupported config version", nil},
		{"relative path", v3("3.0.0", `"storage": {"files": [{"path": "etc/x"}]}`), "config is not valid", nil},
		{"the same path twice", v3("3.0.0", `"storage": {"files": [{"path": "/etc/x"}], "directories": [{"path": "/etc/x"}]}`), "config is not valid", nil},
		{"no URL", file(`"contents": {"source": "hello"}`), "config is not valid", nil},
		{"mode as a text", file(`"mode": "0644"`), "config is not valid", nil},
		{"mode out of range", file(`"mode": 10000`), "config is not valid", nil},
		{"unit without a kind", v3("3.0.0", `"systemd": {"units": [{"name": "a", "enabled": true}]}`), "config is not valid", nil},
		{"unit that is none", v3("3.0.0", `"systemd": {"units": [{"name": "a.service", "contents": "[Service"}]}`), "config is not valid", nil},
		{"the same user twice", v3("3.0.0", `"passwd": {"users": [{"name": "a"}, {"name": "a"}]}`), "config is not valid", nil},
		{"wrong hash", file(`"contents": {"source": "data:,x", "verification": {"hash": "` + hash("y") + `"}}`), "hash verification failed", nil},
		{"wrong hash of a child", merged("3.0.0", `{"source": "`+dataURL(child)+`", "verification": {"hash": "`+hash("y")+`"}}`), "hash verification failed", nil},
		{"child that is broken", merged("3.0.0", `{"source": "`+dataURL("{}")+`"}`), "invalid config version", nil},
		{"child newer than the guest", merged("3.0.0", `{"source": "`+dataURL(v3("3.5.0", ""))+`"}`), "unsupported config version", nil},
		{"file that is in the image", v3("3.0.0", `"storage": {"files": [{"path": "/etc/hostname", "contents": {"source": "data:,web"}}]}`), "A file exists there already", nil},
		{"group that the image lacks", v3("3.0.0", `"passwd": {"users": [{"name": "a", "groups": ["wheel"]}]}`), "group 'wheel' does not exist", nil},
		{"old version", `{"ignition": {"version": "2.2.0"}, "storage": {"files": [{"filesystem": "root", "path": "/etc/x", "mode": 384, "contents": {"source": "data:,x"}}]}}`,
			"unsupported config version", map[string]string{"/etc/x": "file 0600 root:root\nx"}},
		{"old version with a network", `{"ignition": {"version": "2.2.0"}, "networkd": {"units": [{"name": "00-eth.network", "contents": "[Match]\nName=eth0\n"}]}}`,
			"unsupported config version", map[string]string{"/etc/systemd/network/00-eth.network": "file 0644 root:root\n[Match]\nName=eth0\n"}},
		{"old version that appends", `{"ignition": {"version": "2.3.0"}, "storage": {"files": [{"filesystem": "root", "path": "/etc/hostname", "append": true, "contents": {"source": "data:,x"}}]}}`,
			"unsupported config version", map[string]string{"/etc/hostname": "file 0644 root:root\nlocalhost\nx"}},
		{"Butane", "variant: fcos\nversion: 1.4.0\nstorage:\n  files:\n  - path: /etc/x\n    mode: 0600\n    contents: {inline: from Butane}\nsystemd:\n  units:\n  - {name: a.service, mask: true}\n",
			"config is not valid", map[string]string{"/etc/x": "file 0600 root:root\nfrom Butane", "/etc/systemd/system/a.service": "link /dev/null"}},
		{"Butane for Flatcar", "variant: flatcar\nversion: 1.0.0\npasswd:\n  users:\n  - {name: core, uid: 1400, groups: [sudo]}\n",
			"config is not valid", map[string]string{"user:core": "1400:core::/home/core:/bin/bash:*:sudo"}},
	}
}

// The real Ignition of Debian 12 has the last word on what this package says of a config for that guest: what it accepts
// is applied, what it calls an error fails, and what the guest warns of is a warning here as well.
func TestIgnitionAgrees(t *testing.T) {
	program := judge.NewIgnition(t)
	guest, err := ignconfig.ParseGuest("debian-12")
	if err != nil {
		t.Fatal(err)
	}
	cases := slices.Concat(right(), wrong())
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			origin := diag.File("config")
			config, l := ignconfig.Read(origin, []byte(c.config))
			l = append(l, ignconfig.Lint(origin, []byte(c.config), guest)...)
			author := program.Apply(t, []byte(c.config))
			if c.fails != "" && (author.Failed == "" || !strings.Contains(author.Reason, c.fails)) || c.fails == "" && author.Failed != "" {
				t.Fatalf("Ignition fails in %q of %q %q, want %q", author.Failed, author.Reason, author.Errors, c.fails)
			}
			if len(author.Warnings) > 0 && !warned(l) {
				t.Errorf("Ignition warns of %q, and we say only %v", author.Warnings, l)
			}
			if c.fails != "" && c.want == nil {
				// What the image has is not known for sure.
				if !l.HasErrors() && (author.Failed != "files" || !warned(l)) {
					t.Errorf("Ignition fails in %s: %q %q, and we say only %v", author.Failed, author.Reason, author.Errors, l)
				}
				return
			}
			if l.HasErrors() {
				t.Fatal(l.Err())
			}
			got := program.Apply(t, config.Text())
			if got.Failed != "" {
				t.Fatalf("Ignition fails in %s of what we pass on: %s %q\n%s", got.Failed, got.Reason, got.Errors, config.Text())
			}
			holds(t, got, c.want)
		})
	}
	if len(cases) < 50 {
		t.Errorf("only %d configs", len(cases))
	}
}

// warned reports whether there is more than notes.
func warned(l diag.List) bool {
	return slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Severity >= diag.Warning })
}

// holds demands that a file system is as described.
func holds(t *testing.T, r judge.IgnitionResult, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		var got string
		switch kind, rest, _ := strings.Cut(name, ":"); kind {
		case "user":
			got = r.Account(rest)
		case "group":
			got = r.Group(rest)
		case "presets":
			got = strings.Join(r.Presets(), ", ")
		default:
			got = r.Show(name)
		}
		if got != want[name] {
			t.Errorf("%s is %q, want %q", name, got, want[name])
		}
	}
}

package native_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend/native"
	"github.com/vmseed/vmseed/internal/bounded"
)

// bad is one wrong document and the diagnostics that it yields.
type bad struct {
	name string
	// spec is what stands under spec, from line 5 on. A text that begins with a bar is a whole document instead.
	spec string
	// want is line:column, code and a part of the message.
	want []string
	// schema means that the JSON schema refuses the document as well.
	schema bool
}

func (b bad) text() string {
	if whole, ok := strings.CutPrefix(b.spec, "|"); ok {
		return whole
	}
	return "apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: m}\nspec:\n" + b.spec
}

const head = "apiVersion: vmseed.dev/v1alpha1\nkind: Machine\n"

var badInput = []bad{
	{"version", "|apiVersion: vmseed.dev/v2\nkind: Machine\n", []string{"1:13 VS2100 write apiVersion: vmseed.dev/v1alpha1"}, true},
	{"kind", "|apiVersion: vmseed.dev/v1alpha1\nkind: Pod\n", []string{"2:7 VS2100 write kind: Machine"}, false},
	{"no kind", "|apiVersion: vmseed.dev/v1alpha1\n", []string{"1:1 VS2100 write kind: Machine"}, false},
	{"list", "|- a\n- b\n", []string{"1:1 VS1210 a mapping should stand here, not a list"}, false},
	{"no metadata", "|" + head, []string{`1:1 VS2103 the field "name" must be here`}, true},
	{"empty metadata", "|" + head + "metadata:\n", []string{`3:10 VS2103 the field "name"`}, false},
	{"no name", "|" + head + "metadata: {namespace: x}\n", []string{`3:11 VS2103 the field "name"`}, true},
	{"name", "|" + head + "metadata: {name: Web_1}\n", []string{"3:18 VS2101 as Kubernetes takes them"}, true},
	{"name with dots", "|" + head + "metadata: {name: ../x}\n", []string{"3:18 VS2101"}, true},
	{"metadata field", "|" + head + "metadata: {name: m, label: {}}\n", []string{`3:21 VS1215 did you mean "labels"?`}, true},
	{"label", "|" + head + "metadata:\n  name: m\n  labels: {a: 1}\n", []string{"5:15 VS1211 put it into quotes"}, true},
	{"label without a value", "|" + head + "metadata:\n  name: m\n  labels: {a: }\n", []string{`5:15 VS2103 the value of "a" is missing`}, true},
	{"top-level field", "|" + head + "metadata: {name: m}\nsepc: {}\n", []string{`4:1 VS1215 did you mean "spec"?`}, true},
	{"spec is a list", "  - a\n", []string{"5:3 VS1210 a mapping should stand here, not a list"}, true},
	{"metadata under spec", "  name: x\n", []string{"5:3 VS1215 move it to metadata.name"}, true},

	{"unknown field", "  userss: []\n", []string{`5:3 VS1215 did you mean "users"?`}, true},
	{"unknown field, deeper", "  users:\n  - name: a\n    sshAuthorisedKeys: []\n", []string{`7:5 VS1215 did you mean "sshAuthorizedKeys"?`}, true},
	{"item instead of list", "  users: {name: a}\n", []string{"5:10 VS1210 a list should stand here, not a mapping"}, true},
	{"text instead of list", "  packages: {install: nginx}\n", []string{"5:23 VS1210 a list should stand here"}, true},
	{"list instead of text", "  guest: {locale: [a]}\n", []string{"5:19 VS1210 a single value should stand here, not a list"}, true},
	{"empty item", "  users:\n  -\n  - name: a\n", []string{"6:4 VS2103 this item of the list is empty"}, true},
	{"duplicate key", "  dsmode: net\n  dsmode: local\n", []string{"6:3 VS1205 stands twice"}, false},

	{"unquoted mode", "  files:\n  - {path: /a, mode: 0644}\n", []string{"6:22 VS1211 put it into quotes"}, true},
	{"mode of words", "  files:\n  - {path: /a, mode: u=rw}\n", []string{"6:22 VS2101 four octal digits"}, true},
	{"mode out of range", "  files:\n  - {path: /a, mode: \"0888\"}\n", []string{"6:22 VS2101 four octal digits"}, true},
	{"no path", "  files:\n  - content: x\n", []string{`6:5 VS2103 the field "path" must be here`}, true},
	{"relative path", "  files:\n  - path: etc/motd\n", []string{"6:11 VS2101 an absolute path"}, true},
	{"path with ..", "  files:\n  - path: /etc/../motd\n", []string{"6:11 VS2101 an absolute path"}, false},
	{"path with a slash at the end", "  files:\n  - path: /etc/\n", []string{"6:11 VS2101 an absolute path"}, false},
	{"owner", "  files:\n  - {path: /a, owner: \"a:b:c\"}\n", []string{"6:23 VS2101 user or user:group"}, true},
	{"ambiguous text", "  guest: {release: 12.10}\n", []string{"5:20 VS1211 put it into quotes"}, true},
	{"ambiguous word", "  environment:\n  - {name: A, value: yes}\n", []string{"6:22 VS1211 put it into quotes"}, false},
	{"text as boolean", "  packages: {update: \"true\"}\n", []string{"5:22 VS1210 true or false should stand here, not a text"}, true},
	{"text as number", "  hardware: {cpus: two}\n", []string{"5:20 VS1210 a whole number"}, true},
	{"number too small", "  hardware: {cpus: 0}\n", []string{"5:20 VS1213 between 1 and 4096"}, true},
	{"negative id", "  users:\n  - {name: a, uid: -1}\n", []string{"6:20 VS1213 between 0 and 4294967294"}, true},
	{"octal number", "  users:\n  - {name: a, uid: 010}\n", []string{"6:20 VS1211 remove the leading zero"}, false},
	{"size without a number", "  hardware: {memory: lots}\n", []string{"5:22 VS2101 a size of at least one byte"}, true},
	{"size of nothing", "  hardware: {memory: 0Gi}\n", []string{"5:22 VS2101 a size"}, false},
	{"size in SI letters of no unit", "  hardware: {memory: 2GB}\n", []string{"5:22 VS2101 write for example 2Gi"}, true},
	{"size of half a byte", "  hardware: {memory: 0.5}\n", []string{"5:22 VS2101 a size"}, true},
	{"duration without a unit", "  stopGrace: 30\n", []string{"5:14 VS1211"}, true},
	{"duration in days", "  stopGrace: 1d\n", []string{"5:14 VS2101 a duration with units"}, true},

	{"enumeration", "  restartPolicy: always\n", []string{`5:18 VS2102 did you mean "Always"?`}, true},
	{"enumeration, nothing close", "  guest: {os: plan9}\n", []string{"5:15 VS2102 write linux, coreos or windows"}, true},
	{"user name", "  users:\n  - name: a b\n", []string{"6:11 VS2101 a user or group name"}, true},
	{"nameless user", "  users:\n  - shell: /bin/sh\n", []string{"6:5 VS2103 has a name, or is the default user"}, false},
	{"two passwords", "  users:\n  - {name: a, password: x1, passwordHash: y1}\n", []string{"6:5 VS2104 password, passwordHash"}, false},
	{"user twice", "  users:\n  - name: a\n  - name: a\n", []string{`7:11 VS2106 "a" is used twice`}, false},
	{"private key as public key", "  ssh:\n    authorizedKeys: [\"-----BEGIN OPENSSH PRIVATE KEY-----\"]\n", []string{"6:22 VS2101 a public key as OpenSSH writes it"}, true},
	{"date", "  users:\n  - {name: a, expires: \"2024-02-30\"}\n", []string{"6:24 VS2101 a date"}, false},

	{"unquoted MAC", "  network: {nics: [{mac: 52:54:00:12:34:56}]}\n", []string{"5:26 VS1211 base 60"}, false},
	{"short MAC", "  network: {nics: [{mac: \"52:54:00\"}]}\n", []string{"5:26 VS2101 a MAC of one station"}, true},
	{"group MAC", "  network: {nics: [{mac: \"53:54:00:12:34:56\"}]}\n", []string{"5:26 VS2101 a MAC of one station"}, false},
	{"address without a prefix", "  network: {nics: [{addresses: [10.0.0.1]}]}\n", []string{"5:33 VS2101 with the length of its prefix"}, true},
	{"prefix too long", "  network: {nics: [{addresses: [10.0.0.1/33]}]}\n", []string{"5:33 VS2101"}, false},
	{"address with a fifth byte", "  network: {dns: {servers: [1.2.3.4.5]}}\n", []string{"5:29 VS2101 an IP address"}, false},
	{"IPv6 as gateway4", "  network: {nics: [{gateway4: \"fd00::1\"}]}\n", []string{"5:31 VS2101 an IPv4 address"}, true},
	{"route with host bits", "  network: {nics: [{routes: [{to: 10.0.0.1/8}]}]}\n", []string{"5:35 VS2101 host bits"}, false},
	{"route of two families", "  network: {nics: [{routes: [{to: 10.0.0.0/8, via: \"fd00::1\"}]}]}\n", []string{"5:52 VS2107 same family"}, false},
	{"bond of nothing", "  network: {nics: [{name: b, kind: bond}]}\n", []string{"5:20 VS2103 a bond needs NICs"}, false},
	{"bond of a stranger", "  network: {nics: [{name: b, kind: bond, bond: {links: [x]}}]}\n", []string{`5:57 VS2105 there is no NIC "x"`}, false},
	{"vlan on a physical NIC", "  network: {nics: [{name: b, vlan: {link: b, id: 2}}]}\n", []string{"5:36 VS2107 write kind: vlan"}, false},
	{"vlan id", "  network: {nics: [{name: b, kind: vlan, vlan: {link: b, id: 4095}}]}\n", []string{"5:62 VS1213 between 1 and 4094"}, true},

	{"mount of nothing", "  mounts:\n  - path: /srv\n", []string{"6:5 VS2104 one of the fields device, disk, share must be here"}, false},
	{"mount of two things", "  mounts:\n  - {path: /srv, device: x, disk: d}\n", []string{"6:5 VS2104 device, disk exclude", "6:35 VS2105"}, false},
	{"mount of a missing disk", "  disks: [{name: data}]\n  mounts:\n  - {path: /srv, disk: dat}\n", []string{`7:24 VS2105 there is no disk "dat"; there are data`}, false},
	{"blank disk without a size", "  disks: [{name: a, source: {blank: true}}]\n", []string{`5:11 VS2103 the field "size"`}, false},
	{"disk of two sources", "  disks: [{name: a, source: {path: /a, image: b}}]\n", []string{"5:29 VS2104 image, path exclude"}, false},
	{"two root disks", "  disks: [{name: a, root: true}, {name: b, root: true}]\n", []string{"5:50 VS2106 one root disk"}, false},
	{"CPUs", "  hardware: {cpus: 3, sockets: 1, cores: 2, threads: 1}\n", []string{"5:20 VS2107 make 2 CPUs, not 3"}, false},
	{"raw without a layer", "  userData: {raw: true}\n", []string{"5:19 VS2103 needs a layer"}, false},

	{"secure boot without UEFI", "  hardware: {firmware: bios, secureBoot: true}\n", []string{"5:42 VS2107 needs the firmware uefi"}, false},
	{"prepared medium without a path", "  media: [{name: a, kind: prepared}]\n", []string{`5:11 VS2103 the field "path"`}, false},
	{"path of a medium that is made", "  media: [{name: a, kind: secret, path: /a.iso}]\n", []string{"5:41 VS2107 only a prepared medium"}, false},
	{"files of a prepared medium", "  media: [{name: a, kind: prepared, path: /a.iso, files: [{path: /b}]}]\n", []string{"5:58 VS2107 attached as it is"}, false},
	{"file of a medium twice", "  media: [{name: a, kind: payload, files: [{path: /b}, {path: /b}]}]\n", []string{`5:63 VS2106 "/b" is used twice`}, false},
	{"address twice", "  network: {nics: [{addresses: [10.0.0.1/24, 10.0.0.1/16]}]}\n", []string{"5:46 VS2106 10.0.0.1 is listed twice"}, false},
	{"two default users", "  users: [{default: true}, {default: true}]\n", []string{"5:38 VS2106 one default user"}, false},
	{"file system on an image", "  disks: [{name: a, source: {image: b, filesystem: ext4}}]\n", []string{"5:52 VS2107 only a blank disk"}, false},
	{"partition of a share", "  shares: [{name: s, hostPath: /s}]\n  mounts: [{share: s, path: /s, partition: 1}]\n", []string{"6:44 VS2107 only a disk has partitions"}, false},
	{"VLAN of nothing", "  network: {nics: [{name: v, kind: vlan}]}\n", []string{"5:20 VS2103 a VLAN needs"}, false},
	{"broken merge key", "  users:\n  - {<<: oops, name: a}\n", []string{"6:6 VS1215 nothing reads this value"}, false},

	{"command of both kinds", "  runcmd: [{shell: a, args: [b]}]\n", []string{"5:12 VS2104 either `shell` or `args`"}, false},
	{"empty command", "  runcmd: ['']\n", []string{"5:12 VS2104"}, true},
	{"reference of two kinds", "  adminPassword: {secretRef: {name: a, key: b}, base64: YQ==}\n", []string{"5:18 VS2104 exactly one place"}, true},
	{"unknown kind of reference", "  adminPassword: {secretref: {name: a, key: b}}\n", []string{`5:19 VS1215 did you mean "secretRef"?`, "5:18 VS2104"}, true},
	{"reference without a key", "  adminPassword: {secretRef: {name: a}}\n", []string{`5:30 VS2103 the field "key" must be here`}, true},
	{"missing Secret", "  adminPassword: {secretRef: {name: a, key: b}}\n", []string{"5:37 VS2108 Secret default/a"}, false},
	{"bad base64", "  adminPassword: {base64: \"===\"}\n", []string{"5:27 VS1214 not base64"}, false},
	{"tag", "  adminPassword: !vault secret-value\n", []string{"5:18 VS1211 a tag of its own"}, false},
	{"alias bomb", "|" + head + "metadata: {name: m}\na: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n" +
		"c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: [*e, *e, *e, *e, *e, *e, *e, *e, *e]\n",
		nil, false},
}

func TestBadInput(t *testing.T) {
	for _, tt := range badInput {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "alias bomb" {
				if _, l := read(tt.text()); len(l) != 1 || l[0].Code != bounded.CodeTooManyNodes {
					t.Errorf("got %v", l)
				}
				return
			}
			_, l := read(tt.text())
			if len(l) != len(tt.want) {
				t.Fatalf("got %v\nwant %q", l, tt.want)
			}
			for i, want := range tt.want {
				place, rest, _ := strings.Cut(want, " ")
				code, message, _ := strings.Cut(rest, " ")
				got := l[i]
				if got.Range.String() != "in.yaml:"+place || got.Code.String() != code || !strings.Contains(got.Error(), message) || got.Severity != diag.Error {
					t.Errorf("got  %v\nwant in.yaml:%s [%s] … %s", got, place, code, message)
				}
			}
		})
	}
}

func TestMissingKey(t *testing.T) {
	const in = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: default}\nstringData: {b: canary-value}\n---\n" + head +
		"metadata: {name: m}\nspec:\n  adminPassword: {secretRef: {name: a, key: c}}\n"
	_, l := readFile(t, "in.yaml", []byte(in))
	if len(l) != 1 || l[0].Range.String() != "in.yaml:10:45" || l[0].Code != native.CodeResolve || strings.Contains(l[0].Error(), "canary") {
		t.Errorf("got %v", l)
	}
}

func TestCodesAreExplained(t *testing.T) {
	explained := map[diag.Code]bool{}
	for _, e := range native.Codes() {
		explained[e.Code] = e.Title != "" && e.Text != ""
	}
	for c := native.CodeVersion; c <= native.CodeRole; c++ {
		if !explained[c] {
			t.Errorf("%v is not explained", c)
		}
	}
	if len(explained) != int(native.CodeRole-native.CodeVersion)+1 || explained[tree.CodeWrongType] {
		t.Error("a code is explained that is not of this package")
	}
}

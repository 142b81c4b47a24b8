package ignition

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignitiontest"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
)

var update = flag.Bool("update", false, "rewrite the expectations below testdata")

func placed(t testing.TB, m machine.Machine) machine.Machine {
	t.Helper()
	if m.Name == "" {
		m.Name = "vm"
	}
	m, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return m
}

// layer is a document of the author's in a file of its own.
func layer(text string) machine.Layer {
	return machine.Layer{Data: secret.New(text), Origin: diag.File("file")}
}

func userData(texts ...string) machine.UserData {
	var u machine.UserData
	for _, t := range texts {
		u.Layers = append(u.Layers, layer(t))
	}
	return u
}

func shells(lines ...string) (out []machine.Command) {
	for _, l := range lines {
		out = append(out, machine.Command{Shell: l})
	}
	return out
}

type example struct {
	name    string
	m       machine.Machine
	options datasource.Options
}

// author is a config as people write it: with their own spelling and order.
const author = `{
  "passwd": { "users": [ {"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA author"]} ] },
  "ignition": {"version": "3.2.0"}
}
`

func examples() []example {
	static := machine.Network{NICs: []machine.NIC{{Name: "lan", Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}, Gateway4: netip.MustParseAddr("192.0.2.1")}}}
	dhcp := machine.Network{NICs: []machine.NIC{{Name: "lan", DHCP4: true}}}
	on := func(release string, m machine.Machine) machine.Machine {
		m.Guest.Release = release
		return m
	}
	system := machine.Machine{
		Guest:    machine.Guest{Timezone: "Europe/Zurich", Locale: "de_CH.UTF-8"},
		Keyboard: machine.Keyboard{Layout: "ch", Options: "compose:rwin,x y"}, NTP: machine.NTP{Enabled: of(true), Servers: []string{"a.example"}, Pools: []string{"b.example"}},
		CACerts:     []secret.Text{secret.New("CERT ONE"), secret.New("CERT TWO\n")},
		Environment: []machine.Variable{{Name: "A", Value: secret.New("b c%")}, {Name: "QUOTED", Value: secret.New("a\"b\\\n$x")}},
	}
	return []example{
		{"nothing", machine.Machine{}, datasource.Options{}},
		{"author alone", machine.Machine{Ignition: []machine.Layer{layer(author)}}, datasource.Options{}},
		{"author and host name", machine.Machine{Identity: machine.Identity{Hostname: "web", Domain: "example.org"}, Ignition: []machine.Layer{layer(author)}}, datasource.Options{}},
		{"several authors", machine.Machine{UserData: userData(author), Ignition: []machine.Layer{layer("variant: flatcar\nversion: 1.0.0\nstorage: {files: [{path: /x}]}\n")}}, datasource.Options{}},
		{"reporter", machine.Machine{Ignition: []machine.Layer{layer(author)}},
			datasource.Options{Extra: []machine.Layer{layer("#cloud-config\n{}\n"), layer(`{"ignition": {"version": "3.0.0"}, "storage": {"files": [{"path": "/r"}]}}`)}}},
		{"raw", machine.Machine{Identity: machine.Identity{Hostname: "web"}, UserData: machine.UserData{Raw: true, Layers: userData(`{"ignition": {"version": "3.0.0"}}`, author).Layers},
			Ignition: []machine.Layer{layer(author)}, Files: []machine.File{{Path: "/lost", Content: secret.New("x")}}}, datasource.Options{}},
		{"conflict", machine.Machine{Files: []machine.File{{Path: "/a/b", Content: secret.New("x")}},
			Ignition: []machine.Layer{layer(`{"ignition": {"version": "3.2.0"}, "storage": {"links": [{"path": "/a", "target": "/c"}]}}`)}}, datasource.Options{}},
		{"scripts in user-data", machine.Machine{UserData: userData("#!/bin/sh\necho one\n",
			"Content-Type: multipart/mixed; boundary=b\nMIME-Version: 1.0\n\n--b\nContent-Type: text/x-shellscript-per-boot\nContent-Disposition: attachment; filename=\"two words\"\n\n"+
				"#!/usr/bin/env python3\nprint()\n--b\nContent-Type: text/cloud-boothook\n\n#!/bin/sh\necho hook\n--b--\n")}, datasource.Options{}},
		{"users", machine.Machine{
			SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA k"}, GenKeyTypes: []string{"ed25519"}, PasswordAuth: of(false), DisableRoot: of(true)},
			Users: []machine.User{{Name: "a", UID: of(1001), Groups: []string{"wheel", "devs"}, PrimaryGroup: "staff", Password: secret.New("p"), LockPassword: of(true), Sudo: []string{"ALL=(ALL) ALL", "other=(x) y"}},
				{Default: true, ExpirePassword: true, Groups: []string{"docker"}, Sudo: []string{"ALL=(ALL) NOPASSWD:ALL"}}, {Name: "homeless", NoCreateHome: true, SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA h"}, LockPassword: of(true)}},
			Groups: []machine.Group{{Name: "devs", GID: of(2000), Members: []string{"a", "daemon", "core"}}}}, datasource.Options{}},
		{"files", machine.Machine{Files: []machine.File{{Path: "/a", Content: secret.New("one"), Owner: "core:0"}, {Path: "/a", Content: secret.New("two\n"), Append: true, Mode: 0o4755},
			{Path: "/b", Content: secret.New("\x00\xff"), Mode: machine.NoAccess}, {Path: "/c", Content: secret.New("old")}, {Path: "/c", Content: secret.New("new"), Owner: "1000"}, {Path: "/d", Defer: true, Append: true}}}, datasource.Options{}},
		{"system", system, datasource.Options{}},
		{"system on Debian", on("debian-12", system), datasource.Options{}},
		{"system on Flatcar", system, datasource.Options{IgnitionPlatform: "flatcar"}},
		{"static network", machine.Machine{Network: static}, datasource.Options{}},
		{"static network on Flatcar", on("flatcar", machine.Machine{Network: static}), datasource.Options{}},
		{"plain network", machine.Machine{Network: dhcp}, datasource.Options{}},
		{"plain network on Debian", on("debian-12", machine.Machine{Network: dhcp}), datasource.Options{}},
		{"network document", machine.Machine{Network: machine.Network{Document: layer("version: 2\nethernets: {lan: {match: {macaddress: '52:54:00:00:00:01'}, addresses: [192.0.2.7/24]}}\n")}}, datasource.Options{}},
		{"storage", machine.Machine{
			Disks: []machine.Disk{{Name: "data"}, {Name: "big", Bus: "scsi"}}, Shares: []machine.Share{{Name: "share", ReadOnly: true}},
			Storage: machine.Storage{
				Disks: []machine.DiskLayout{{Disk: "data", Wipe: true, Partitions: []machine.Partition{{Label: "one", Size: 64 << 20}, {Number: 1, Type: "swap", Size: 32 << 20, Start: 1 << 20}}},
					{Device: "/dev/nvme0n1", Table: "mbr", Partitions: []machine.Partition{{Type: "efi"}}}},
				Filesystems: []machine.Filesystem{{Disk: "data", Partition: 2, Type: "ext4", Label: "one", Options: []string{"-m", "1"}},
					{Disk: "data", Partition: 1, Type: "swap"}, {Device: "/dev/nvme0n1", Partition: 1, Type: "vfat", Wipe: true}}},
			Mounts: []machine.Mount{{Disk: "data", Partition: 2, Path: "/var/lib/my data", Options: []string{"noatime"}}, {Disk: "big", Path: "/srv"}, {Share: "share", Path: "/mnt/share"},
				{Device: "nas:/export", Path: "/mnt/nas", Type: "nfs"}, {Device: "LABEL=a b", Path: "/mnt/50%", Options: []string{"noauto"}}},
			DeviceLinks: []machine.DeviceLink{{Path: "/dev/my disk", Disk: "data"}}}, datasource.Options{}},
		{"units", machine.Machine{Units: []machine.Unit{{Name: "a.service", Content: secret.New("[Service]\nExecStart=/bin/true\n"), Enabled: of(false)}, {Name: "chronyd.service", Mask: true},
			{Name: "b.timer", DropIns: []machine.DropIn{{Name: "x.conf", Content: secret.New("[Timer]\n")}}}}, NTP: machine.NTP{Enabled: of(false)}}, datasource.Options{}},
		{"commands", machine.Machine{BootCmd: shells("echo boot"), RunCmd: append(shells("echo run"), machine.Command{Args: []string{"echo", "$HOME", "two words"}}),
			Scripts:    []machine.Script{{Name: "z", Content: secret.New("#!/bin/bash -e\n")}, {Name: "a%$ é", Content: secret.New("true\n"), Frequency: "boot"}, {Name: "b", Content: secret.New("\x7fELF"), Frequency: "once"}},
			PhoneHome:  machine.PhoneHome{URL: "http://h/$INSTANCE_ID?a=b&c", Tries: of(3), Post: []string{"hostname", "nonsense"}},
			PowerState: machine.PowerState{Mode: "poweroff", Delay: 61 * time.Second, Message: "it's over", Condition: "test -e /run/x"}}, datasource.Options{}},
	}
}

// TestCompose compares configs and diagnostics of each example with testdata. There the data: URLs are decoded.
func TestCompose(t *testing.T) {
	for _, x := range examples() {
		t.Run(x.name, func(t *testing.T) {
			text, l := Compose(placed(t, x.m), x.options)
			var b strings.Builder
			for _, d := range l.Sorted() {
				fmt.Fprintln(&b, d.Error())
			}
			got := b.String() + "----\n" + readable(t, text.Reveal())
			golden := filepath.Join("testdata", strings.ReplaceAll(x.name, " ", "-")+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// readable indents a config and decodes what its URLs hold, configs that it merges as well.
func readable(t *testing.T, text string) string {
	if text == "" {
		return ""
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var decode func(v any) any
	decode = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = decode(v[i])
			}
		case map[string]any:
			source, ok := v["source"].(string)
			if !ok {
				for k := range v {
					v[k] = decode(v[k])
				}
				return v
			}
			var compression *string
			if c, ok := v["compression"].(string); ok {
				compression = &c
			}
			data, err := ignitiontest.Data(source, compression)
			if err != nil {
				t.Fatal(err)
			}
			var inner any
			if json.Unmarshal(data, &inner) == nil {
				if _, config := inner.(map[string]any); config {
					return decode(inner)
				}
			}
			if !utf8.Valid(data) {
				return fmt.Sprintf("%q", data)
			}
			return strings.Split(string(data), "\n")
		case string:
			if strings.Contains(v, "\n") {
				return strings.Split(v, "\n")
			}
		}
		return v
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(decode(v)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestVerbatim passes a config that nothing is added to: not a byte may change.
func TestVerbatim(t *testing.T) {
	for _, text := range []string{author, `{"ignition":{"version":"3.0.0"}}`, "\n\t {\"ignition\": {\"version\": \"3.5.0\"}, \"passwd\": {\"users\": [{\"name\": \"\\u0063ore\"}]}}\r\n\n",
		`{"ignition": {"version": "3.4.0"}, "unknown": [1, 2.50, null]}`} {
		for name, m := range map[string]machine.Machine{"config": {Ignition: []machine.Layer{layer(text)}}, "user-data": {UserData: userData(text)},
			"raw user-data": {Identity: machine.Identity{Hostname: "x"}, UserData: machine.UserData{Raw: true, Layers: userData(text).Layers}}} {
			got, l := Compose(placed(t, m), datasource.Options{})
			if l.HasErrors() || got.Reveal() != text {
				t.Errorf("%s: %q became %q: %v", name, text, got.Reveal(), l)
			}
		}
		// Beside something generated the author's bytes are a part, unchanged, and the last one.
		got, l := Compose(placed(t, machine.Machine{Identity: machine.Identity{Hostname: "x"}, Ignition: []machine.Layer{layer(text)}}), datasource.Options{})
		children, err := ignitiontest.Children(got.Reveal())
		if err != nil || l.HasErrors() || len(children) != 2 || children[1] != text {
			t.Errorf("%q became a part of %q: %v %v", text, children, err, l)
		}
	}
}

// TestEveryProductIsValid has the official parser accept what is made of machines that state every field, for every
// family of guests; and no message holds a secret.
func TestEveryProductIsValid(t *testing.T) {
	for _, guest := range []string{"", "debian-12", "flatcar", "fcos"} {
		for i, m := range []machine.Machine{machinetest.Full(), machinetest.Generated()} {
			m.Guest.Release = guest
			before := machinetest.Dump(m)
			text, l := Compose(placed(t, m), datasource.Options{Guest: guest})
			if l.HasErrors() {
				t.Fatalf("%s %d: %v", guest, i, l.Err())
			}
			c, err := ignitiontest.Read(text.Reveal())
			if err != nil {
				t.Fatalf("%s %d: %v", guest, i, err)
			}
			if got := c.Files["/etc/files-path"]; got != "files-content-canary\n" {
				t.Errorf("%s %d: the file is %q", guest, i, got)
			}
			if machinetest.Dump(m) != before {
				t.Errorf("%s %d: composing changed the machine", guest, i)
			}
			for _, d := range l {
				if strings.Contains(d.Error(), "canary") {
					t.Errorf("%s %d: a message holds a secret: %v", guest, i, d)
				}
			}
			children, err := ignitiontest.Children(text.Reveal())
			if err != nil || len(children) == 0 || !strings.Contains(children[0], `"version":"3.0.0"`) {
				t.Errorf("%s %d: the generated part is not of the lowest version: %v", guest, i, err)
			}
		}
	}
}

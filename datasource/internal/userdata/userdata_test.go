package userdata

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

var update = flag.Bool("update", false, "rewrite the expectations below testdata")

// layer is a document of the author's in a file of its own.
func layer(text string, merge machine.Merge) machine.Layer {
	return machine.Layer{Data: secret.New(text), Merge: merge, Origin: diag.Origin{Whole: diag.At("user-data", 1, 1)}}
}

func plain(texts ...string) machine.UserData {
	var u machine.UserData
	for _, t := range texts {
		u.Layers = append(u.Layers, layer(t, machine.MergeParts))
	}
	return u
}

func placed(t testing.TB, m machine.Machine) machine.Machine {
	t.Helper()
	if m.Name == "" {
		m.Name = "vm"
	}
	m, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l)
	}
	return m
}

func of[T any](v T) *T { return &v }

const (
	script = "#!/bin/sh\necho user\n"
	config = "#cloud-config\n# the author's comment\nruncmd: [[echo, user]]\nfinal_message: yes\n"
)

func file(path, content string) machine.File {
	return machine.File{Path: path, Content: secret.New(content), Mode: 0o600}
}

// equipped is a machine with one disk on each bus, a share and a link.
func equipped() machine.Machine {
	return machine.Machine{
		Disks:  []machine.Disk{{Name: "virtio", Bus: "virtio"}, {Name: "scsi", Bus: "scsi"}, {Name: "sata", Bus: "sata"}, {Name: "usb", Bus: "usb"}},
		Shares: []machine.Share{{Name: "home", ReadOnly: true}, {Name: "fast", Driver: "virtiofs"}},
		Mounts: []machine.Mount{
			{Disk: "virtio", Path: "/virtio"}, {Disk: "scsi", Partition: 2, Path: "/scsi", Type: "ext4", Options: []string{"noatime"}},
			{Disk: "sata", Partition: 1, Path: "/a b"}, {Disk: "usb", Path: "/usb", Options: []string{"ro"}},
			{Share: "home", Path: "/home", Options: []string{"msize=65536"}}, {Share: "fast", Path: "/fast"},
			{Device: "LABEL=data", Path: "/data", Type: "xfs"},
		},
		DeviceLinks: []machine.DeviceLink{{Path: "/dev/it's", Disk: "virtio"}},
	}
}

type example struct {
	name    string
	m       machine.Machine
	options datasource.Options
}

// stored is a machine whose blank disks are partitioned, and units that use them.
func stored() machine.Machine {
	no, yes := false, true
	return machine.Machine{
		Disks:  []machine.Disk{{Name: "data", Bus: "virtio"}, {Name: "raw", Bus: "scsi"}},
		Mounts: []machine.Mount{{Disk: "data", Partition: 1, Path: "/data", Type: "ext4"}},
		Storage: machine.Storage{
			Disks: []machine.DiskLayout{
				{Disk: "data", Partitions: []machine.Partition{{Number: 1, Label: "it's data", Start: 8 << 20, Size: 512 << 20}, {Type: "swap"}}},
				{Device: "/dev/vdz", Table: "mbr", Wipe: true, Partitions: []machine.Partition{{Type: "efi", Size: 64 << 20, Label: "lost"}, {}}},
			},
			Filesystems: []machine.Filesystem{
				{Disk: "data", Partition: 1, Type: "ext4", Label: "data", Options: []string{"-m", "1", "-E", "a b"}},
				{Disk: "data", Partition: 2, Type: "swap"}, {Disk: "raw", Type: "xfs", Wipe: true}, {Device: "/dev/vdz1", Type: "vfat", Label: "EFI"},
				{Device: "/dev/nvme0n1", Partition: 3, Type: "swap"},
			}},
		Units: []machine.Unit{
			{Name: "web.service", Content: secret.New("[Service]\nExecStart=/bin/web\n"), Enabled: &yes},
			{Name: "old.service", Enabled: &no}, {Name: "bad.service", Mask: true, Content: secret.New("[Service]\n")},
			{Name: "ssh.service", DropIns: []machine.DropIn{{Name: "10-a.conf", Content: secret.New("[Service]\nNice=1\n")}}},
			{Name: "get@.service", Content: secret.New("[Service]\n"), Enabled: &yes},
		},
		RunCmd: []machine.Command{{Shell: "echo behind the units"}},
	}
}

// storedWrong has one mistake for each rule.
func storedWrong() machine.Machine {
	one := func(p machine.Partition) machine.DiskLayout {
		return machine.DiskLayout{Device: "/dev/vdb", Partitions: []machine.Partition{p}}
	}
	return machine.Machine{
		Storage: machine.Storage{
			Disks: []machine.DiskLayout{
				{Disk: "none"}, {Device: "vdb"}, {}, {Device: "/dev/vdb", Table: "apm"}, one(machine.Partition{Type: "lvm"}), one(machine.Partition{Size: 5}),
				one(machine.Partition{Number: 129}), one(machine.Partition{Label: `a"b`}), one(machine.Partition{Label: strings.Repeat("x", 37)}),
				{Device: "/dev/vdc", Table: "mbr", Partitions: []machine.Partition{{}, {}, {}, {}, {}}},
				{Device: "/dev/vdc", Table: "mbr", Partitions: []machine.Partition{{Type: "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F"}}},
			},
			Filesystems: []machine.Filesystem{{Device: "/dev/vdb1", Type: "zfs"}, {Disk: "none", Type: "ext4"}},
		},
		Units: []machine.Unit{{Name: "../x.service"}, {Name: "web"}, {Name: "web.service", DropIns: []machine.DropIn{{Name: "a"}, {Name: "../b.conf"}}}},
	}
}

// examples has one machine for each rule of the package comment and for each group of generated keys.
func examples() []example {
	generated := []machine.File{file("/generated", "g\x00\xff")}
	marked := equipped()
	marked.UserData = plain("#!/bin/sh\n@mark@\n")
	marked.UserData.MountScriptMark = "@mark@"
	bare := marked
	bare.UserData.Layers = plain("@mark@").Layers
	nothing := machine.Machine{UserData: bare.UserData}
	relinked := equipped()
	relinked.UserData = plain("#cloud-config\nmounts:\n- [\"/dev/it's\", /mine]\n- [\"/dev/it's1\", /other]\n")
	withScripts := equipped()
	withScripts.UserData.MountScripts = true
	raw := machine.UserData{Raw: true, Layers: plain(config, "#cloud-config\n{a: 1}\n").Layers}
	return []example{
		{"units and storage", stored(), datasource.Options{}},
		{"wrong units and storage", storedWrong(), datasource.Options{}},
		{"nothing", machine.Machine{}, datasource.Options{}},
		{"verbatim", machine.Machine{UserData: plain(config)}, datasource.Options{}},
		{"verbatim script", machine.Machine{UserData: plain(script)}, datasource.Options{}},
		{"structural merge", machine.Machine{Files: generated, RunCmd: []machine.Command{{Shell: "echo generated"}}, UserData: plain(config)}, datasource.Options{}},
		{"two layers", machine.Machine{UserData: plain(config, "#cloud-config\nruncmd: [other]\nlocale: C\n")}, datasource.Options{}},
		{"Virtlet layers", machine.Machine{UserData: machine.UserData{Layers: []machine.Layer{
			layer("runcmd: [a]\nlocale: C\ngone: 1\n", machine.MergeVirtlet), layer("runcmd: [b]\nlocale: D\ngone: null\n", machine.MergeVirtlet)}}}, datasource.Options{}},
		{"replaced layer", machine.Machine{UserData: machine.UserData{Layers: []machine.Layer{
			layer(config, machine.MergeParts), layer("#cloud-config\nlocale: D\n", machine.MergeReplace)}}}, datasource.Options{}},
		{"multipart", machine.Machine{Files: generated, UserData: plain(script)}, datasource.Options{}},
		{"multipart with scripts", machine.Machine{UserData: plain(config),
			Scripts: []machine.Script{{Name: "b.sh", Content: secret.New(script)}, {Name: "a.sh", Content: secret.New(script), Frequency: "boot"}}}, datasource.Options{}},
		{"no multipart", machine.Machine{Files: generated, UserData: plain(script)}, datasource.Options{NoMultipart: true}},
		{"no multipart, cloud-config", machine.Machine{Files: generated, UserData: plain(config),
			Scripts: []machine.Script{{Name: "a.sh", Content: secret.New(script)}}}, datasource.Options{NoMultipart: true}},
		{"no multipart, empty user-data", machine.Machine{Files: generated, UserData: plain("")}, datasource.Options{NoMultipart: true}},
		{"no multipart, two scripts", machine.Machine{UserData: plain(script, script)}, datasource.Options{NoMultipart: true}},
		{"raw", machine.Machine{Files: generated, Environment: []machine.Variable{{Name: "A", Value: secret.New("b")}}, UserData: raw}, datasource.Options{}},
		{"mark", marked, datasource.Options{}},
		{"bare mark", bare, datasource.Options{}},
		{"mark for nothing", nothing, datasource.Options{}},
		{"relinked", relinked, datasource.Options{}},
		{"mounts and links", withScripts, datasource.Options{}},
		{"missing disks", machine.Machine{Mounts: []machine.Mount{{Disk: "a", Path: "/a"}, {Share: "b", Path: "/b"}},
			DeviceLinks: []machine.DeviceLink{{Path: "/dev/c", Disk: "c"}}}, datasource.Options{}},
		{"same path", machine.Machine{Files: []machine.File{file("/etc/x", "g"), file("/etc/cloud/environment", "g")},
			Environment: []machine.Variable{{Name: "A", Value: secret.New("b c")}},
			UserData:    plain("#cloud-config\nwrite_files: [{path: /etc/./x, content: u}, {path: /other}]\n")}, datasource.Options{}},
		{"user wins", machine.Machine{Guest: machine.Guest{Timezone: "Asia/Tokyo"}, NTP: machine.NTP{Enabled: of(true), Pools: []string{"p"}},
			RunCmd: []machine.Command{{Shell: "x"}}, UserData: plain("#cloud-config\ntimezone: Europe/Rome\nntp: {enabled: no}\nruncmd: text\n")}, datasource.Options{}},
		{"user wins over mappings", machine.Machine{NTP: machine.NTP{Pools: []string{"p"}}, PhoneHome: machine.PhoneHome{URL: "http://h/", Post: []string{"fqdn"}},
			Users:    []machine.User{{Default: true, Name: "deploy", PasswordHash: secret.New("$6$salt$hash")}},
			UserData: plain("#cloud-config\nuser: alice\nchpasswd:\nntp: true\nphone_home: {post: all}\n")}, datasource.Options{}},
		{"user wins in a part", machine.Machine{Guest: machine.Guest{Timezone: "Asia/Tokyo"}, Users: []machine.User{{Default: true, Name: "deploy", PasswordHash: secret.New("$6$salt$hash")}},
			UserData: plain("Content-Type: multipart/mixed; boundary=b\nMIME-Version: 1.0\n\n--b\nContent-Type: text/cloud-config\n\nuser: alice\ntimezone: Europe/Rome\n--b--\n")}, datasource.Options{}},
		{"no login", machine.Machine{SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA k"}}, UserData: plain("#cloud-config\nusers: [{name: u}]\n")}, datasource.Options{}},
		{"login", machine.Machine{SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA k"}}, UserData: plain("#cloud-config\nusers: [{name: default}]\n")}, datasource.Options{}},
		{"users", users(), datasource.Options{}},
		{"default user", machine.Machine{Users: []machine.User{{Default: true, PasswordHash: secret.New("$6$salt$hash"), ExpirePassword: true}}}, datasource.Options{}},
		{"default user, other hash", machine.Machine{Users: []machine.User{{Default: true, Name: "admin", PasswordHash: secret.New("!"), ExpirePassword: true}}}, datasource.Options{}},
		{"default user, expiry alone", machine.Machine{Users: []machine.User{{Default: true, ExpirePassword: true}}}, datasource.Options{}},
		{"system", system(), datasource.Options{}},
		{"bad environment", machine.Machine{Environment: []machine.Variable{{Name: "A", Value: secret.New("\x00")}, {Name: "B", Value: secret.New("\xff")},
			{Name: "C\nD", Value: secret.New("")}, {Name: "", Value: secret.New("")}, {Name: "E", Value: secret.New("a\nb\"$`\\'")}}}, datasource.Options{}},
		{"Ignition", machine.Machine{UserData: plain(`{"ignition": {"version": "3.4.0"}}`)}, datasource.Options{}},
		{"Ignition and files", machine.Machine{Files: generated, UserData: plain(`{"ignition": {"version": "3.4.0"}, "passwd": {"users": [{"name": "u"}]}}`)}, datasource.Options{}},
		{"Butane", machine.Machine{UserData: plain("variant: fcos\nversion: 1.0.0\npasswd: {users: [{name: u}]}\n")}, datasource.Options{}},
		{"Ignition and others", machine.Machine{UserData: machine.UserData{Layers: []machine.Layer{{Data: secret.New("#!/bin/sh\ntrue\n")},
			{Data: secret.New(`{"ignition": {"version": "3.0.0"}, "passwd": {"users": [{"name": "u"}]}}`)}, {Data: secret.New("## template: jinja\n#cloud-config\n{}\n")}}}}, datasource.Options{}},
		{"broken", machine.Machine{Files: generated, UserData: plain("#cloud-config\na: [\n")}, datasource.Options{}},
	}
}

func users() machine.Machine {
	return machine.Machine{
		SSH:    machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA k"}},
		Groups: []machine.Group{{Name: "plain"}, {Name: "filled", Members: []string{"ann"}}, {Name: "numbered", GID: of(7)}},
		Users: []machine.User{
			{Name: "ann", Password: secret.New("sesame"), UID: of(0), Groups: []string{"filled"}, Sudo: []string{"ALL=(ALL) ALL"}, ExpirePassword: true},
			{Name: "cid", PasswordHash: secret.New("*")}, {Name: "dee", PasswordHash: secret.New("plain")},
			{Name: "ben", PasswordHash: secret.New("$y$j9T$salt$hash"), LockPassword: of(true), SSHAuthorizedKeys: []string{"ssh-ed25519 BBBB b"}},
		},
	}
}

func system() machine.Machine {
	return machine.Machine{
		Guest: machine.Guest{Timezone: "UTC", Locale: "no"}, Keyboard: machine.Keyboard{Layout: "no"},
		NTP: machine.NTP{Enabled: of(false)}, Packages: machine.Packages{Update: true, Install: []string{"1.10", "yes"}},
		CACerts: []secret.Text{secret.New("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n")},
		SSH: machine.SSH{DeleteHostKeys: of(false), PasswordAuth: of(false), DisableRoot: of(true), HostKeys: []machine.HostKey{
			{Type: "ed25519", Private: secret.New("private\nkey\n"), Public: "public", Certificate: "certificate"}}},
		BootCmd:    []machine.Command{{Args: []string{"echo", "$HOME", ""}}},
		PhoneHome:  machine.PhoneHome{URL: "http://h/$INSTANCE_ID", Tries: of(0)},
		PowerState: machine.PowerState{Mode: "poweroff", Delay: 61 * time.Second, Timeout: 90 * time.Second, Message: "0", Condition: "true"},
		Files:      []machine.File{{Path: "/a", Content: secret.New("")}, {Path: "/b", Content: secret.New("x"), Mode: machine.NoAccess, Owner: "u:g", Append: true, Defer: true}},
	}
}

// TestUser compares user-data and diagnostics of each example with testdata.
func TestUser(t *testing.T) {
	for _, x := range examples() {
		t.Run(x.name, func(t *testing.T) {
			text, l := User(placed(t, x.m), x.options)
			var b strings.Builder
			for _, d := range l.Sorted() {
				fmt.Fprintln(&b, d.Error())
			}
			got := b.String() + "----\n" + text.Reveal()
			golden := filepath.Join("testdata", strings.NewReplacer(" ", "-", ",", "").Replace(x.name)+".txt")
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

// TestLateFiles defers what a guest would delete while it boots.
func TestLateFiles(t *testing.T) {
	for path, want := range map[string]bool{"/tmp/x": true, "/tmpx": false, "/var/tmp/x": false} {
		m, _ := machine.Place(machine.Machine{Name: "vm", Files: []machine.File{{Path: path}}}, machine.Facts{})
		text, _ := User(m, datasource.Options{})
		if got := strings.Contains(text.Reveal(), "defer: true"); got != want {
			t.Errorf("%s: %s", path, text.Reveal())
		}
	}
}

// TestSalt holds the salt to what it may depend on: a password that changes must not change it.
func TestSalt(t *testing.T) {
	hash := func(change func(*machine.Machine)) string {
		m := machine.Machine{Name: "vm", Users: []machine.User{{Name: "u", Password: secret.New("one")}}}
		change(&m)
		g := generator{m: placed(t, m), list: &diag.List{}}
		return g.hash(g.m.Users[0], "users[0]")
	}
	salt := func(hash string) string { return strings.Split(hash, "$")[2] }
	base := hash(func(*machine.Machine) {})
	if again := hash(func(*machine.Machine) {}); again != base {
		t.Errorf("%s and %s: the same password of the same user", base, again)
	}
	if other := hash(func(m *machine.Machine) { m.Users[0].Password = secret.New("two") }); salt(other) != salt(base) || other == base {
		t.Errorf("%s and %s: want one salt and two hashes", base, other)
	}
	for name, change := range map[string]func(*machine.Machine){
		"user": func(m *machine.Machine) { m.Users[0].Name = "v" }, "machine": func(m *machine.Machine) { m.Name = "w" },
		"namespace": func(m *machine.Machine) { m.Namespace = "n" }, "revision": func(m *machine.Machine) { m.Identity.Revision = 1 },
	} {
		if salt(hash(change)) == salt(base) {
			t.Errorf("another %s has the same salt", name)
		}
	}
}

// TestVendor puts the reporter's part behind the author's.
func TestVendor(t *testing.T) {
	if text, l := Vendor(machine.Machine{}, datasource.Options{}); !text.IsZero() || len(l) > 0 {
		t.Errorf("vendor-data %q, %v", text.Reveal(), l)
	}
	own, extra := layer(config, machine.MergeParts), layer(script, machine.MergeParts)
	one, _ := Vendor(machine.Machine{VendorData: []machine.Layer{own}}, datasource.Options{})
	if one.Reveal() != config {
		t.Errorf("one layer became %q", one.Reveal())
	}
	both, _ := Vendor(machine.Machine{VendorData: []machine.Layer{own}}, datasource.Options{Extra: []machine.Layer{extra}})
	first, second := strings.Index(both.Reveal(), "the author's comment"), strings.Index(both.Reveal(), "echo user\n\n--")
	if first < 0 || second < first {
		t.Errorf("want the author's part, then the extra one:\n%s", both.Reveal())
	}
}

// TestVendorHidden says what the user-data and what is generated hide of the author's vendor-data, and nothing about what
// the reporter adds.
func TestVendorHidden(t *testing.T) {
	vendor := layer("#cloud-config\nruncmd: [[a]]\nwrite_files: [{path: /v}]\nchpasswd: {expire: true, list: [x]}\npassword: v\n", machine.MergeParts)
	extra := layer("#cloud-config\nbootcmd: [[r]]\n", machine.MergeParts)
	mine := plain("#cloud-config\nbootcmd: [[b]]\nruncmd: [[c]]\n")
	replaced := plain("#cloud-config\nruncmd: [[c]]\n", "#cloud-config\nntp: {}\n")
	replaced.Layers[1].Merge = machine.MergeReplace
	for _, tt := range []struct {
		name string
		m    machine.Machine
		want string
	}{
		{"nothing", machine.Machine{}, ""},
		{"user-data", machine.Machine{UserData: mine}, "runcmd"},
		{"generated", machine.Machine{Files: []machine.File{file("/f", "x")}}, "write_files"},
		{"both", machine.Machine{UserData: mine, Files: []machine.File{file("/f", "x")}, RunCmd: []machine.Command{{Args: []string{"d"}}}}, "runcmd write_files"},
		{"raw", machine.Machine{UserData: machine.UserData{Raw: true, Layers: mine.Layers}, Files: []machine.File{file("/f", "x")}}, "runcmd"},
		{"script", machine.Machine{UserData: plain(script)}, ""},
		{"password", machine.Machine{Users: []machine.User{{Default: true, Password: secret.New("canary")}}}, "chpasswd.expire password"},
		{"replaced", machine.Machine{UserData: replaced}, ""},
		{"off", machine.Machine{UserData: plain("#cloud-config\nvendor_data: {enabled: false}\nruncmd: [[c]]\n")}, "the user-data switches vendor-data off"},
	} {
		tt.m.VendorData = []machine.Layer{vendor}
		_, l := Vendor(placed(t, tt.m), datasource.Options{Extra: []machine.Layer{extra}})
		var got []string
		for _, d := range l {
			switch {
			case d.Code != lint.CodeVendor:
			case d.Field == "":
				got = append(got, d.Summary)
			default:
				got = append(got, d.Field)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %v of %v, want %q", tt.name, got, l, tt.want)
		}
	}
}

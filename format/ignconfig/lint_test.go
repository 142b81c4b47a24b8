package ignconfig

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
)

func TestParseGuest(t *testing.T) {
	for name, want := range map[string]struct {
		minor int
		text  string
	}{
		"debian-12": {3, "debian-12 (Ignition 2.14)"}, "debian-13": {3, "debian-13 (Ignition 2.14)"}, "flatcar": {5, "flatcar (Ignition 2.24)"}, "fcos": {6, "fcos (Ignition 2.26)"}, "rhcos": {5, "rhcos"},
		"ocp-4.8": {2, "ocp-4.8"}, "ocp-4.13": {2, "ocp-4.13"}, "ocp-4.14": {4, "ocp-4.14"}, "ocp-4.18": {4, "ocp-4.18"}, "ocp-4.19": {5, "ocp-4.19"}, "ocp-4.22": {5, "ocp-4.22"},
		"ignition=3.0": {0, "an Ignition of specification 3.0.0"}, "ignition=3.3.0": {3, "an Ignition of specification 3.3.0"}, "ignition=3.6": {6, "an Ignition of specification 3.6.0"},
		"ignition=2.0": {0, "Ignition 2.0"}, "ignition=2.2.1": {0, "Ignition 2.2"}, "ignition=2.3": {1, "Ignition 2.3"}, "ignition=2.14.0": {3, "Ignition 2.14"},
		"ignition=2.15": {4, "Ignition 2.15"}, "ignition=2.19": {4, "Ignition 2.19"}, "ignition=2.20": {5, "Ignition 2.20"}, "ignition=2.99": {6, "Ignition 2.99"},
	} {
		g, err := ParseGuest(name)
		if err != nil || g.accepts() != want.minor || g.String() != want.text {
			t.Errorf("%s: accepts %d, is %s, %v", name, g.accepts(), g, err)
		}
	}
	for _, name := range []string{"", "debian", "ubuntu-24.04", "ignition", "ignition=", "ignition=3", "ignition=3.7", "ignition=0.35", "ignition=4.0", "ocp-4.7", "ocp-4.23", "cloud-init=22.4"} {
		if _, err := ParseGuest(name); !errors.Is(err, ErrGuest) {
			t.Errorf("%s is known: %v", name, err)
		}
	}
	if (Guest{}).accepts() != newest || (Guest{}).String() != "Ignition" {
		t.Error("the zero guest refuses something")
	}
	for _, name := range Guests()[:len(Guests())-3] {
		if _, err := ParseGuest(name); err != nil {
			t.Error(err)
		}
	}
	if !slices.Contains(Guests(), "debian-12") {
		t.Errorf("there are %v", Guests())
	}
}

func TestLint(t *testing.T) {
	const (
		kargs   = `{"ignition": {"version": ‸"3.3.0"}, "kernelArguments": {"shouldExist": ["quiet"]}}`
		discard = `{"ignition": {"version": ‸"3.6.0"}, "storage": {"luks": [{"name": "a", "device": "/dev/vdb", "discard": true, "clevis": {"tpm2": true}}]}}`
	)
	tests := []struct {
		name, guest, in string
		want            []string
	}{
		{"as new as the guest", "ignition=3.3", strings.ReplaceAll(kargs, mark, ""), nil},
		{"newer, and nothing needs it", "ignition=3.3", `{"ignition": {"version": ‸"3.4.0"}, "passwd": {"users": [{"name": "core"}]}}`,
			[]string{`error[VS3417]: ignition.version: an Ignition of specification 3.3.0 accepts versions up to 3.3.0, and this is 3.4.0: it stops the boot with "unsupported config version"; nothing in it needs more than 3.0.0: write that`}},
		{"newer, and something needs it", "debian-12", discard,
			[]string{`error[VS3417]: ignition.version: debian-12 (Ignition 2.14) accepts versions up to 3.3.0, and this is 3.6.0: it stops the boot with "unsupported config version"; it uses what exists since 3.4.0; take a guest with a newer Ignition, or do without what needs it`}},
		{"newer than OpenShift", "ocp-4.18", `{"ignition": {"version": ‸"3.5.0"}}`,
			[]string{`error[VS3417]: ignition.version: ocp-4.18 accepts versions up to 3.4.0, and this is 3.5.0: it stops the boot with "unsupported config version"; nothing in it needs more than 3.0.0: write that`}},
		{"newer inside", "ocp-4.18", `{"ignition": {"version": "3.0.0", "config": {"merge": [{"source": ‸"` + data(`{"ignition": {"version": "3.5.0"}}`) + `"}]}}}`,
			[]string{`error[VS3417]: ignition.version: in the config at ignition.config.merge[0], line 1: ocp-4.18 accepts versions up to 3.4.0, and this is 3.5.0: it stops the boot with "unsupported config version"; nothing in it needs more than 3.0.0: write that`}},
		{"Butane", "flatcar", "variant: fcos\nversion: ‸1.7.0\npasswd: {users: [{name: core}]}\n",
			[]string{`error[VS3417]: version: flatcar (Ignition 2.24) accepts versions up to 3.5.0, and this is 3.6.0: it stops the boot with "unsupported config version"; nothing in it needs more than 3.0.0: write version: 1.6.0 of variant fcos`}},
		{"specification 2", "debian-12", `{"ignition": {"version": "2.2.0"}}`, nil},
		{"kernel arguments", "debian-12", strings.Replace(kargs, mark, "", 1)[:len(kargs)-len(mark)-28] + mark + `{"shouldExist": ["quiet"]}}`,
			[]string{"error[VS3418]: kernelArguments: debian-12 (Ignition 2.14) cannot change kernel arguments, and stops the boot; put them on the kernel's command line yourself"}},
		{"group", "debian-12", user(`"groups": ["sudo", ‸"wheel"], "primaryGroup": ‸"staf"`), []string{
			"warning[VS3418]: passwd.users[0].groups[1]: the base system of debian-12 (Ignition 2.14) has no group of this name; unless the image adds it, useradd fails and the boot stops; Debian's group for sudo is called sudo",
			"warning[VS3418]: passwd.users[0].primaryGroup: the base system of debian-12 (Ignition 2.14) has no group of this name; unless the image adds it, useradd fails and the boot stops; make it in passwd.groups"}},
		{"group that is made", "debian-12", with(`"passwd": {"users": [{"name": "core", "groups": ["wheel", "core", "7"]}], "groups": [{"name": "wheel"}]}`), nil},
		{"group elsewhere", "fcos", user(`"groups": ["wheel"]`), nil},
		{"host name", "debian-12", with(`"storage": {"files": [‸{"path": "/etc/hostname", "contents": {"source": "data:,x"}}]}`),
			[]string{`warning[VS3418]: storage.files[0]: images of debian-12 (Ignition 2.14) have /etc/hostname already, and stop the boot here; add "overwrite": true`}},
		{"host name that replaces", "debian-12", with(`"storage": {"files": [{"path": "/etc/hostname", "overwrite": true, "contents": {"source": "data:,x"}}]}`), nil},
		{"a config that is none", "debian-12", `{"ignition": {"version": "3.0.0",}}`, nil},
		{"Butane that is none", "debian-12", "variant: fcos\nversion: 1\n", nil},
	}
	for _, tt := range tests {
		guest, err := ParseGuest(tt.guest)
		if err != nil {
			t.Fatal(err)
		}
		in, places := marked(tt.in)
		l := Lint(diag.File("c.ign"), []byte(in), guest)
		if len(l) != len(tt.want) {
			t.Errorf("%s: got %v", tt.name, l)
			continue
		}
		for i, d := range l {
			where := d.Range.Start
			d.Range = diag.Range{}
			if d.Error() != tt.want[i] || where != places[i] {
				t.Errorf("%s: got %v at %v\nwant %s at %v", tt.name, d.Error(), where, tt.want[i], places[i])
			}
		}
		if said := Lint(diag.Origin{}, []byte(in), Guest{}); len(said) > 0 {
			t.Errorf("%s: a guest that nobody named complains: %v", tt.name, said)
		}
	}
}

package translate_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/translate"
	"github.com/vmseed/vmseed/datasource/internal/userdata"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// inverse is a machine of the fields that a cloud-config holds in words of their own. What userdata makes scripts or files
// of comes back as these.
func inverse(t *testing.T) machine.Machine {
	t.Helper()
	m := machinetest.Generated()
	for _, f := range []machine.Field{"userData", "vendorData", "metaData", "environment", "scripts", "deviceLinks", "units", "storage", "ignition"} {
		machine.Clear(&m, f)
	}
	m, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l)
	}
	return m
}

// TestRoundTrip writes a machine in which every field is set as a cloud-config and translates that: the machine comes
// back, but for what the two forms call by different names.
func TestRoundTrip(t *testing.T) {
	m := inverse(t)
	text, l := userdata.User(m, datasource.Options{})
	if l.HasErrors() {
		t.Fatal(l)
	}
	got, l := translate.CloudConfig(machine.Layer{Data: text}, machine.Machine{})
	for _, d := range l {
		t.Error(d)
	}
	want := machine.Machine{
		Guest: machine.Guest{Timezone: m.Guest.Timezone, Locale: m.Guest.Locale}, Users: m.Users, Groups: m.Groups, SSH: m.SSH, Files: m.Files,
		BootCmd: m.BootCmd, RunCmd: m.RunCmd, Packages: m.Packages, NTP: m.NTP, CACerts: m.CACerts, PhoneHome: m.PhoneHome, PowerState: m.PowerState,
		Keyboard: m.Keyboard,
	}
	differences := machinetest.Diff(want, got)
	expected := []string{
		`- users[0].expirePassword = "true"`,                       // a command does it
		`+ runcmd[2].args[0] = "chage"`,                            //
		`+ runcmd[2].args[1] = "-d"`,                               //
		`+ runcmd[2].args[2] = "0"`,                                //
		`+ runcmd[2].args[3] = "users-name"`,                       //
		`- users[1].password = "users-password-canary"`,            // hashed
		`+ users[1].passwordHash = `,                               //
		`- ssh.authorizedKeys[0] = `, `- ssh.authorizedKeys[1] = `, // in the meta-data
		`- groups[0].gid = "4711"`, // cloud-init has no key for it
		`+ mounts[`,                // by the names that disks have in the guest
	}
	for line := range strings.Lines(differences) {
		known := false
		for _, e := range expected {
			known = known || strings.HasPrefix(line, e)
		}
		if !known {
			t.Errorf("%s", line)
		}
	}
	if !strings.Contains(differences, "runcmd[2]") {
		t.Error("the differences that are expected do not occur")
	}
}

// again writes what was translated, and translates it once more.
func again(t *testing.T, m machine.Machine) (text string, next machine.Machine) {
	t.Helper()
	m.Name = "vm"
	placed, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Skip("no machine that could be placed")
	}
	data, l := userdata.User(placed, datasource.Options{})
	if l.HasErrors() {
		return "", machine.Machine{}
	}
	next, l = translate.CloudConfig(machine.Layer{Data: data}, machine.Machine{})
	if l.HasErrors() {
		t.Fatalf("what was written cannot be read: %v\n%s", l, data.Reveal())
	}
	return data.Reveal(), next
}

// TestFixedPoint translates the documents below testdata, writes the machines as cloud-configs and translates these: from
// then on nothing changes any more.
func TestFixedPoint(t *testing.T) {
	for _, name := range documents(t) {
		m, l := read(name.text)
		if l.HasErrors() {
			continue
		}
		fixedPoint(t, name.path, m)
	}
}

func fixedPoint(t *testing.T, name string, m machine.Machine) {
	t.Helper()
	_, second := again(t, m)
	first, third := again(t, second)
	last, _ := again(t, third)
	if first != last {
		t.Errorf("%s is no fixed point:\n%s\n----\n%s", name, first, last)
	}
	if d := machinetest.Diff(second, third); d != "" && first != "" {
		t.Errorf("%s: %s", name, d)
	}
}

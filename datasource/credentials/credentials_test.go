package credentials

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/datasourcetest"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
)

// TestConformance holds what Expresses says for each release of systemd that reads something else.
func TestConformance(t *testing.T) {
	for _, guest := range []string{"debian-12", "ubuntu-24.04", "systemd=257"} {
		t.Run("guest "+guest, func(t *testing.T) {
			datasourcetest.Run(t, datasourcetest.Config{DataSource: New(), Options: datasource.Options{Guest: guest}})
		})
	}
}

// render renders a machine for a guest and returns its credentials by their names, and what is said about it.
func render(t *testing.T, m machine.Machine, o datasource.Options) (map[string]string, diag.List) {
	t.Helper()
	m, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	s, l := New().Render(m, o)
	out := map[string]string{}
	for _, c := range s.Firmware.Credentials {
		out[c.Name] = c.Content.Reveal()
	}
	return out, l
}

// TestReleases: each release gets the credentials that it reads and no others, and a note stands for what is not known.
func TestReleases(t *testing.T) {
	m := machinetest.Generated()
	m.Guest.Release, m.UserData = "", machine.UserData{}
	m.Files = m.Files[1:]
	for guest, want := range map[string][]string{
		"debian-12":    {"ssh.authorized_keys.root", "sysctl.extra", "system.hostname", "sysusers.extra", "tmpfiles.extra"},
		"ubuntu-24.04": {"fstab.extra", "ssh.authorized_keys.root", "sysctl.extra", "system.hostname", "sysusers.extra", "tmpfiles.extra"},
	} {
		got, l := render(t, m, datasource.Options{Guest: guest})
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) || len(l) > 0 {
			t.Errorf("%s: got %q, want %q; %v", guest, names, want, l)
		}
		if strings.Contains(got["tmpfiles.extra"], "/etc/vmseed/") {
			t.Errorf("%s gets a script that nothing runs", guest)
		}
	}
	newest, _ := render(t, m, datasource.Options{Guest: "systemd=256"})
	unknown, l := render(t, m, datasource.Options{})
	if !maps.Equal(newest, unknown) || len(newest) < 15 {
		t.Errorf("a guest of which nothing is known gets %q", slices.Sorted(maps.Keys(unknown)))
	}
	if !slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Code == CodeRelease && d.Severity == diag.Note }) {
		t.Errorf("nothing says what the guest must have: %v", l)
	}
	for _, old := range []string{"ubuntu-22.04", "systemd=251"} {
		if got, l := render(t, m, datasource.Options{Guest: old}); len(got) > 0 || !l.HasErrors() || l[0].Code != CodeTooOld {
			t.Errorf("%s: %d credentials, %v", old, len(got), l)
		}
	}
}

// TestUserData: a cloud-config is told as far as the guest's systemd goes, and nothing of it is lost in silence.
func TestUserData(t *testing.T) {
	m := machine.Machine{Name: "vm", UserData: machine.UserData{Layers: []machine.Layer{
		{Data: secret.New("#cloud-config\nhostname: web\nruncmd: [touch /x]\npackages: [vim]\n")}, {Data: secret.New("#!/bin/sh\ntouch /y\n")}}}}
	for guest, c := range map[string]struct {
		units int
		lost  []string
	}{
		"debian-13": {2, []string{"packages"}},
		"debian-12": {0, []string{"packages", "runcmd", "scripts of the user-data"}},
	} {
		got, l := render(t, m, datasource.Options{Guest: guest})
		units := 0
		for name := range got {
			if strings.HasPrefix(name, "systemd.extra-unit.") {
				units++
			}
		}
		if units != c.units || got["system.hostname"] != "web" || l.HasErrors() {
			t.Errorf("%s: %d units, host name %q, %v", guest, units, got["system.hostname"], l)
		}
		for _, what := range c.lost {
			if !slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Severity == diag.Warning && strings.Contains(d.Error(), what) }) {
				t.Errorf("%s: nothing says that %s is lost: %v", guest, what, l)
			}
		}
	}
	m.UserData.Layers = []machine.Layer{{Data: secret.New(`{"ignition": {"version": "3.0.0"}}`)}}
	if _, l := render(t, m, datasource.Options{}); !l.HasErrors() {
		t.Error("an Ignition config is passed over")
	}
}

// TestRefused are values that would say something else to systemd. No message shows a secret.
func TestRefused(t *testing.T) {
	for name, m := range map[string]machine.Machine{
		"user":         {Users: []machine.User{{Name: "a b"}}},
		"digits":       {Users: []machine.User{{Name: "1a"}}},
		"comment":      {Users: []machine.User{{Name: "a", Gecos: "a:b"}}},
		"home":         {Users: []machine.User{{Name: "a", Home: "relative"}}},
		"group":        {Users: []machine.User{{Name: "a", Groups: []string{"b\nu evil 0"}}}},
		"primary":      {Users: []machine.User{{Name: "a", PrimaryGroup: "b c"}}},
		"sudo":         {Users: []machine.User{{Name: "a", Sudo: []string{"x\nroot ALL"}}}},
		"hash":         {Users: []machine.User{{Name: "a", PasswordHash: secret.New("canary:0\nroot:x")}}},
		"two users":    {Users: []machine.User{{Name: "a"}, {Name: "a"}}},
		"path":         {Files: []machine.File{{Path: "/a/../b"}}},
		"line break":   {Files: []machine.File{{Path: "/a\nL+ /etc/shadow"}}},
		"owner":        {Files: []machine.File{{Path: "/a", Owner: "a b"}}},
		"two of /root": {Users: []machine.User{{Name: "a", Home: "/x"}}, Files: []machine.File{{Path: "/x"}}},
		"mount":        {Mounts: []machine.Mount{{Device: "/dev/x\n/dev/y", Path: "/m"}}},
		"mount point":  {Mounts: []machine.Mount{{Device: "/dev/x", Path: "m"}}},
		"no such disk": {Mounts: []machine.Mount{{Disk: "x", Path: "/m"}}},
		"link":         {DeviceLinks: []machine.DeviceLink{{Path: "/dev/a", Disk: "x"}}},
		"unit":         {Units: []machine.Unit{{Name: "../x.service", Content: secret.New("[Service]\n")}}},
	} {
		m.Name = "vm"
		got, l := render(t, m, datasource.Options{Guest: "systemd=257"})
		if !l.HasErrors() || len(got) > 0 {
			t.Errorf("%s: %d credentials, %v", name, len(got), l)
		}
		if strings.Contains(fmt.Sprint(l), "canary") {
			t.Errorf("%s: a message shows a secret", name)
		}
	}
}

func TestParseGuest(t *testing.T) {
	for name, want := range map[string]string{"debian-12": "debian-12 (systemd 252)", "systemd=257": "systemd 257", "systemd=257.13-1~deb13u1": "systemd 257",
		"systemd=25": "", "systemd=1000": "", "systemd": "", "fcos": "", "": ""} {
		g, err := ParseGuest(name)
		if want == "" {
			if !errors.Is(err, ErrGuest) {
				t.Errorf("%s: %v, %v", name, g, err)
			}
			continue
		}
		if err != nil || g.String() != want {
			t.Errorf("%s: %v, %v", name, g, err)
		}
	}
}

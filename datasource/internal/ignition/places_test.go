package ignition

import (
	"slices"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignitiontest"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// TestMountsBehindLinks mounts where a path leads on the guest, in the unit and while Ignition runs.
func TestMountsBehindLinks(t *testing.T) {
	for _, x := range []struct{ release, path, where, unit, during string }{
		{"fcos", "/srv/a-b", "/var/srv/a-b", `var-srv-a\x2db.mount`, "/var/srv/a-b"},
		{"ocp-4.18", "/usr/local", "/var/usrlocal", "var-usrlocal.mount", "/var/usrlocal"},
		{"", "/home/core/x", "/var/home/core/x", "var-home-core-x.mount", "/var/home/core/x"},
		{"fcos", "/media/x", "/run/media/x", "run-media-x.mount", ""},
		{"fcos", "/srvx", "/srvx", "srvx.mount", "/srvx"},
		{"fcos", "/var/srv", "/var/srv", "var-srv.mount", "/var/srv"},
		{"debian-12", "/srv/x", "/srv/x", "srv-x.mount", "/srv/x"},
		{"flatcar", "/home", "/home", "home.mount", "/home"},
	} {
		m := machine.Machine{Guest: machine.Guest{Release: x.release}, Disks: []machine.Disk{{Name: "d"}}, Mounts: []machine.Mount{{Disk: "d", Path: x.path}},
			Storage: machine.Storage{Filesystems: []machine.Filesystem{{Disk: "d", Type: "ext4"}}}}
		text, l := Compose(placed(t, m), datasource.Options{})
		c, err := ignitiontest.Read(text.Reveal())
		if err != nil || l.HasErrors() {
			t.Fatal(err, l)
		}
		config := c.Types()
		i := slices.IndexFunc(config.Systemd.Units, func(u types.Unit) bool { return u.Name == x.unit })
		if i < 0 || !strings.Contains(*config.Systemd.Units[i].Contents, "\nWhere="+x.where+"\n") {
			t.Errorf("%s on %q: units %+v", x.path, x.release, config.Systemd.Units)
		}
		during := ""
		if p := config.Storage.Filesystems[0].Path; p != nil {
			during = *p
		}
		if during != x.during {
			t.Errorf("%s on %q is at %q while Ignition runs, want %q", x.path, x.release, during, x.during)
		}
		warned := slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Code == CodePlace && d.Severity == diag.Warning })
		if warned != (x.release == "") {
			t.Errorf("%s on %q: %v", x.path, x.release, l)
		}
	}
}

// TestReadOnly knows what the images of a family write to.
func TestReadOnly(t *testing.T) {
	for _, x := range []struct {
		release, path string
		want          bool
	}{
		{"fcos", "/usr/bin/x", true}, {"fcos", "/usr/local/bin/x", false}, {"fcos", "/etc/x", false}, {"fcos", "/libx", false},
		{"flatcar", "/usr/local/bin/x", true}, {"flatcar", "/opt/bin/x", false}, {"debian-12", "/usr/bin/x", false},
	} {
		if got := familyOf(machine.Machine{Guest: machine.Guest{Release: x.release}}, datasource.Options{}).readOnly(x.path); got != x.want {
			t.Errorf("%s on %s: %v", x.path, x.release, got)
		}
	}
}

// TestEmptied warns of files that the guest's own system hides.
func TestEmptied(t *testing.T) {
	for _, x := range []struct {
		release, path string
		want          bool
	}{
		{"fcos", "/tmp/x", true}, {"flatcar", "/run/x", true}, {"debian-12", "/run/x", true}, {"debian-12", "/tmp/x", false},
		{"fcos", "/tmpx", false}, {"fcos", "/var/tmp/x", false},
	} {
		m := machine.Machine{Guest: machine.Guest{Release: x.release}, Files: []machine.File{{Path: x.path}}}
		_, l := Compose(placed(t, m), datasource.Options{})
		if got := slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Code == CodePlace }); got != x.want {
			t.Errorf("%s on %s: %v", x.path, x.release, l)
		}
	}
}

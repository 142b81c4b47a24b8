package ignition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestSaid lists what an Ignition guest would refuse or not be told, and the code and field by which it is said.
func TestSaid(t *testing.T) {
	file := func(path string) machine.Machine { return machine.Machine{Files: []machine.File{{Path: path}}} }
	user := func(u machine.User) machine.Machine { return machine.Machine{Users: []machine.User{u}} }
	variable := func(name, value string) machine.Machine {
		return machine.Machine{Environment: []machine.Variable{{Name: name, Value: secret.New(value)}}}
	}
	disk := func(l machine.DiskLayout) machine.Machine {
		return machine.Machine{Disks: []machine.Disk{{Name: "d"}}, Storage: machine.Storage{Disks: []machine.DiskLayout{l}}}
	}
	filesystem := func(f machine.Filesystem) machine.Machine {
		return machine.Machine{Disks: []machine.Disk{{Name: "d"}}, Storage: machine.Storage{Filesystems: []machine.Filesystem{f}}}
	}
	mount := func(m machine.Mount) machine.Machine {
		return machine.Machine{Disks: []machine.Disk{{Name: "d"}}, Mounts: []machine.Mount{m}}
	}
	unit := func(u machine.Unit) machine.Machine { return machine.Machine{Units: []machine.Unit{u}} }
	for _, x := range []struct {
		name string
		m    machine.Machine
		want string
	}{
		{"file on a read-only file system", file("/usr/lib/x"), "warning[VS4151]: files[0]: "},
		{"file below a link", file("/lib/x"), "warning[VS4151]: files[0]: "},
		{"mount below a link", mount(machine.Mount{Disk: "d", Path: "/srv/x"}), "warning[VS4151]: mounts[0]: the mount is at /var/srv/x"},
		{"file without a root", file("a"), "error[VS4143]: files[0]: "},
		{"file with dots", file("/a/../b"), "error[VS4143]: files[0]: "},
		{"the root as a file", file("/"), "error[VS4143]: files[0]: "},
		{"user without a name", user(machine.User{}), "error[VS4143]: users[0]: "},
		{"user with a comma", user(machine.User{Name: "a,b"}), "error[VS4143]: users[0]: "},
		{"user of digits", user(machine.User{Name: "123"}), "error[VS4143]: users[0]: "},
		{"user with a long name", user(machine.User{Name: strings.Repeat("a", 33)}), "error[VS4143]: users[0]: "},
		{"comment with a colon", user(machine.User{Name: "a", Gecos: "a:b"}), "error[VS4143]: users[0]: the gecos"},
		{"comment that is an option", user(machine.User{Name: "a", Gecos: "-R"}), "error[VS4143]: users[0]: the gecos"},
		{"home without a root", user(machine.User{Name: "a", Home: "a"}), "error[VS4143]: users[0]: the home"},
		{"shell without a root", user(machine.User{Name: "a", Shell: "sh"}), "error[VS4143]: users[0]: the shell"},
		{"hash with a colon", user(machine.User{Name: "a", PasswordHash: secret.New("$6$canary:x")}), "error[VS4143]: users[0]: the passwordHash"},
		{"number of root", user(machine.User{Name: "a", UID: of(0)}), "error[VS4143]: users[0]: the uid"},
		{"number of the default user", user(machine.User{Name: "a", UID: of(1000)}), "warning[VS4151]: users[0]: "},
		{"two users of a number", machine.Machine{Users: []machine.User{{Name: "a", UID: of(5)}, {Name: "b", UID: of(5)}}}, "error[VS4144]: users[1]: the uid"},
		{"two groups of a number", machine.Machine{Groups: []machine.Group{{Name: "a", GID: of(5)}, {Name: "b", GID: of(5)}}}, "error[VS4144]: groups[1]: the gid"},
		{"number of an image's group", machine.Machine{Groups: []machine.Group{{Name: "docker", GID: of(5)}}}, "warning[VS4140]: groups[0].gid: "},
		{"file below a file", machine.Machine{Files: []machine.File{{Path: "/a/b/c"}, {Path: "/a"}}}, "error[VS4144]: files[0]: /a is a file"},
		{"host name of two lines", machine.Machine{Identity: machine.Identity{Hostname: "a\nb"}}, "error[VS4143]: identity.hostname: "},
		{"user with an option", user(machine.User{Name: "-R"}), "error[VS4143]: users[0]: "},
		{"two users", machine.Machine{Users: []machine.User{{Name: "a"}, {Name: "a"}}}, "error[VS4144]: users[1]: "},
		{"group with a comma", user(machine.User{Name: "a", Groups: []string{"a,b"}}), "error[VS4143]: users[0]: "},
		{"two groups", machine.Machine{Groups: []machine.Group{{Name: "a"}, {Name: "a"}}}, "error[VS4144]: groups[1]: "},
		{"hash that is none", user(machine.User{Name: "a", PasswordHash: secret.New("canary")}), "warning[VS4141]: users[0]: "},
		{"hash", user(machine.User{Name: "a", PasswordHash: secret.New("$6$canary$canary")}), "note[VS4142]: "},
		{"rule of two lines", user(machine.User{Name: "a", Sudo: []string{"a\nb"}}), "error[VS4143]: users[0].sudo: "},
		{"variable without a name", variable("", "canary"), "error[VS4145]: environment[0]: "},
		{"variable that is no text", variable("A", "canary\x00"), "error[VS4145]: environment[0]: "},
		{"variable that log-ins do not get", variable("A", "canary\n"), "warning[VS4145]: environment[0]: "},
		{"time zone that leaves its directory", machine.Machine{Guest: machine.Guest{Timezone: "../shadow"}}, "error[VS4143]: guest.timezone: "},
		{"time server of two words", machine.Machine{NTP: machine.NTP{Servers: []string{"a b"}}}, "error[VS4143]: ntp: "},
		{"host key of no type", machine.Machine{SSH: machine.SSH{HostKeys: []machine.HostKey{{Type: "dsa"}}}}, "error[VS4143]: ssh.hostKeys[0]: "},
		{"host keys that are made anew", machine.Machine{SSH: machine.SSH{DeleteHostKeys: of(true)}}, "note[VS4140]: ssh.deleteHostKeys: "},
		{"types of host keys elsewhere", machine.Machine{Guest: machine.Guest{Release: "flatcar"}, SSH: machine.SSH{GenKeyTypes: []string{"rsa"}}}, "warning[VS4140]: ssh.genKeyTypes: "},
		{"layout of no disk", disk(machine.DiskLayout{Disk: "x"}), "error[VS4146]: storage.disks[0]: "},
		{"layout of no path", disk(machine.DiskLayout{Device: "vdb"}), "error[VS4143]: storage.disks[0]: "},
		{"table of another kind", disk(machine.DiskLayout{Disk: "d", Table: "mbr"}), "warning[VS4147]: storage.disks[0]: "},
		{"partition of odd size", disk(machine.DiskLayout{Disk: "d", Partitions: []machine.Partition{{Size: 1000}}}), "error[VS4147]: storage.disks[0].partitions[0]: "},
		{"partition of no type", disk(machine.DiskLayout{Disk: "d", Partitions: []machine.Partition{{Type: "x"}}}), "error[VS4147]: storage.disks[0].partitions[0]: "},
		{"two layouts of a disk", machine.Machine{Disks: []machine.Disk{{Name: "d"}}, Storage: machine.Storage{Disks: []machine.DiskLayout{{Disk: "d"}, {Device: "/dev/disk/by-id/virtio-d"}}}}, "error[VS4144]: storage.disks[1]: "},
		{"file system of no kind", filesystem(machine.Filesystem{Disk: "d", Type: "ntfs"}), "error[VS4147]: storage.filesystems[0]: "},
		{"mount of no disk", mount(machine.Mount{Disk: "x", Path: "/x"}), "error[VS4146]: mounts[0]: "},
		{"mount of no share", mount(machine.Mount{Share: "x", Path: "/x"}), "error[VS4146]: mounts[0]: "},
		{"mount at no path", mount(machine.Mount{Disk: "d", Path: "x"}), "error[VS4143]: mounts[0]: "},
		{"mount of two lines", mount(machine.Mount{Device: "/dev/x\nExec=y", Path: "/x"}), "error[VS4143]: mounts[0]: "},
		{"two mounts at a path", machine.Machine{Disks: []machine.Disk{{Name: "d"}}, Mounts: []machine.Mount{{Disk: "d", Path: "/x"}, {Device: "/dev/y", Path: "/x"}}}, "error[VS4144]: "},
		{"link to no disk", machine.Machine{DeviceLinks: []machine.DeviceLink{{Path: "/dev/x", Disk: "x"}}}, "error[VS4146]: deviceLinks[0]: "},
		{"unit without a suffix", unit(machine.Unit{Name: "a"}), "error[VS4143]: units[0]: "},
		{"drop-in without a suffix", unit(machine.Unit{Name: "a.service", DropIns: []machine.DropIn{{Name: "x"}}}), "error[VS4143]: units[0].dropIns[0]: "},
		{"script without a name", machine.Machine{Scripts: []machine.Script{{}}}, "error[VS4143]: scripts[0]: "},
		{"script with a slash", machine.Machine{Scripts: []machine.Script{{Name: "../x"}}}, "error[VS4143]: scripts[0]: "},
		{"two scripts", machine.Machine{Scripts: []machine.Script{{Name: "x"}, {Name: "x"}}}, "error[VS4144]: scripts[1]: "},
		{"state of no machine", machine.Machine{PowerState: machine.PowerState{Mode: "sleep"}}, "error[VS4143]: powerState.mode: "},
		{"phone without a number", machine.Machine{PhoneHome: machine.PhoneHome{Post: []string{"all"}}}, "warning[VS4140]: phoneHome: "},
		{"packages of a cloud-config", machine.Machine{UserData: userData("#cloud-config\ntimezone: Asia/Tokyo\npackages: [canary]\n")}, "file:3:11: warning[VS4140]: packages.install: "},
		{"keys from elsewhere", machine.Machine{UserData: userData("#cloud-config\nusers: [{name: u, ssh_import_id: [gh:x]}]\n")}, "warning[VS4140]: users[0].sshImportID: "},
		{"include", machine.Machine{UserData: userData("#include\nhttp://canary\n")}, "file:1:1: error[VS4148]: "},
		{"template", machine.Machine{UserData: userData("## template: jinja\n#cloud-config\n{}\n")}, "file:1:1: error[VS4148]: "},
		{"text", machine.Machine{UserData: userData("canary")}, "file:1:1: error[VS4148]: "},
		{"text as a config", machine.Machine{Ignition: []machine.Layer{layer("canary")}}, "file:1:1: error[VS34"},
		{"config with an error", machine.Machine{Ignition: []machine.Layer{layer("{\n\"ignition\": {\"version\": \"3.0.0\",}}")}}, "file:2:"},
		{"config of version 2", machine.Machine{Ignition: []machine.Layer{layer(`{"ignition": {"version": "2.2.0"}, "passwd": {"users": [{"name": "core"}]}}`)}}, "[VS34"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, l := Compose(placed(t, x.m), datasource.Options{})
			var all strings.Builder
			for _, d := range l {
				fmt.Fprintln(&all, d.Error())
			}
			if !strings.Contains(all.String(), x.want) {
				t.Errorf("want %s in:\n%s", x.want, all.String())
			}
			if strings.Contains(all.String(), "canary") {
				t.Errorf("a message holds a secret:\n%s", all.String())
			}
		})
	}
}

// TestInterpreter takes first lines apart as the kernel does.
func TestInterpreter(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/bash\n": "/bin/bash", "#! /usr/bin/env python3\nx": "/usr/bin/env|python3", "#!/bin/sh -e -u \r\n": "/bin/sh|-e -u",
		"echo\n": "/bin/sh", "": "/bin/sh", "#!bash\n": "/bin/sh", "\x7fELF\x02": "", "#!/bin/x  y": "/bin/x|y",
	} {
		if got := strings.Join(interpreter(text), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestGroupsOfImage: the groups that the image of the named guest lacks are made. Where no distribution is named, the groups
// that are taken for given are said.
func TestGroupsOfImage(t *testing.T) {
	m := placed(t, machine.Machine{
		UserData: userData("#cloud-config\nusers:\n- name: bob\n  groups: [sudo, docker]\n"),
	})
	for _, x := range []struct {
		guest, said, made string
	}{
		{"", `file:3:3: note[VS4152]: the group "docker"`, ""},
		{"debian-12", "", `"groups":[{"name":"docker"}]`},
		{"fcos", "", ""},
	} {
		text, l := Compose(m, datasource.Options{Guest: x.guest})
		said := ""
		for _, d := range l {
			if line := d.Error(); strings.Contains(line, "VS4152") {
				said += line
			}
		}
		if !strings.HasPrefix(said, x.said) || (said == "") != (x.said == "") {
			t.Errorf("%q: said %q, want %q", x.guest, said, x.said)
		}
		if made := strings.Contains(text.Reveal(), `"groups":[{`); made != (x.made != "") || !strings.Contains(text.Reveal(), x.made) {
			t.Errorf("%q: %s", x.guest, text.Reveal())
		}
	}
}

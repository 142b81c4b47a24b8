//go:build conformance

package vmseed_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

const (
	ovirtUUID    = "5d307ca9-b3ef-428c-8861-06e72d69f223"
	ovirtSources = "/etc/cloud/cloud.cfg.d/99_vmseed_datasource.cfg"
	ovirtKey     = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFRoaXMgaXMgYSBrZXkgZm9yIHRlc3RzIG9ubHkh user@example.org"
)

// featurePageVM is the VM of oVirt's feature page on cloud-init: host name, root's password and key, new host keys, time
// zone, three NICs with IPv4 and IPv6 in every form, resolvers and a file, beside a custom script with commands.
func featurePageVM(match string) machine.Machine {
	yes, no := true, false
	nics := []machine.NIC{
		{Name: "nic1", Rename: "eth0", Match: match, Gateway4: netip.MustParseAddr("192.168.2.1"), Gateway6: netip.MustParseAddr("2001::fffa"),
			Addrs: []netip.Prefix{netip.MustParsePrefix("192.168.2.11/24"), netip.MustParsePrefix("2001::1234/64")}},
		{Name: "nic2", Rename: "eth1", Match: match, DHCP4: true, DHCP6: "stateful"},
		{Name: "nic3", Rename: "eth2", Match: match, SLAAC: true},
		{Name: "nic4", Rename: "eth3", Match: match, OnBoot: &no, DHCP4: true},
	}
	return machine.Machine{Name: "cloudinit", Compat: "ovirt", DataSource: "configdrive",
		Identity: machine.Identity{UUID: ovirtUUID, Hostname: "cloudInitInstanceName"},
		Guest:    machine.Guest{Timezone: "Asia/Jerusalem"},
		Users: []machine.User{{Name: "root", PasswordHash: secret.New("$6$salt$aGFzaA"), SSHAuthorizedKeys: []string{ovirtKey}},
			{Name: "ann", PasswordHash: secret.New("$y$j9T$salt$aGFzaA")}},
		SSH:   machine.SSH{DeleteHostKeys: &yes, DisableRoot: &no, PasswordAuth: &yes},
		Files: []machine.File{{Path: "/tmp/testFile1.txt", Content: secret.New("temp content")}, {Path: "/etc/motd", Content: secret.New("Automatic configuration")}},
		Network: machine.Network{NICs: nics, DNS: machine.DNS{Search: []string{"qa.lab", "redhat.com"},
			Servers: []netip.Addr{netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("127.0.0.1")}}},
		UserData: machine.UserData{Layers: []machine.Layer{{Data: secret.New("#cloud-config\nruncmd:\n- [touch, /run/mine]\nwrite_files:\n- {path: /etc/mine, content: mine}\n")}}},
	}
}

// TestOVirtDrive boots that VM with NICs that are found by MAC and by name, and the network in both forms.
func TestOVirtDrive(t *testing.T) {
	for _, r := range judge.Releases(t) {
		for _, match := range []string{"mac", "name"} {
			for _, form := range []string{"", "eni"} {
				t.Run(fmt.Sprintf("%s/%s/%s", r.Name, match, form), func(t *testing.T) {
					m := featurePageVM(match)
					m.Network.Format = form
					req := request(t, m, "configdrive", "iso", datasource.Options{})
					req.Render, req.Reboot = judge.Renderers(), true
					ovirtArrived(t, m, r.Boot(t, req))
				})
			}
		}
	}
}

func ovirtArrived(t *testing.T, m machine.Machine, b judge.BootResult) {
	t.Helper()
	if b.DataSource != "DataSourceConfigDrive" || b.Stage != "local" || b.Mode != "local" || !b.UserDataProcessed || b.Consumed == nil {
		t.Fatalf("%s in stage %s, mode %s: %s", b.DataSource, b.Stage, b.Mode, b.Err)
	}
	if b.InstanceID != ovirtUUID || b.Hostname != m.Identity.Hostname {
		t.Errorf("instance %q, host %q", b.InstanceID, b.Hostname)
	}
	for _, p := range judge.Problems(b.Log) {
		if m.Network.Format == "" || !strings.Contains(p.Message, "Eni network configuration in ConfigDrive is deprecated") {
			t.Errorf("log: %+v", p)
		}
	}
	files := b.Consumed.Files
	for name, want := range map[string]string{"/tmp/testFile1.txt": "temp content", "/etc/motd": "Automatic configuration", "/etc/mine": "mine",
		ovirtSources: "datasource_list: [ NoCloud, ConfigDrive ]\n"} {
		if got := string(files[name].Content); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	nm := string(files["/etc/NetworkManager/conf.d/90-vmseed-onboot.conf"].Content)
	if down := m.Network.NICs[3]; down.Match == "name" && !strings.Contains(nm, "interface-name:=eth3") || down.Match != "name" && !strings.Contains(nm, "mac:52:") {
		t.Errorf("what holds eth3 down: %q", nm)
	}
	config := b.Consumed.Config
	if users := config.Get("users").Items; len(users) != 2 || users[0].Get("name").Text != "root" || users[1].Get("name").Text != "ann" {
		t.Errorf("users %s", config.Get("users").JSON())
	}
	if commands := config.Get("runcmd").Items; len(commands) != 1 || commands[0].Items[1].Text != "/run/mine" {
		t.Errorf("runcmd %s", config.Get("runcmd").JSON())
	}
	for key, want := range map[string]string{"timezone": "Asia/Jerusalem", "ssh_deletekeys": "true", "disable_root": "false", "ssh_pwauth": "true"} {
		if got := config.Get(key).Text; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if b.NetworkSource != "ds" || b.NetworkError != "" || b.MissingNICs != "" {
		t.Errorf("network from %q: %s %s", b.NetworkSource, b.NetworkError, b.MissingNICs)
	}
	for renderer, got := range b.Rendered {
		all := strings.Join(slices.Sorted(maps.Values(got.Files)), "\n")
		for _, want := range []string{"192.168.2.11", "192.168.2.1", "2001::1234", "2001::fffa", "8.8.8.8", "qa.lab", "eth1", "eth2"} {
			if !strings.Contains(strings.ReplaceAll(all, "2001:0::", "2001::"), want) {
				t.Errorf("%s: no %s in\n%s", renderer, want, all)
			}
		}
		if got.Err != "" || strings.Contains(all, "eth3") {
			t.Errorf("%s: %s\n%s", renderer, got.Err, all)
		}
	}
	again := b.Rebooted
	if again == nil || again.DataSource != "DataSourceConfigDrive" || again.InstanceID != ovirtUUID || again.New || len(again.Asked) > 0 || again.Err != "" {
		t.Errorf("the next boot, without the drive: %+v", again)
	}
}

// TestOVirtRevision runs first boot again, and then boots without the drive: the id is not that of the firmware, so
// cloud-init searches, but the two sources of the list only, and it begins no instance with no data.
func TestOVirtRevision(t *testing.T) {
	for _, r := range judge.Releases(t) {
		m := featurePageVM("mac")
		m.Identity.Revision = 2
		req := request(t, m, "configdrive", "iso", datasource.Options{})
		req.DataSources, req.Reboot = []string{"Ec2", "OpenStack", "ConfigDrive", "None"}, true
		b := r.Boot(t, req)
		if b.InstanceID != ovirtUUID+"-r2" || b.Rebooted == nil {
			t.Fatalf("%s: %q %+v", r.Name, b.InstanceID, b.Rebooted)
		}
		if got := b.Rebooted; got.DataSource != "" || !slices.Equal(got.Asked, []string{"DataSourceNoCloud", "DataSourceConfigDrive"}) {
			t.Errorf("%s: %+v", r.Name, got)
		}
	}
}

// TestOVirtNextDrive boots a guest that has been set up with a drive of another instance id. It is looked at, unless the
// guest's own id is that of the firmware: then cloud-init goes on with its cache.
func TestOVirtNextDrive(t *testing.T) {
	for _, r := range judge.Releases(t) {
		for _, tt := range []struct {
			first, next string
			revision    int
			want        string
		}{{"", "", 1, ovirtUUID}, {ovirtUUID + "-r0", "", 1, ovirtUUID + "-r1"}, {"", ovirtUUID + "-r0", 0, ovirtUUID}} {
			m := featurePageVM("mac")
			m.Identity.InstanceID = tt.first
			req := request(t, m, "configdrive", "iso", datasource.Options{})
			m.Identity.InstanceID, m.Identity.Revision = tt.next, tt.revision
			req.Reboot, req.NextDisks = true, request(t, m, "configdrive", "iso", datasource.Options{}).Disks
			got := r.Boot(t, req).Rebooted
			if got == nil || got.InstanceID != tt.want || got.New != (tt.want == ovirtUUID+"-r1") {
				t.Errorf("%s, from %q to %q with revision %d: %+v", r.Name, tt.first, tt.next, tt.revision, got)
			}
		}
	}
}

// TestOVirtRebootWithoutDrive asks systemd's generator of a guest that has been set up and boots without the drive: it
// must not wait for sources on a network, whatever the image's own configuration is.
func TestOVirtRebootWithoutDrive(t *testing.T) {
	dropIn := map[string][]byte{"etc/cloud/cloud.cfg.d/99_vmseed_datasource.cfg": []byte("datasource_list: [ NoCloud, ConfigDrive ]\n")}
	// A server of another make, whose firmware says that it may be a cloud.
	dmi := map[string]string{"system-uuid": ovirtUUID, "system-product-name": "OpenStack Nova", "chassis-asset-tag": "OpenStack Nova"}
	for _, r := range judge.Releases(t) {
		for name, list := range map[string][]string{"the script's own list": nil, "one source": {"ConfigDrive", "None"},
			"sources on a network": {"Ec2", "OpenStack", "GCE", "ConfigDrive", "None"}} {
			without := r.DSIdentify(t, judge.BootRequest{DataSources: list, DMI: dmi})
			with := r.DSIdentify(t, judge.BootRequest{DataSources: list, DMI: dmi, Files: dropIn})
			if with.Enabled {
				t.Errorf("%s, %s: cloud-init runs and searches %v\n%s", r.Name, name, with.DataSources, with.Log)
			}
			if !without.Enabled {
				t.Errorf("%s, %s: the guest would be quiet without the file, so this proves nothing", r.Name, name)
			}
		}
		m := featurePageVM("mac")
		req := request(t, m, "configdrive", "iso", datasource.Options{})
		req.Files, req.Cmdline = map[string][]byte{ovirtSources[1:]: dropIn[ovirtSources[1:]]}, ""
		if got := r.DSIdentify(t, req); !got.Enabled || !slices.Contains(got.DataSources, "ConfigDrive") {
			t.Errorf("%s: with a drive again: %+v", r.Name, got)
		}
	}
}

// TestOVirtFeaturePage boots the document of oVirt's feature page itself: the names of its elements are in no schema, its
// second NIC does not say whether it comes up, and its third asks for IPv6 autoconfiguration.
func TestOVirtFeaturePage(t *testing.T) {
	m := loadExample(t, "ovirt", "", "cloud-init.xml")
	for _, r := range judge.Releases(t) {
		req := request(t, m, "configdrive", "iso", datasource.Options{})
		req.Render, req.Reboot = judge.Renderers(), true
		b := r.Boot(t, req)
		if b.DataSource != "DataSourceConfigDrive" || b.Hostname != "cloudInitInstanceName" || b.Consumed == nil || b.Rebooted.New {
			t.Fatalf("%s: %+v", r.Name, b)
		}
		for _, p := range judge.Problems(b.Log) {
			t.Errorf("%s: %+v", r.Name, p)
		}
		config := b.Consumed.Config
		users := config.Get("users").Items
		if len(users) != 1 || users[0].Get("name").Text != "root" || !strings.HasPrefix(users[0].Get("hashed_passwd").Text, "$6$") ||
			len(users[0].Get("ssh_authorized_keys").Items) != 1 {
			t.Errorf("%s: users %s", r.Name, config.Get("users").JSON())
		}
		if config.Get("timezone").Text != "Asia/Jerusalem" || config.Get("ssh_deletekeys").Text != "true" ||
			string(b.Consumed.Files["/tmp/testFile1.txt"].Content) != "temp content" {
			t.Errorf("%s: %s", r.Name, config.JSON())
		}
		for renderer, got := range b.Rendered {
			all := strings.Join(slices.Sorted(maps.Values(got.Files)), "\n")
			for _, want := range []string{"192.168.2.11", "192.168.2.1", "1234", "fffa", "8.8.8.8", "qa.lab", "eth1", "eth2"} {
				if got.Err != "" || !strings.Contains(all, want) {
					t.Errorf("%s %s: %s; no %s in\n%s", r.Name, renderer, got.Err, want, all)
				}
			}
		}
	}
}

// TestOVirtIgnition has the real Ignition apply what the fields of a form add to a custom script: the script's users and
// files stay, those of the form are merged by name and path, and the network is there whether a NIC has a MAC or a name.
func TestOVirtIgnition(t *testing.T) {
	program := judge.NewIgnition(t)
	no := false
	m := machine.Machine{Name: "fcos", Compat: "ovirt", DataSource: "ignition",
		Guest:    machine.Guest{OS: "coreos", IgnitionPlatform: "openstack", Timezone: "Asia/Jerusalem"},
		Identity: machine.Identity{UUID: ovirtUUID, Hostname: "fcos.example.org"},
		Users:    []machine.User{{Name: "core", Default: true, PasswordHash: secret.New("$6$salt$aGFzaA")}, {Name: "ann"}},
		SSH:      machine.SSH{AuthorizedKeys: []string{ovirtKey}},
		Files:    []machine.File{{Path: "/etc/motd.d/form", Content: secret.New("form\n")}},
		Network: machine.Network{NICs: []machine.NIC{
			{Name: "nic1", Rename: "eth0", Match: "name", Addrs: []netip.Prefix{netip.MustParsePrefix("192.168.2.11/24")}},
			{Name: "nic2", Rename: "eth1", MAC: "52:54:00:aa:00:02", SLAAC: true},
			{Name: "nic3", Rename: "eth2", Match: "name", OnBoot: &no, DHCP4: true}}}}
	const core = "1000:core::/home/core:/bin/bash:"
	common := map[string]string{
		"/etc/localtime": "link ../usr/share/zoneinfo/Asia/Jerusalem", "/etc/motd.d/form": "file 0644 root:root\nform\n",
		"/home/core/.ssh/authorized_keys": "file 0600 core:core\n" + ovirtKey + "\n",
	}
	for _, tt := range []struct {
		name, script string
		want         map[string]string
	}{
		{"no script", "", map[string]string{"user:core": core + "$6$salt$aGFzaA:", "/etc/hostname": "file 0644 root:root\nfcos.example.org\n"}},
		{"groups alone, no version", `{"ignition": {}, "passwd": {"groups": [{"name": "deploy", "gid": 1500}]}}`,
			map[string]string{"user:core": core + "$6$salt$aGFzaA:", "group:deploy": "1500"}},
		{"storage without files", `{"ignition": {"version": "3.0.0"}, "storage": {"directories": [{"path": "/etc/foo", "mode": 493}]}}`,
			map[string]string{"/etc/foo": "directory 0755 root:root", "/etc/hostname": "file 0644 root:root\nfcos.example.org\n"}},
		{"the same user and another", `{"ignition": {"version": "3.0.0"}, "passwd": {"users": [{"name": "core", "passwordHash": "$y$j9T$own$aGFzaA"}, {"name": "bob"}]}}`,
			map[string]string{"user:core": core + "$y$j9T$own$aGFzaA:", "user:bob": "1002:bob::/home/bob:/bin/bash:*:"}},
		{"the same file", `{"ignition": {"version": "3.0.0"}, "storage": {"files": [{"path": "/etc/hostname", "overwrite": true, "contents": {"source": "data:,own"}}]}}`,
			map[string]string{"/etc/hostname": "file 0644 root:root\nown"}},
		{"specification 2", `{"ignition": {"version": "2.2.0"}, "storage": {"files": [{"filesystem": "root", "path": "/foo/bar", "mode": 420, "contents": {"source": "data:,example%20file%0A"}}]}}`,
			map[string]string{"/foo/bar": "file 0644 root:root\nexample file\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := m
			if tt.script != "" {
				m.Ignition = []machine.Layer{{Data: secret.New(tt.script)}}
			}
			m, l := machine.Place(m, machine.Facts{})
			if l.HasErrors() {
				t.Fatal(l.Err())
			}
			config := ignitionOf(t, m, "ignition", "")
			r := program.Apply(t, config)
			if r.Failed != "" || len(r.Warnings) > 0 {
				t.Fatalf("Ignition fails in %q of %s %q, warns of %q\n%s", r.Failed, r.Reason, r.Errors, r.Warnings, config)
			}
			want := maps.Clone(common)
			maps.Copy(want, tt.want)
			for name, want := range want {
				got := r.Show(name)
				if user, ok := strings.CutPrefix(name, "user:"); ok {
					got = r.Account(user)
				} else if group, ok := strings.CutPrefix(name, "group:"); ok {
					got = r.Group(group)
				}
				if got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			const connections = "/etc/NetworkManager/system-connections/"
			for name, lines := range map[string][]string{
				"eth0": {"interface-name=eth0", "address1=192.168.2.11/24"}, "eth1": {"mac-address=52:54:00:aa:00:02", "[ipv6]\nmethod=auto"},
				"eth2": {"interface-name=eth2", "autoconnect=false", "[ipv4]\nmethod=auto"}} {
				for _, line := range lines {
					if text := r.Content(connections + name + ".nmconnection"); !strings.Contains(text, line+"\n") {
						t.Errorf("no %q in the profile of %s: %s", line, name, text)
					}
				}
			}
		})
	}
}

package boot

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

func layers(text string) []machine.Layer { return []machine.Layer{{Data: secret.New(text)}} }

// TestLogin guesses whom people log in as.
func TestLogin(t *testing.T) {
	keys := machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA"}}
	user := func(text string) machine.UserData { return machine.UserData{Layers: layers(text)} }
	for _, c := range []struct {
		name, image, want string
		m                 machine.Machine
	}{
		{"nothing known", "disk.qcow2", "", machine.Machine{SSH: keys}},
		{"image of a file", "/images/debian-12-generic.qcow2", "debian", machine.Machine{SSH: keys}},
		{"image of a registry", "quay.io/containerdisks/ubuntu:24.04", "ubuntu", machine.Machine{SSH: keys}},
		{"release before image", "ubuntu.img", "fedora", machine.Machine{Guest: machine.Guest{Release: "fedora-41"}}},
		{"image that only begins so", "debianish.img", "", machine.Machine{}},
		{"user with keys", "debian.qcow2", "ada", machine.Machine{Users: []machine.User{{Name: "bob"}, {Name: "ada", SSHAuthorizedKeys: []string{"k"}}}}},
		{"user with a password", "debian.qcow2", "bob", machine.Machine{Users: []machine.User{{Name: "bob", Password: secret.New("p")}, {Name: "ada", SSHAuthorizedKeys: []string{"k"}}}}},
		{"user with a hash", "debian.qcow2", "ada", machine.Machine{Users: []machine.User{{Name: "bob"}, {Name: "ada", PasswordHash: secret.New("$6$")}}}},
		{"user that a shell would run", "debian.qcow2", "", machine.Machine{Users: []machine.User{{Name: "$(reboot)", SSHAuthorizedKeys: []string{"k"}}}}},
		{"default user of another name", "debian.qcow2", "admin", machine.Machine{SSH: keys, Users: []machine.User{{Default: true, Name: "admin"}}}},
		{"user-data", "debian.qcow2", "eve", machine.Machine{UserData: user("#cloud-config\nusers: [default, {name: bob}, {name: eve, ssh_authorized_keys: [k]}]\n")}},
		{"user-data without keys", "debian.qcow2", "debian", machine.Machine{UserData: user("#cloud-config\nusers: [default, {name: bob}]\n")}},
		{"user-data with a hash", "debian.qcow2", "eve", machine.Machine{UserData: user("#cloud-config\nusers: [default, {name: bob}, {name: eve, passwd: $6$}]\n")}},
		{"script", "debian.qcow2", "debian", machine.Machine{UserData: user("#!/bin/sh\n")}},
		{"broken user-data", "", "", machine.Machine{UserData: user("#cloud-config\nusers: {a: [\n")}},
		{"Ignition", "", "core", machine.Machine{DataSource: "ignition"}},
		{"Ignition with users", "", "ops", machine.Machine{Ignition: layers(`{"ignition": {"version": "3.0.0"}, "passwd": {"users": [{"name": "x"}, {"name": "ops", "sshAuthorizedKeys": ["k"]}]}}`)}},
		{"Butane as user-data", "", "ops", machine.Machine{UserData: user("variant: fcos\nversion: 1.5.0\npasswd: {users: [{name: ops, ssh_authorized_keys: [k]}]}\n")}},
		{"Ignition with a hash", "", "ops", machine.Machine{Ignition: layers(`{"ignition": {"version": "3.0.0"}, "passwd": {"users": [{"name": "ops", "passwordHash": "$6$"}]}}`)}},
	} {
		if got := Login(c.m, Options{Image: c.image}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := Login(machine.Machine{DataSource: "ignition"}, Options{Login: "ops"}); got != "ops" {
		t.Errorf("the image's own: %q", got)
	}
}

// TestDocumented takes the addresses of the author's network document for those of the NICs.
func TestDocumented(t *testing.T) {
	nics := []machine.NIC{{Name: "a", MAC: "02:00:00:00:00:01", Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/24")}}, {Name: "b", MAC: "02:00:00:00:00:02"}}
	const static = "addresses: [10.20.30.40/24], "
	for _, c := range []struct{ name, document, want string }{
		{"by MAC", "version: 2\nethernets: {x: {match: {macaddress: \"02:00:00:00:00:02\"}, " + static + "gateway4: 10.20.30.1}}\n",
			"192.0.2.9/24 ; 10.20.30.40/24 10.20.30.1"},
		{"by order", "version: 2\nethernets: {eth0: {dhcp4: true}, eth1: {" + static + "routes: [{to: 0.0.0.0/0, via: 10.20.30.254}]}}\n", "; 10.20.30.40/24 10.20.30.254"},
		{"version 1", "version: 1\nconfig: [{type: physical, name: eth0, subnets: [{type: static, address: 10.20.30.40/24, gateway: 10.20.30.1}]}]\n", "10.20.30.40/24 10.20.30.1; "},
		{"bridge", "version: 2\nethernets: {eth0: {}}\nbridges: {br0: {interfaces: [eth0], " + static + "dhcp4: false}}\n", "10.20.30.40/24 ; "},
		{"of no NIC", "version: 2\nethernets: {x: {match: {macaddress: \"02:00:00:00:00:03\"}, " + static + "dhcp4: false}}\n", "192.0.2.9/24 ; \nwarning"},
		{"broken", "version: 2\nethernets: [", "192.0.2.9/24 ; "},
		{"none", "", "192.0.2.9/24 ; "},
	} {
		m := machine.Machine{Network: machine.Network{NICs: nics}}
		if c.document != "" {
			m.Network.Document = machine.Layer{Data: secret.New(c.document)}
		}
		var l diag.List
		var got []string
		for _, n := range documented(m, &l) {
			text := ""
			for _, a := range n.Addrs {
				text += a.String() + " "
			}
			if n.Gateway4.IsValid() {
				text += n.Gateway4.String()
			}
			got = append(got, text)
		}
		said := strings.Join(got, "; ")
		for _, d := range l {
			said += "\n" + d.Severity.String()
		}
		if strings.ReplaceAll(said, " ", "") != strings.ReplaceAll(c.want, " ", "") {
			t.Errorf("%s: %q, want %q", c.name, said, c.want)
		}
		if nics[1].Addrs != nil {
			t.Fatalf("%s: the machine itself was changed", c.name)
		}
	}
}

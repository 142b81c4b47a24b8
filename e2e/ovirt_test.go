//go:build e2e

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/testguest"
)

// ovirtSeed is the document of oVirt's page on cloud-init, word for word but for its key, which the page cuts short. Its
// password opens the console.
func ovirtSeed(t *testing.T, f fixtures) scenario {
	document := read(t, filepath.Join("..", "examples", "ovirt", "cloud-init.xml"))
	before, rest, found := strings.Cut(document, "<key>")
	_, after, _ := strings.Cut(rest, "</key>")
	if !found {
		t.Fatal("the example has no key")
	}
	return scenario{
		name: "oVirt XML of seed 004, ConfigDrive", vm: "cloudInitInstanceName", console: testguest.Login{User: "root", Password: "myPass"},
		args: size(writeFile(t, "vm.xml", before+"<key>"+f.public+"</key>"+after), "--image", f.image,
			// Of the networks only this one has router advertisements.
			"--net", "user", "--accel", "tcg"),
		output: []string{"config-2 by iso", "first boot went well"},
		never:  "myPass",
		checks: func(t *testing.T, v *vm) []check {
			return slices.Concat(placed(t, v), ovirtSeedChecks(), ovirtSeedNetwork())
		},
	}
}

func ovirtSeedChecks() []check {
	return []check{
		{"cloud-init's own verdict", "cloud-init status", "status: done"},
		{"data source", "cloud-id", "configdrive"},
		{"host name", "hostname", "cloudInitInstanceName"},
		{"keys of root", "awk '{print $NF}' /root/.ssh/authorized_keys; stat -c '%a %U' /root/.ssh/authorized_keys", "operator@e2e\n600 root"},
		{"log-in by password", "sshd -T | grep '^passwordauthentication'", "passwordauthentication yes"},
		{"host keys of this boot", "find /etc/ssh -name 'ssh_host_*_key' -newer /var/lib/dpkg/status | grep -c ed25519", "1"},
		{"time zone", "readlink -f /etc/localtime; timedatectl show -p Timezone --value", "/usr/share/zoneinfo/Asia/Jerusalem\nAsia/Jerusalem"},
		{"file", "cat /tmp/testFile1.txt", "temp content"},
		{"no user for the setup", "awk -F: '$3 >= 1000 && $3 < 65000' /etc/passwd | wc -l", "0"},
		{"the password does not expire", "passwd -S root | cut -d' ' -f2; chage -l root | sed -n 's/^Password expires.*: //p'", "P\nnever"},
	}
}

func ovirtSeedNetwork() []check {
	return []check{
		{"NICs", "ls /sys/class/net", "eth0\neth1\neth2\nlo"},
		{"IPv4 of eth0", "ip -o -4 address show dev eth0 | awk '{print $4}'", "192.168.2.11/24"},
		{"IPv6 of eth0", "ip -o -6 address show dev eth0 scope global | awk '{print $4}'", "2001::1234/64"},
		{"default routes of eth0", "ip -4 route show default dev eth0 | awk '{print $3}'; ip -6 route show default dev eth0 proto static | awk '{print $3}'", "192.168.2.1\n2001::fffa"},
		{"IPv4 of eth1 by DHCP", "ip -o -4 address show dev eth1 scope global | awk '{print $4}'", "169.254.2.15/16"},
		{"no IPv4 on eth2", "ip -o -4 address show dev eth2 | wc -l", "0"},
		{"IPv6 of eth2 by router advertisement", "ip -o -6 address show dev eth2 scope global | awk '{print substr($4, 1, 9)}'", "fd00:ec2:"},
		{"DNS servers", "resolvectl --no-pager dns | grep -o '8.8.8.8 127.0.0.1' | sort -u", "8.8.8.8 127.0.0.1"},
		{"DNS search", "resolvectl --no-pager domain | grep -o 'qa.lab redhat.com' | sort -u", "qa.lab redhat.com"},
	}
}

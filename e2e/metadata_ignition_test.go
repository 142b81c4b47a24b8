//go:build e2e

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ignitionServed is a guest of Ignition that is led to its config by a kernel argument, and fetches it before there is a
// root file system.
func ignitionServed(t *testing.T, f fixtures) scenario {
	definition := writeFile(t, "coreos.yaml", `apiVersion: vmseed.dev/v1alpha1
kind: Machine
metadata: {name: coreos, namespace: cloud}
spec:
  dataSource: ignition
  identity: {hostname: coreos}
  metadataOptions: {seal: true}
  users:
  - name: core
    sshAuthorizedKeys: ["`+f.public+`"]
  files:
  - {path: /etc/motd, mode: "0644", content: "fetched\n"}
  - {path: /etc/large, mode: "0600", content: "`+strings.Repeat("0123456789abcdef", 8<<10)+`"}
  units:
  # What ip=dhcp stands for is made in the initramfs. systemd 252 makes it once more here, and fails on its own files.
  - name: systemd-network-generator.service
    dropIns:
    - {name: once.conf, content: "[Unit]\nConditionPathExistsGlob=!/run/systemd/network/*\n"}
`)
	const config = "curl -s -o /dev/null -w '%{http_code}' http://169.254.169.254/ignition/config.ign"
	return scenario{
		name: "Ignition over HTTP", vm: "coreos", user: "core",
		args:   ignitionGuest(f, "quiet", definition, "--delivery", "metadata"),
		output: []string{"HTTP at http://169.254.169.254/", "Ignition 2.14.0", "platform metal", "first boot went well"},
		checks: func(t *testing.T, v *vm) []check {
			return slices.Concat(placed(t, v), []check{
				{"key of core", "awk '{print $NF}' /home/core/.ssh/authorized_keys", "operator@e2e"},
				{"host name", "hostname", "coreos"},
				file("/etc/motd", "644", "root:root", "fetched"),
				{"large file", "stat -c '%a %s' /etc/large", "600 131072"},
				{"kernel arguments", "grep -o 'ignition.config.url=[^ ]*' /proc/cmdline", "ignition.config.url=http://169.254.169.254/ignition/config.ign"},
				{"IPv4 by DHCP", "ip -o -4 address show scope global | wc -l", "1"},
				{"withdrawn after the first boot", config, "404"},
				{"no other protocol", "curl -s -o /dev/null -w '%{http_code}' http://169.254.169.254/latest/meta-data/", "404"},
			})
		},
		then: func(t *testing.T, v *vm) {
			heard(t, v, "cloud_coreos")
			v.ask(t, "echo by-hand >/etc/hostname")
			v.must(t, answerLimit, "restart", v.name)
			v.must(t, bootLimit, "wait", v.name, "--timeout", bootLimit.String())
			v.examine(t, []check{
				{"files are not written again", "hostname", "by-hand"},
				{"Ignition does not run again", "grep -c ignition.firstboot /proc/cmdline", "0"},
				{"still withdrawn", config, "404"},
			})
		},
	}
}

// ignitionFetches is a guest of the platform openstack, which asks OpenStack's service, and ends where Ignition has ended.
func ignitionFetches(t *testing.T, f fixtures) scenario {
	config := writeFile(t, "motd.ign", `{"ignition": {"version": "3.0.0"}, "storage": {"files": [
		{"path": "/etc/motd", "overwrite": true, "contents": {"source": "data:,from%20the%20service"}}]}}`)
	return scenario{
		name: "Ignition over OpenStack's service", vm: "fetches",
		args: ignitionGuest(f, "quiet vmseed.stop ip=dhcp rd.neednet=1", config, "--hostname", "fetches", "--ignition-platform", "openstack",
			"--delivery", "metadata"),
		status: 4,
		output: []string{"HTTP at http://169.254.169.254/", "it was shut down"},
		then: func(t *testing.T, v *vm) {
			disk := filepath.Join(t.TempDir(), "disk.raw")
			tool(t, nil, "qemu-img", "convert", "-O", "raw", filepath.Join(v.dir, "default_fetches", "disk0.qcow2"), disk)
			if got := tool(t, nil, "debugfs", "-R", "cat /etc/motd", disk); !strings.HasSuffix(got, "from the service") {
				t.Errorf("on the guest's disk /etc/motd is %q", got)
			}
		},
	}
}

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/testguest"
)

// credentialsMachine is a definition of what Debian 12's systemd, version 252, reads as credentials, and of one thing that it
// does not. Its guest lets root in by any password, which no credential can set there. The file named large has a
// size; with one there is a host key as well.
func credentialsMachine(t *testing.T, f fixtures, name string, large int) string {
	hostKey := ""
	if large > 0 {
		key := strings.ReplaceAll(strings.TrimSpace(read(t, f.key)), "\n", "\n        ")
		hostKey = "    hostKeys:\n    - type: ed25519\n      public: " + f.public + "\n      private: |\n        " + key + "\n"
	}
	return writeFile(t, name+".yaml", fmt.Sprintf(`apiVersion: vmseed.dev/v1alpha1
kind: Machine
metadata: {name: %s}
spec:
  dataSource: credentials
  guest: {release: debian-12, timezone: Europe/Zurich, locale: de_CH.UTF-8}
  identity: {hostname: %[1]s, domain: example.org}
  disks:
  - {name: root, root: true}
  - {name: tests, serial: tests, readOnly: true}
  groups:
  - {name: staff-of-web, gid: 4711}
  users:
  - name: alice
    gecos: Alice "Al" Liddell, 100%%
    shell: /bin/bash
    groups: [sudo, staff-of-web]
    sudo: ["ALL=(ALL) NOPASSWD:ALL"]
    sshAuthorizedKeys: [%[2]s]
  ssh:
    authorizedKeys: [%[2]s]
    passwordAuth: false
%[3]s  files:
  - {path: /etc/motd, content: "hello from a credential\n", mode: "0640", owner: "alice:staff-of-web"}
  - {path: /home/alice/.config/app/settings, content: "50%% \\ of it\n", owner: "alice:alice", mode: "4751"}
  - {path: /var/large, content: "%[4]s"}
  - path: /etc/pam.d/login
    content: |
      auth optional pam_exec.so expose_authtok quiet /bin/true
      auth required pam_permit.so
      account required pam_permit.so
      session required pam_permit.so
  runcmd:
  - {shell: "touch /never"}
`, name, f.public, hostKey, strings.Repeat("x", large)))
}

// testsDisk is a disk with the supervisor's tests, for a guest whose kernel has what this host's may lack.
func testsDisk(t *testing.T) string {
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "tests.raw")
	build := exec.Command("go", "test", "-c", "-o", filepath.Join(dir, "supervisor.test"), "../internal/supervisor")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	tool(t, nil, "mke2fs", "-q", "-t", "ext4", "-L", "tests", "-d", dir, path, "96M")
	return path
}

// TestCredentials boots a stock guest, in which nobody but systemd itself reads a seed, with the same machine by both ways into
// its firmware. The large file of the second has no room in what it reads of the SMBIOS tables.
func TestCredentials(t *testing.T) {
	for program, debianPackage := range map[string]string{"qemu-system-x86_64": "qemu-system-x86", "ssh-keygen": "openssh-client",
		"mke2fs": "e2fsprogs", "qemu-img": "qemu-utils"} {
		need(t, program, debianPackage)
	}
	program := build(t)
	f := fixtures{image: testguest.Disk(t), key: filepath.Join(t.TempDir(), "key")}
	tool(t, nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "operator@e2e", "-f", f.key)
	f.public = strings.TrimSpace(read(t, f.key+".pub"))
	tests := testsDisk(t)

	for _, way := range []struct {
		name, vm       string
		large          int
		strings, items string
	}{
		{"SMBIOS", "by-smbios", 0, "5", "0"},
		{"fw_cfg", "by-fw-cfg", 50_000, "0", "5"},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			v := newVM(t, program, way.vm)
			v.console = testguest.Login{User: "root", Password: "any"}
			said := map[string]string{"SMBIOS": "credentials by SMBIOS", "fw_cfg": "credentials by fw_cfg"}[way.name]
			firstBoot(t, v, scenario{name: "credentials by " + way.name,
				args: size(credentialsMachine(t, f, way.vm, way.large), "--image", f.image, "--volume", "tests="+tests, "--accel", "tcg",
					// On a busy host a service may need more than the 90 seconds that systemd gives it.
					"--fail-on", "error"),
				// What this systemd cannot be told is said before the boot, and what it was told has worked.
				output: []string{said, "runcmd[0].shell", "first boot went well"}})
			for _, a := range v.inspect(t).Plan.Attempts {
				if line := strings.Join(a.Args, " "); strings.Contains(line, "io.systemd.credential.binary") || strings.Contains(line, "operator@e2e") {
					t.Errorf("a credential stands on QEMU's command line: %s", line)
				}
			}
			v.examine(t, credentialsChecks(f, way.vm, way.large, way.strings, way.items))
		})
	}
}

func credentialsChecks(f fixtures, name string, large int, strings, items string) []check {
	return []check{
		{"systemd", "systemctl --version | sed -n 's/^systemd \\([0-9]*\\).*/\\1/p'", "252"},
		{"OEM strings", "cat /sys/firmware/dmi/entries/11-0/raw 2>/dev/null | tr '\\0' '\\n' | grep -ac 'io.systemd.credential.binary:'", strings},
		{"items", "ls /sys/firmware/qemu_fw_cfg/by_name/opt/io.systemd.credentials 2>/dev/null | wc -l", items},
		{"credentials", "ls -I vmm.notify_socket /run/credentials/@system", "ssh.authorized_keys.root\nsysctl.extra\nsystem.hostname\nsysusers.extra\ntmpfiles.extra"},
		{"cloud-init stays off", "cloud-init status; test -e /run/cloud-init/enabled || echo off", "status: disabled\noff"},
		{"host name", "cat /proc/sys/kernel/hostname /etc/hostname", name + ".example.org\n" + name + ".example.org"},
		{"time zone", "readlink -f /etc/localtime", "/usr/share/zoneinfo/Europe/Zurich"},
		{"locale", "cat /etc/default/locale", "LANG=de_CH.UTF-8"},
		{"account", "getent passwd alice; id -Gn alice; getent group staff-of-web | cut -d: -f3; stat -c '%a %U:%G' /home/alice",
			"alice:x:1000:1000:Alice \"Al\" Liddell, 100%:/home/alice:/bin/bash\nalice sudo staff-of-web\n4711\n700 alice:alice"},
		{"sudo", "stat -c '%a %U' /etc/sudoers.d/90-vmseed; sudo -u alice sudo -n id -u", "440 root\n0"},
		file("/home/alice/.ssh/authorized_keys", "600", "alice:root", f.public),
		file("/root/.ssh/authorized_keys", "600", "root:root", f.public),
		file("/etc/motd", "640", "alice:staff-of-web", "hello from a credential"),
		file("/home/alice/.config/app/settings", "4751", "alice:alice", `50% \ of it`),
		{"directories of the home", "stat -c '%U:%G' /home/alice/.config /home/alice/.config/app", "alice:alice\nalice:alice"},
		{"large file", "wc -c </var/large", fmt.Sprint(large)},
		{"SSH server's keys", "ls /etc/ssh/ssh_host_*_key 2>/dev/null | wc -l", map[bool]string{true: "1", false: "0"}[large > 0]},
		{"SSH server's settings", "grep -c '^PasswordAuthentication no' /etc/ssh/sshd_config.d/05-vmseed.conf", "1"},
		{"instance id", `[ "$(cat /run/vmseed/instance-id)" = "$(tr A-F a-f </sys/class/dmi/id/product_uuid)" ] && echo that of the UUID`, "that of the UUID"},
		{"no commands", "ls /never /etc/vmseed 2>/dev/null | wc -l", "0"},
		// Without a key the SSH server does not start.
		{"no other unit failed", "systemctl --failed --no-legend --plain | grep -vc '^ssh.service'", "0"},
		// The channel of newer ones: this kernel has the loopback of virtio sockets.
		{"virtio sockets", "modprobe vsock_loopback && mkdir /run/t && mount -o ro LABEL=tests /run/t && /run/t/supervisor.test -test.run 'TestVsock$' -test.v | grep -c '^--- PASS'", "1"},
	}
}

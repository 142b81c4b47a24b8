//go:build e2e

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// ignitionConsole is the kernel's command line of a guest that Ignition sets up, which has no boot loader to give it one.
// vmseed adds what Ignition itself needs.
const ignitionConsole = "root=LABEL=root rw console=ttyS0 mitigations=off no_timer_check systemd.firstboot=off "

// ignitionGuest are the arguments for such a guest.
func ignitionGuest(f fixtures, kernel string, args ...string) []string {
	return size(append(args, "--image", f.ignition.image, "--kernel", f.ignition.kernel, "--initrd", f.ignition.initrd,
		"--append", ignitionConsole+kernel, "--accel", "tcg")...)
}

// ignitionSeed is the VirtualMachine of KubeVirt's page on Ignition, with the comma mended and a second key for its user.
// The config reaches the guest over fw_cfg.
func ignitionSeed(t *testing.T, f fixtures) scenario {
	examples := filepath.Join("..", "examples", "kubevirt")
	const key = `kboumedh@bumblefoot"`
	text := strings.Replace(read(t, filepath.Join(examples, "myvm1-mended.yml")), key, key+",\n"+strings.Repeat(" ", 20)+`"`+f.public+`"`, 1)
	return scenario{
		name: "KubeVirt VM, Ignition, fw_cfg", vm: "myvm1", user: "core",
		args:   ignitionGuest(f, "quiet", writeFile(t, "myvm1.yml", text), filepath.Join(examples, "kubevirt-config.yaml")),
		output: []string{"VS3414", "opt/com.coreos/config by fw_cfg", "Ignition 2.14.0", "platform qemu", "first boot went well"},
		checks: func(t *testing.T, v *vm) []check {
			return slices.Concat(placed(t, v), []check{
				{"keys of core", "awk '{print $NF}' /home/core/.ssh/authorized_keys; stat -c '%a %U' /home/core/.ssh/authorized_keys",
					"kboumedh@bumblefoot\noperator@e2e\n600 core"},
				{"host name", "hostname", "myvm1"},
				{"no cloud-init", "command -v cloud-init || echo none", "none"},
				{"fw_cfg", "wc -l </sys/firmware/qemu_fw_cfg/by_name/opt/com.coreos/config/raw; ls /dev/disk/by-label", "0\nroot"},
				{"IPv4 by DHCP", "ip -o -4 address show scope global | wc -l", "1"},
			})
		},
		then: ignitionOnce,
	}
}

// ignitionOnce starts the VM again: Ignition runs at the first boot only.
func ignitionOnce(t *testing.T, v *vm) {
	first := v.inspect(t).State.FirstBoot
	if first == nil || first.Source != "agent" || first.Result == nil || !first.Result.FirstBoot || len(first.Result.HostKeys) == 0 {
		t.Fatalf("vmseed inspect says of the first boot: %+v", first)
	}
	v.ask(t, "echo by-hand >/etc/hostname")
	if !t.Run("second boot", func(t *testing.T) {
		start := time.Now()
		v.must(t, answerLimit, "restart", v.name)
		v.must(t, bootLimit, "wait", v.name, "--timeout", bootLimit.String())
		t.Logf("second boot: %.0f s", time.Since(start).Seconds())
	}) {
		return
	}
	second := v.inspect(t).State.FirstBoot
	if second == nil || second.Result == nil || second.Result.FirstBoot || !slices.Equal(first.Result.HostKeys, second.Result.HostKeys) {
		t.Errorf("vmseed inspect says of the second boot: %+v", second)
	}
	v.examine(t, []check{
		{"files are not written again", "hostname", "by-hand"},
		{"kernel arguments", "grep -o 'ignition[^ ]*' /proc/cmdline", "ignition.platform.id=qemu"},
	})
}

// ignitionMachine is a machine in words of its own for a guest that reads a config drive: accounts, files, units, a second
// disk to part and format, a network, and a config of the author's that merges another.
func ignitionMachine(t *testing.T, f fixtures) scenario {
	definition := strings.NewReplacer("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBq2ZHpnNsR1W0O2cYtqVZ3rGfVgkDq7mQ2Jm1nNw0fT alice@example.org", f.public,
		"timezone: Europe/Zurich", "timezone: Europe/Zurich\n    release: debian-12").
		Replace(read(t, filepath.Join("..", "examples", "ignition", "server.yaml")))
	return scenario{
		name: "machine, Ignition, config drive", vm: "vault", user: "core",
		args:   ignitionGuest(f, "quiet", writeFile(t, "server.yaml", definition), "--ignition-platform", "kubevirt"),
		output: []string{"config-2 by iso", "Ignition 2.14.0", "platform kubevirt", "first boot went well"},
		checks: func(t *testing.T, v *vm) []check {
			return slices.Concat(placed(t, v), ignitionMachineChecks())
		},
	}
}

func ignitionMachineChecks() []check {
	const disk = "/dev/disk/by-id/virtio-archive-part"
	return []check{
		{"host name", "hostname; cat /etc/hostname", "vault.lab.example.org\nvault.lab.example.org"},
		{"time zone", "timedatectl show -p Timezone --value", "Europe/Zurich"},
		{"user keeper", "getent passwd keeper; passwd -S keeper | cut -d' ' -f2; getent group archive",
			"keeper:x:1850:850:Keeps the archive:/home/keeper:/bin/bash\nL\narchive:x:850:"},
		{"key of core", "awk '{print $NF}' /home/core/.ssh/authorized_keys", "operator@e2e"},
		file("/etc/motd", "644", "root:root", "The archive, 100% of it."),
		{"binary file", "stat -c '%a %U:%G' /etc/archive/key; base64 /etc/archive/key", "400 keeper:archive\nAAECAwQF/w=="},
		file("/etc/motd.d/merged", "644", "root:root", "merged"),
		{"merged link", "readlink /etc/archive/current", "/var/archive"},
		{"partitions", "lsblk -n -o PARTLABEL,SIZE,FSTYPE,LABEL " + disk + "1 " + disk + "2 | tr -s ' '", "archive 128M ext4 archive\nscratch 127M swap"},
		mounted("/var/archive", disk+"1"),
		{"mount option", "findmnt -n -o OPTIONS /var/archive | tr , '\\n' | grep noatime", "noatime"},
		{"swap", "[ \"$(swapon --show=NAME --noheadings)\" = \"$(readlink -f " + disk + "2)\" ] && echo its partition", "its partition"},
		{"enabled unit", "systemctl is-enabled archive.service; systemctl is-active archive.service; cat /var/archive/label", "enabled\nactive\narchive"},
		{"drop-in", "systemctl show -p Nice --value systemd-logind.service", "-1"},
		{"command", "stat -c '%U:%G' /var/archive/inbox", "keeper:archive"},
		{"MAC", "cat /sys/class/net/en*/address", "52:54:00:12:34:56"},
		{"MTU", "cat /sys/class/net/en*/mtu", "1400"},
		{"IPv4 address", "ip -o -4 address show scope global | awk '{print $4}'", "192.0.2.10/24"},
		{"IPv6 address", "ip -o -6 address show scope global | awk '{print $4}'", "2001:db8::10/64"},
		{"default routes", "ip -4 route show default | awk '{print $3}'; ip -6 route show default | awk '{print $3}'", "192.0.2.1\n2001:db8::1"},
		{"DNS", "resolvectl --no-pager dns | sed -n 's/^Link.*: //p'; resolvectl --no-pager domain | sed -n 's/^Link.*: //p'", "192.0.2.53\nlab.example.org"},
	}
}

// ignitionRefused is a config that is newer than the guest, which then powers off: QEMU ends with status 0.
func ignitionRefused(t *testing.T, f fixtures) scenario {
	config := writeFile(t, "newer.ign", `{"ignition": {"version": "3.5.0"}}`)
	return scenario{
		name: "config that Ignition refuses, fw_cfg", vm: "newer",
		args:   ignitionGuest(f, "systemd.journald.forward_to_console=1 rd.shell=0 rd.emergency=poweroff", config, "--hostname", "newer"),
		status: 4,
		output: []string{"finding the seed", "Ignition failed: unsupported config version", "the first boot failed"},
	}
}

// ignitionDies is a config that fails half-way, in a guest that then waits for someone to help it.
func ignitionDies(t *testing.T, f fixtures) scenario {
	config := writeFile(t, "wheel.ign", `{"ignition": {"version": "3.0.0"}, "passwd": {"users": [{"name": "amy", "passwordHash": "$y$canary", "groups": ["wheel"]}]}}`)
	return scenario{
		name: "config that Ignition dies of, config drive", vm: "wheel",
		args: ignitionGuest(f, "systemd.journald.forward_to_console=1 ip=dhcp rd.neednet=1", config, "--hostname", "wheel",
			"--ignition-platform", "openstack"),
		status: 4,
		output: []string{"config-2 by iso", "configuring", "group 'wheel' does not exist", "the first boot failed"},
		never:  "canary",
		then: func(t *testing.T, v *vm) {
			if events := read(t, filepath.Join(v.dir, "default_wheel", "events.jsonl")); strings.Contains(events, "canary") {
				t.Errorf("the password hash is in the events:\n%s", events)
			}
		},
	}
}

// ignitionEnds is a guest that Ignition set up, over another platform, and that powers off without a word: nobody knows
// whether its first boot went well, so it did not.
func ignitionEnds(t *testing.T, f fixtures) scenario {
	config := writeFile(t, "motd.ign", `{"ignition": {"version": "3.0.0"}, "storage": {"files": [
		{"path": "/etc/motd", "overwrite": true, "contents": {"source": "data:,from%20OpenStack"}}]}}`)
	return scenario{
		name: "guest that ends without a word, config drive", vm: "silent",
		args:   ignitionGuest(f, "quiet vmseed.stop ip=dhcp rd.neednet=1", config, "--hostname", "silent", "--ignition-platform", "openstack"),
		status: 4,
		output: []string{"config-2 by iso", "it was shut down"},
		then: func(t *testing.T, v *vm) {
			disk := filepath.Join(t.TempDir(), "disk.raw")
			tool(t, nil, "qemu-img", "convert", "-O", "raw", filepath.Join(v.dir, "default_silent", "disk0.qcow2"), disk)
			if got := tool(t, nil, "debugfs", "-R", "cat /etc/motd", disk); !strings.HasSuffix(got, "from OpenStack") {
				t.Errorf("on the guest's disk /etc/motd is %q", got)
			}
		},
	}
}

//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// seedPod is the pod of Virtlet's documentation, word for word, with flags for what its cluster would have. It lets
// nobody log in, and its "inactive: true" is a warning of cloud-init: a first boot that is done, yet not as asked.
func seedPod(t *testing.T, f fixtures) scenario {
	return scenario{
		name: "seed pod, NoCloud", vm: "ubuntu-vm",
		args: size(filepath.Join(f.examples, "pod.yaml"), filepath.Join(f.examples, "objects.yaml"), "--cni-result", f.cni, "--image", f.image,
			"--volume", "raw="+f.partitioned("raw"), "--volume", "ceph="+f.partitioned("ceph"),
			"--kernel", f.kernel, "--initrd", f.initrd, "--append", rootConsole, "--accel", "tcg"),
		status: 4,
		output: []string{"VS3102", "Invalid cloud-config provided", "the first boot failed"},
		checks: func(t *testing.T, v *vm) []check {
			return slices.Concat(seedPodChecks(), seedPodMounts(), cniNetwork(), placed(t, v))
		},
		then: reboot,
	}
}

func seedPodChecks() []check {
	return []check{
		{"cloud-init's own verdict", "cloud-init status", "status: done"},
		{"host name", "hostname", "ubuntu-vm"},
		{"instance id", "cat /var/lib/cloud/data/instance-id", "foobar"},
		file("/etc/foobar/some-file-from-configmap.conf", "644", "root:root", "# this is a sample config file\n# taken from a configmap"),
		file("/etc/baz/a-file-taken-from-secrets.conf", "644", "root:root", "# some secret content"),
		file("/foobar.txt", "644", "root:root", "this part is from a configmap specified using VirtletCloudInitUserDataSource"),
		{"no other files", "find /etc/foobar /etc/baz -type f | wc -l", "2"},
		{"user cloudy", "getent passwd cloudy | cut -d: -f5; [ $(id -u cloudy) -lt 1000 ] && echo a system user", "Magic Cloud App Daemon User\na system user"},
		{"no default user", "getent passwd debian || echo none", "none"},
		// Without a default user the keys are root's, who may not log in. The two lines of the pod that are no keys are one text.
		{"SSH keys", `sed 's/^.*" ssh/ssh/' /root/.ssh/authorized_keys | sort; stat -c %a /root/.ssh/authorized_keys`,
			"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKqrq6urq6urq6urq6urq6urq6urq6urq6urq6urq6ur operator@vmseed.example\n" +
				"ssh-rsa AAAA... [email protected]\n600"},
		{"mount script", "stat -c '%a %U:%G' /etc/cloud/mount-volumes.sh; sh -n /etc/cloud/mount-volumes.sh && echo sound", "755 root:root\nsound"},
	}
}

// seedPodMounts hold after every boot.
func seedPodMounts() []check {
	const disk = "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_"
	return []check{
		mounted("/var/lib/docker", disk+"extra-part1"),
		mounted("/var/lib/postgresql", disk+"raw-part1"),
		mounted("/cephdata", disk+"ceph-part1"),
		{"the right contents", "findmnt -n -o LABEL /var/lib/postgresql; findmnt -n -o LABEL /cephdata", "raw\nceph"},
		{"size of the new disk", "blockdev --getsize64 " + disk + "extra", "2147483648"},
		// The script for guests without udev finds everything mounted, and mounts what is not.
		{"mount script", "umount /cephdata && sh -e /etc/cloud/mount-volumes.sh && findmnt -n -o LABEL /cephdata", "ceph"},
	}
}

// reboot starts the VM again: the mounts are kept, and nothing of the first boot is repeated.
func reboot(t *testing.T, v *vm) {
	first := v.inspect(t).State.FirstBoot
	if first == nil || first.Result == nil || !first.Result.FirstBoot || first.Source != "agent" || first.Result.Instance != "foobar" {
		t.Fatalf("vmseed inspect says of the first boot: %+v", first)
	}
	v.ask(t, `echo changed by hand >/foobar.txt
		echo extra >/var/lib/docker/mark; echo raw >/var/lib/postgresql/mark; echo ceph >/cephdata/mark`)
	if !t.Run("second boot", func(t *testing.T) {
		start := time.Now()
		v.must(t, answerLimit, "restart", v.name)
		v.must(t, bootLimit, "wait", v.name, "--fail-on", "error", "--timeout", bootLimit.String())
		t.Logf("second boot: %.0f s", time.Since(start).Seconds())
	}) {
		return
	}
	second := v.inspect(t).State.FirstBoot
	if second == nil || second.Result == nil || second.Result.FirstBoot {
		t.Errorf("vmseed inspect says of the second boot: %+v", second)
	} else if !slices.Equal(first.Result.HostKeys, second.Result.HostKeys) || len(second.Result.HostKeys) == 0 {
		t.Errorf("the SSH host keys changed from %q to %q", first.Result.HostKeys, second.Result.HostKeys)
	}
	v.examine(t, slices.Concat(onceOnly(), seedPodMounts(), cniNetwork(), placed(t, v)))
}

// extendedPod are the arguments for the second pod of the examples, with a key that can log in.
func extendedPod(t *testing.T, f fixtures, more ...string) []string {
	keys := writeFile(t, "keys.yaml", fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: ssh-keys, namespace: lab}\n"+
		"stringData:\n  authorized_keys: |\n    # the operators\n    %s\n", f.public))
	return append(size(filepath.Join(f.examples, "extended-pod.yaml"), filepath.Join(f.examples, "extended-objects.yaml"), keys,
		"--image", f.image, "--volume", "data="+f.bare("data")), more...)
}

func extendedConfigDrive(t *testing.T, f fixtures) scenario {
	return scenario{
		name: "extended pod, ConfigDrive, UEFI", vm: "app-0", user: "debian",
		args:   extendedPod(t, f, "--datasource", "configdrive", "--firmware", "uefi", "--cni-result", f.cni, "--accel", "tcg"),
		output: []string{"first boot went well"},
		checks: func(t *testing.T, v *vm) []check {
			return slices.Concat(extendedChecks(), cniNetwork(), placed(t, v), []check{
				{"firmware", "test -d /sys/firmware/efi && echo UEFI", "UEFI"},
				{"data source", "cloud-id", "configdrive"},
			})
		},
		then: overSSH,
	}
}

func extendedNoCloud(t *testing.T, f fixtures) scenario {
	return scenario{
		name: "extended pod, NoCloud, BIOS", vm: "app-0", user: "debian",
		args:   extendedPod(t, f, "--net", "user"),
		output: []string{"first boot went well"},
		checks: func(t *testing.T, v *vm) []check {
			return slices.Concat(extendedChecks(), placed(t, v), []check{
				{"firmware", "test -d /sys/firmware/efi || echo BIOS", "BIOS"},
				{"data source", "cloud-id", "nocloud"},
				{"IPv4 by DHCP", "ip -o -4 address show scope global | awk '{print $4}'", "169.254.2.15/16"},
				{"IPv6 by router advertisement", "ip -o -6 address show scope global | awk '{print substr($4, 1, 9)}'", "fd00:ec2:"},
			})
		},
		then: func(t *testing.T, v *vm) {
			// Where KVM is there and does not work, the VM has been started again without it, and that is said.
			info, err := os.Stat("/dev/kvm")
			if err == nil && info.Mode()&os.ModeDevice != 0 && v.inspect(t).State.Accel != "kvm" {
				events := read(t, filepath.Join(v.dir, "lab_app-0", "events.jsonl"))
				if !strings.Contains(events, `"note":`) {
					t.Errorf("vmseed does not say why it left KVM:\n%s", events)
				}
			}
		},
	}
}

func extendedChecks() []check {
	const disk = "/dev/disk/by-id/virtio-"
	return []check{
		{"cloud-init's own verdict", "cloud-init status", "status: done"},
		{"host name", "hostname", "app-0-vm"},
		{"instance id", "cat /var/lib/cloud/data/instance-id", "app-0.lab"},
		file("/etc/app/from-configmap", "640", "root:adm", "this file is from a ConfigMap"),
		file("/etc/app/from-annotation", "644", "root:root", "this file is from the annotation"),
		file("/etc/app/database/password", "400", "root:root", "not a real password"),
		file("/etc/app/database/user", "400", "root:root", "app"),
		file("/etc/app/settings/bin/start", "755", "root:root", "#!/bin/sh\nexec sleep infinity"),
		file("/etc/app/settings/conf.d/app.ini", "644", "root:root", "[server]\nlisten = 0.0.0.0:8080"),
		file("/etc/motd", "644", "root:root", "This guest was set up by vmseed."),
		file("/etc/app/about/labels", "444", "root:root", "app=\"app\"\ntier=\"backend\""),
		{"binary file", "stat -c '%a %s' /etc/app/about/logo.bin; base64 /etc/app/about/logo.bin", "444 12\niVBORw0KGgoAAAD/"},
		// Read by the shell, as the programs do that the file is for.
		{"environment", `set -a; . /etc/cloud/environment; env | grep -E '^(APP_MODE|LOG_LEVEL|DB_user|DB_password|POD_NAME|DATABASE_URL|MEMORY_MIB|GREETING)=' | sort`,
			"APP_MODE=two words\nDATABASE_URL=postgresql://app:not a real password@db.lab:5432/app\nDB_password=not a real password\nDB_user=app\n" +
				"GREETING=she said \"it's $5\", and a backslash \\ too\nLOG_LEVEL=info\nMEMORY_MIB=768\nPOD_NAME=app-0"},
		{"the user's runcmd", "ls /var/lib/app-first-boot; cat /var/lib/app-arguments", "/var/lib/app-first-boot\none two three"},
		{"user runner", "getent passwd runner | cut -d: -f5,7", "Runs the application:/bin/bash"},
		{"default user's key", "awk '{print $NF}' /home/debian/.ssh/authorized_keys; stat -c '%a %U' /home/debian/.ssh/authorized_keys", "operator@e2e\n600 debian"},
		{"raw block volume", `[ -L /dev/app-data ] && [ -b /dev/app-data ] && [ "$(readlink -f /dev/app-data)" = "$(readlink -f ` + disk + `data)" ] && echo its disk`, "its disk"},
		{"link at every boot", "readlink -f /var/lib/cloud/scripts/per-boot/symlink-devs.sh", "/etc/cloud/symlink-devs.sh"},
		mounted("/srv/app", disk+"data"),
		mounted("/var/scratch", disk+"scratch-part1"),
		{"contents of the volume", "findmnt -n -o LABEL /srv/app", "data"},
		{"mounts have lasting names", "grep -c '^/dev/app-data' /etc/fstab", "0"},
		{"final message", "grep -c '^app-0 is ready' /var/log/cloud-init-output.log", "1"},
	}
}

// overSSH uses the commands that need a log-in.
func overSSH(t *testing.T, v *vm) {
	up := writeFile(t, "up", "there and back\n")
	down := filepath.Join(t.TempDir(), "down")
	v.must(t, answerLimit, "cp", "-u", v.user, "-i", v.key, up, v.name+":/tmp/up")
	v.must(t, answerLimit, "cp", "-u", v.user, "-i", v.key, v.name+":/tmp/up", down)
	if got := read(t, down); got != "there and back\n" {
		t.Errorf("vmseed cp brought back %q", got)
	}
	if status, out := v.run(t, answerLimit, "ssh", "-u", v.user, "-i", v.key, v.name, "--", "exit", "42"); status != 42 {
		t.Errorf("vmseed ssh: exit status %d, want that of the guest's command\n%s", status, out)
	}
	config := v.must(t, answerLimit, "ssh-config", "-u", v.user, "-i", v.key, v.name)
	if !strings.Contains(config, "StrictHostKeyChecking yes") {
		t.Errorf("the host keys that the guest reported are not pinned:\n%s", config)
	}
	if got := tool(t, nil, "ssh", "-F", writeFile(t, "config", config), "-o", "BatchMode=yes", v.name, "hostname"); strings.TrimSpace(got) != "app-0-vm" {
		t.Errorf("ssh with the printed configuration reaches %q", got)
	}
	if log := v.must(t, answerLimit, "logs", v.name); !strings.Contains(log, "running 'modules:final'") {
		t.Errorf("vmseed logs shows no first boot:\n%s", tail([]byte(log), 2000))
	}
	v.must(t, answerLimit, "stop", v.name)
	if s := v.inspect(t).State; s.Status != "stopped" {
		t.Errorf("after vmseed stop the VM is %s", s.Status)
	}
}

// localds is plain cloud-init files in a seed that vmseed cloud-localds makes and run attaches unchanged. One of the
// two parts of its user-data is broken, which cloud-init passes over and calls done.
func localds(t *testing.T, f fixtures, program string) scenario {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, part := range []string{
		"#cloud-config\nwrite_files:\n- path: /etc/good-part\n  permissions: '0600'\n  content: took effect\n",
		"#cloud-config\nwrite_files:\n- path: /etc/bad-part\n   content: never\n",
	} {
		p, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {"text/cloud-config; charset=us-ascii"}, "MIME-Version": {"1.0"}})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(p, part)
	}
	_ = w.Close()
	userData := writeFile(t, "user-data", "Content-Type: multipart/mixed; boundary=\""+w.Boundary()+"\"\nMIME-Version: 1.0\n\n"+body.String())
	metaData := writeFile(t, "meta-data", "instance-id: localds-1\nlocal-hostname: classic\npublic-keys:\n- "+f.public+"\n")
	seed := sameAsCloudLocalds(t, program, userData, metaData)
	return scenario{
		name: "cloud-localds", vm: "classic", user: "debian",
		args:   size("--seed", seed, "--name", "classic", "--image", f.image, "--accel", "tcg"),
		status: 4,
		output: []string{"Failed loading yaml blob", "the first boot failed"},
		checks: func(t *testing.T, v *vm) []check {
			return slices.Concat(placed(t, v), []check{
				{"cloud-init's own verdict", "cloud-init status", "status: done"},
				{"host name", "hostname", "classic"},
				{"instance id", "cat /var/lib/cloud/data/instance-id", "localds-1"},
				{"data source", "cloud-id", "nocloud"},
				{"no second seed", "lsblk -n -o LABEL | grep -c -i -x -e cidata -e config-2", "1"},
				file("/etc/good-part", "600", "root:root", "took effect"),
				{"the bad part", "ls /etc/bad-part 2>/dev/null || echo was dropped", "was dropped"},
				{"user-data arrives as it is", "sha256sum </var/lib/cloud/instance/user-data.txt | cut -d' ' -f1", sha256sum(t, userData)},
			})
		},
		then: func(t *testing.T, v *vm) {
			if s := v.inspect(t).State.FirstBoot; s == nil || s.Source != "console" {
				t.Errorf("nothing reports in this guest, yet vmseed says that it learnt of the first boot by %+v", s)
			}
		},
	}
}

// sameAsCloudLocalds makes a seed with vmseed and with cloud-localds itself, and compares what a third tool reads.
func sameAsCloudLocalds(t *testing.T, program, userData, metaData string) string {
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "ours.img"), filepath.Join(dir, "theirs.img")
	tool(t, nil, program, "cloud-localds", ours, userData, metaData)
	tool(t, nil, "cloud-localds", theirs, userData, metaData)
	for _, path := range []string{"/user-data", "/meta-data"} {
		if a, b := tool(t, nil, "isoinfo", "-R", "-i", ours, "-x", path), tool(t, nil, "isoinfo", "-R", "-i", theirs, "-x", path); a != b || a == "" {
			t.Errorf("%s is %q, cloud-localds writes %q", path, a, b)
		}
	}
	label := func(image string) string {
		_, after, _ := strings.Cut(tool(t, nil, "isoinfo", "-d", "-i", image), "Volume id: ")
		name, _, _ := strings.Cut(after, "\n")
		return name
	}
	if label(ours) != label(theirs) {
		t.Errorf("the label is %q, that of cloud-localds %q", label(ours), label(theirs))
	}
	return ours
}

func sha256sum(t *testing.T, path string) string {
	return strings.Fields(tool(t, nil, "sha256sum", path))[0]
}

//go:build conformance

package libvirt

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// embedded runs virsh on libvirt's own QEMU driver without a daemon. The driver wants a user that the daemon's package
// makes, so it gets one in a mount namespace of its own, where there is no KVM either: one that is broken makes
// the driver ask QEMU again and again.
const embedded = `set -e
printf 'libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin\n' | cat /etc/passwd - >"$ROOT/passwd"
printf 'libvirt-qemu:x:64055:\n' | cat /etc/group - >"$ROOT/group"
mount --bind "$ROOT/passwd" /etc/passwd
mount --bind "$ROOT/group" /etc/group
mkdir -p "$ROOT/dev"
mkdir -p "$ROOT/dev/net"
for device in null zero random urandom net/tun; do
	[ -e "/dev/$device" ] || continue
	: >>"$ROOT/dev/$device"
	mount --bind "/dev/$device" "$ROOT/dev/$device"
done
mount --rbind "$ROOT/dev" /dev
exec virsh -q -c "qemu:///embed?root=$ROOT" domxml-to-native qemu-argv --xml "$1"
`

// TestLibvirt shows the domains to libvirt: to its schema, and to its driver, which must make arguments for QEMU of them.
func TestLibvirt(t *testing.T) {
	for _, tool := range []string{"virsh", "virt-xml-validate", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIP-MISSING: %s is not installed", tool)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("SKIP-MISSING: a mount namespace needs root")
	}
	root := t.TempDir() // shared, because the driver asks every QEMU of the host what it can and keeps the answers here
	for name, m := range machines(t) {
		t.Run(name, func(t *testing.T) {
			text, l := Form{}.Write(m)
			if l.HasErrors() {
				t.Fatal(l)
			}
			dir := t.TempDir()
			file := filepath.Join(dir, name+".xml")
			write := func(text string) {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(string(text))
			if out, err := exec.Command("virt-xml-validate", file, "domain").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, text)
			}
			if name == "full" {
				return // its networks, directories and features exist nowhere
			}
			// Whether this host has a KVM is not the question.
			write(strings.NewReplacer(`type="kvm"`, `type="qemu"`, "host-passthrough", "maximum").Replace(string(text)))
			cmd := exec.Command("unshare", "--mount", "sh", "-c", embedded, "sh", file)
			cmd.Env = append(os.Environ(), "ROOT="+root)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, text)
			}
			for _, want := range wanted[name] {
				if !strings.Contains(string(out), want) {
					t.Errorf("libvirt does not make %s of it:\n%s", want, out)
				}
			}
		})
	}
	t.Run("a wrong domain", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "wrong.xml")
		if err := os.WriteFile(file, []byte("<domain type='kvm'><name>x</name><memory>y</memory></domain>"), 0o600); err != nil {
			t.Fatal(err)
		}
		if exec.Command("virt-xml-validate", file, "domain").Run() == nil {
			t.Error("the judge takes anything")
		}
	})
}

// wanted are arguments of QEMU that the domains must lead to.
var wanted = map[string][]string{
	"bare":        {"-name guest=default_bare", "default_bare.iso"},
	"coreos":      {"-fw_cfg name=opt/com.coreos/config,file=/var/lib/libvirt/images/default_coreos.ign"},
	"scsi":        {`"driver":"virtio-scsi-pci"`, `"lun":1`, "e1000e"},
	"arm":         {"-machine virt", "vhost-user-fs"},
	"ec2":         {"-uuid ec2d5a90-6abc-5555-a942-e32a6d1eee25", "-smbios type=1,", "serial=ec2d5a90-6abc-5555-a942-e32a6d1eee25"},
	"openstack":   {"product=OpenStack Nova"},
	"nocloud-net": {"serial=ds=nocloud;dsmode=net;s=http://169.254.169.254/nocloud/", "default_nocloud-net.more.iso"},
	"disks":       {`"driver":"floppy"`, "-smp 4,sockets=2", `"driver":"scsi-block"`},
}

//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/testguest"
)

// scenario is a machine that is booted: how, what vmseed has to say, and what the guest has to find. A check that
// fits an existing boot joins it, because a boot takes minutes.
type scenario struct {
	name, vm string
	// args are those of vmseed run.
	args []string
	// user logs in over SSH; without one the serial console is asked, by the log-in of console.
	user    string
	console testguest.Login
	// status is the exit status of vmseed run, output what must stand in what it prints.
	status int
	output []string
	// never is what must not stand there.
	never string
	// checks are made in the guest after the first boot.
	checks func(t *testing.T, v *vm) []check
	// then goes on with the running VM.
	then func(t *testing.T, v *vm)
}

// check is made inside the guest.
type check struct {
	name string
	// command is for the guest's shell, as root; want is what it must print.
	command, want string
}

// TestBoots boots thirteen guests, some of them twice, and four that end in the initramfs; two guests run at once.
func TestBoots(t *testing.T) {
	for program, debianPackage := range map[string]string{"qemu-system-x86_64": "qemu-system-x86", "ssh-keygen": "openssh-client",
		"sfdisk": "fdisk", "mke2fs": "e2fsprogs", "debugfs": "e2fsprogs", "qemu-img": "qemu-utils", "isoinfo": "genisoimage", "cloud-localds": "cloud-image-utils"} {
		need(t, program, debianPackage)
	}
	program := build(t)
	f := makeFixtures(t)
	slots := make(chan struct{}, 2)
	for _, s := range []scenario{seedPod(t, f), extendedConfigDrive(t, f), extendedNoCloud(t, f), localds(t, f, program),
		kubevirtSeed(t, f), kubevirtExtended(t, f), ovirtSeed(t, f), ec2Served(t, f), openstackServed(t, f), nocloudServed(t, f, program),
		ignitionSeed(t, f), ignitionMachine(t, f), ignitionRefused(t, f), ignitionDies(t, f), ignitionEnds(t, f),
		ignitionServed(t, f), ignitionFetches(t, f)} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			v := newVM(t, program, s.vm)
			v.user, v.key, v.console = s.user, f.key, s.console
			if !t.Run("first boot", func(t *testing.T) { firstBoot(t, v, s) }) {
				return
			}
			if s.checks != nil {
				v.examine(t, s.checks(t, v))
			}
			if s.then != nil {
				s.then(t, v)
			}
		})
	}
}

// firstBoot runs the VM until its guest has said how its first boot went.
func firstBoot(t *testing.T, v *vm, s scenario) {
	start := time.Now()
	status, out := v.run(t, bootLimit+time.Minute, append([]string{"run", "--detach", "--wait", "--timeout", bootLimit.String()}, s.args...)...)
	t.Logf("first boot of %s: %.0f s", s.name, time.Since(start).Seconds())
	if status != s.status {
		t.Fatalf("vmseed run: exit status %d, want %d\n%s", status, s.status, out)
	}
	for _, text := range s.output {
		if !strings.Contains(out, text) {
			t.Errorf("vmseed run does not say %q:\n%s", text, out)
		}
	}
	if s.never != "" && strings.Contains(out, s.never) {
		t.Errorf("vmseed run says %q:\n%s", s.never, out)
	}
}

// examine makes checks inside the guest.
func (v *vm) examine(t *testing.T, checks []check) {
	t.Helper()
	var all []testguest.Check
	for _, c := range checks {
		all = append(all, testguest.Check{Name: c.name, Command: c.command, Want: c.want})
	}
	testguest.Examine(t, func(script string) string { return v.ask(t, script) }, all)
}

// fixtures are the files that the boots share.
type fixtures struct {
	image, kernel, initrd string
	// ignition is the guest that Ignition sets up.
	ignition struct{ image, kernel, initrd string }
	// key is a private key; its public half is in public.
	key, public string
	examples    string
	// cni is a CNI result with an MTU.
	cni string
	// partitioned makes a disk with one partition, bare one without; label is that of its ext4.
	partitioned, bare func(label string) string
}

func makeFixtures(t *testing.T) fixtures {
	t.Helper()
	dir := t.TempDir()
	examples, err := filepath.Abs("../examples/virtlet")
	if err != nil {
		t.Fatal(err)
	}
	f := fixtures{image: testguest.Disk(t), key: filepath.Join(dir, "key"), examples: examples}
	f.kernel, f.initrd = testguest.DiskKernel(t)
	f.ignition.image, f.ignition.kernel, f.ignition.initrd = testguest.Ignition(t)
	tool(t, nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "operator@e2e", "-f", f.key)
	f.public = strings.TrimSpace(read(t, f.key+".pub"))
	f.cni = writeFile(t, "cni.json", strings.NewReplacer(`"1.0.0"`, `"1.1.0"`, `"0A:58:0A:F4:03:0B",`, `"0A:58:0A:F4:03:0B", "mtu": 1420,`).
		Replace(read(t, filepath.Join(examples, "cni-result.json"))))

	disk := func(label string, size int64) string {
		path := filepath.Join(t.TempDir(), label+".raw")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		return path
	}
	f.partitioned = func(label string) string {
		path := disk(label, 64<<20)
		tool(t, strings.NewReader("start=1MiB, type=83\n"), "sfdisk", "--quiet", "--label", "dos", path)
		tool(t, nil, "mke2fs", "-q", "-t", "ext4", "-L", label, "-E", "offset=1048576", path, "63M")
		return path
	}
	f.bare = func(label string) string {
		path := disk(label, 128<<20)
		tool(t, nil, "mke2fs", "-q", "-t", "ext4", "-L", label, path)
		return path
	}
	return f
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// size are the flags of every guest here.
func size(args ...string) []string { return append(args, "--memory", "1Gi", "--cpus", "2") }

//go:build e2e

package e2e

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/testguest"
)

// kubevirtSeed is the VirtualMachineInstance of KubeVirt's page on cloud-init, word for word. It lets nobody log in by
// key, so the password that it sets opens the console.
func kubevirtSeed(_ *testing.T, f fixtures) scenario {
	return scenario{
		name: "KubeVirt VMI of seed 003, NoCloud", vm: "testvm-nocloud", console: testguest.Login{User: "debian", Password: "atomic"},
		args:   size(filepath.Join("..", "examples", "kubevirt", "testvm-inline.yaml"), "--image", f.image, "--accel", "tcg"),
		output: []string{"cidata by iso", "first boot went well"},
		checks: func(t *testing.T, v *vm) []check {
			return slices.Concat(placed(t, v), []check{
				{"cloud-init's own verdict", "cloud-init status", "status: done"},
				{"data source", "cloud-id", "nocloud"},
				// The UUID is that of KubeVirt for a machine of this name.
				{"instance id", "cat /var/lib/cloud/data/instance-id", "2ce78280-4328-516d-b2db-3fac09b758d4"},
				{"serial number of the firmware", "cat /sys/class/dmi/id/product_uuid", "2ce78280-4328-516d-b2db-3fac09b758d4"},
				{"host name", "hostname", "testvm-nocloud"},
				password("debian", "atomic"),
				{"log-in by password", "sshd -T | grep '^passwordauthentication'", "passwordauthentication yes"},
				{"the password does not expire", "passwd -S debian | cut -d' ' -f2; chage -l debian | sed -n 's/^Password expires.*: //p'", "P\nnever"},
			})
		},
	}
}

// password checks the password of a user of the guest by its hash.
func password(user, text string) check {
	return check{"password of " + user, `python3 -W ignore -c 'import crypt, spwd
hash = spwd.getspnam("` + user + `").sp_pwdp
print(crypt.crypt("` + text + `", hash) == hash)'`, "True"}
}

// kubevirtExtended is the extended VM of the examples: user-data out of a Secret in a config drive, its keys beside it,
// and a password and the keys of root from the guest agent.
func kubevirtExtended(t *testing.T, f fixtures) scenario {
	examples := filepath.Join("..", "examples", "kubevirt")
	agentKeys := `      - sshPublicKey:
          source: {secret: {secretName: root-keys}}
          propagationMethod: {qemuGuestAgent: {users: [root]}}
`
	definition := strings.Replace(read(t, filepath.Join(examples, "extended-vm.yaml")), "      accessCredentials:\n", "      accessCredentials:\n"+agentKeys, 1)
	objects := strings.Replace(read(t, filepath.Join(examples, "extended-objects.yaml")),
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJAhcbYBlKG6qGzj1chVHcFWcQEaK0WxOr9uG7wKrrDX ada@example.org", f.public, 1) +
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: root-keys, namespace: shop}\nstringData:\n  one: " + f.public + "\n"
	return scenario{
		name: "extended KubeVirt VM, ConfigDrive, guest agent", vm: "web-1", user: "debian",
		args:   size(writeFile(t, "vm.yaml", definition), writeFile(t, "objects.yaml", objects), "--image", f.image, "--volume", "data="+f.bare("data"), "--accel", "tcg"),
		output: []string{"config-2 by iso", "first boot went well"},
		never:  "media[",
		checks: func(t *testing.T, v *vm) []check {
			awaitCredentials(t, v)
			throughAgent(t, v)
			return []check{
				{"cloud-init's own verdict", "cloud-init status", "status: done"},
				{"data source", "cloud-id", "configdrive"},
				{"host name", "hostname", "web"},
				{"instance id", "cat /var/lib/cloud/data/instance-id", "5d307ca9-b3ef-428c-8861-06e72d69f223"},
				{"serial number of the firmware", "cat /sys/class/dmi/id/product_serial", "WEB-0001"},
				{"keys of the default user", "awk '{print $NF}' /home/debian/.ssh/authorized_keys | sort", "grace@example.org\noperator@e2e"},
				{"keys of root, from the agent", "awk '{print $NF}' /root/.ssh/authorized_keys; stat -c '%a %U' /root/.ssh/authorized_keys", "operator@e2e\n600 root"},
				password("debian", "change-me-soon"),
				file("/etc/motd", "644", "root:root", "the shop's web server"),
				{"the user's runcmd", "ls /run/first-boot-done", "/run/first-boot-done"},
				{"NICs", `for m in e9:58 e9:59; do grep -l "02:00:00:84:$m" /sys/class/net/*/address | wc -l; done`, "1\n1"},
				{"static address", "ip -o -4 address show to 10.7.0.11 | wc -l", "1"},
				{"files of a ConfigMap", "mkdir -p /run/m; mount -o ro LABEL=cfgdata /run/m; cat /run/m/settings.toml; ls /run/m; umount /run/m", "workers = 4\nlogo.bin\nsettings.toml"},
				{"facts of the downward API", "mount -o ro LABEL=about /run/m; cat /run/m/labels /run/m/rack; umount /run/m", "app=\"web\"r12"},
			}
		},
	}
}

// awaitCredentials waits until the guest agent has set what it shall.
func awaitCredentials(t *testing.T, v *vm) {
	t.Helper()
	for deadline := time.Now().Add(answerLimit); ; time.Sleep(time.Second) {
		c := v.inspect(t).State.Credentials
		switch {
		case c != nil && c.Status:
			return
		case time.Now().After(deadline):
			t.Fatalf("the credentials of the guest agent: %+v", c)
		}
	}
}

// throughAgent has the guest agent run programs, as kubectl exec does, connects to the guest's SSH server as port-forward
// does, and reads what kubectl top shows.
func throughAgent(t *testing.T, v *vm) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerLimit)
	defer cancel()
	dirs, err := filepath.Glob(filepath.Join(v.dir, "*_"+v.name))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	c, err := supervisor.Open(dirs[0], v.program, "supervise")
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Exec(ctx, supervisor.Command{Args: []string{"sh", "-c", "hostname; cat; echo of the guest >&2; exit 7"}, Stdin: []byte("of the host")})
	if err != nil || out.Status != 7 || string(out.Stdout) != "web\nof the host" || string(out.Stderr) != "of the guest\n" {
		t.Errorf("a program in the guest: %d, %q, %q, %v", out.Status, out.Stdout, out.Stderr, err)
	}
	conn, err := c.DialGuest(ctx, 22)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	greeting := make([]byte, len("SSH-2.0-"))
	if _, err := io.ReadFull(conn, greeting); err != nil || string(greeting) != "SSH-2.0-" {
		t.Errorf("port 22 says %q, %v", greeting, err)
	}
	if u, err := c.Usage(ctx); err != nil || u.CPUTime < time.Second || u.MemoryBytes < 100<<20 || u.DiskReadBytes < 10<<20 || u.NetworkReceivedBytes == 0 || u.NetworkSentBytes == 0 {
		t.Errorf("the guest uses %+v, %v", u, err)
	}
}

//go:build conformance

package credentials

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

func tool(t *testing.T, name string) string {
	t.Helper()
	found, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIP-MISSING: %s", name)
	}
	return found
}

// odd is a machine whose names and texts mean something to systemd's parsers.
func odd() machine.Machine {
	of := func(n int) *int { return &n }
	return machine.Machine{
		Name: "vm", Identity: machine.Identity{Hostname: "web"},
		Groups: []machine.Group{{Name: "lab", GID: of(4711), Members: []string{"bob"}}},
		Users: []machine.User{
			{Name: "alice", Gecos: `A "l" 'i' \ce 50% %n é`, Home: "/srv/50% of $HOME/a b", Groups: []string{"lab"}, Shell: "/bin/b sh",
				SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA a@b"}},
			{Name: "bob", UID: of(1234), PrimaryGroup: "lab"},
			{Name: "daemon-of-web", System: true},
		},
		Files: []machine.File{
			{Path: `/etc/50% of "x" \t $HOME`, Content: secret.New("\x00\xff%n\n"), Mode: 0o4751, Owner: "alice:lab"},
			{Path: "/etc/empty", Mode: machine.NoAccess},
			{Path: "/etc/number", Content: secret.New("n"), Owner: "1234:4711"},
			{Path: "/srv/50% of $HOME/a b/.config/deep/file", Owner: "alice:alice"},
			{Path: "/etc/twice", Content: secret.New("one\n")},
			{Path: "/etc/twice", Content: secret.New("two\n"), Append: true},
		},
		Disks:       []machine.Disk{{Name: "d", Serial: "a%b"}},
		DeviceLinks: []machine.DeviceLink{{Path: "/etc/link to it", Disk: "d"}},
	}
}

// TestSystemdSetsUp has systemd-sysusers and systemd-tmpfiles set up an empty system from the credentials, twice, as at two
// boots. They complain of nothing.
func TestSystemdSetsUp(t *testing.T) {
	sysusers, tmpfiles := tool(t, "systemd-sysusers"), tool(t, "systemd-tmpfiles")
	if os.Getuid() != 0 {
		t.Skip("SKIP-MISSING: root, to give files to others")
	}
	for _, guest := range []string{"systemd=252", "systemd=257"} {
		m, l := machine.Place(odd(), machine.Facts{})
		s, problems := New().Render(m, datasource.Options{Guest: guest})
		if err := append(l, problems...).Err(); err != nil {
			t.Fatal(err)
		}
		root, credentials := t.TempDir(), t.TempDir()
		for _, c := range s.Firmware.Credentials {
			if err := os.WriteFile(filepath.Join(credentials, c.Name), []byte(c.Content.Reveal()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for _, args := range [][]string{{sysusers, "--root=" + root}, {tmpfiles, "--create", "--root=" + root}} {
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Env = append(os.Environ(), "CREDENTIALS_DIRECTORY="+credentials, "SYSTEMD_LOG_LEVEL=warning")
				if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
					t.Errorf("%s, guest %s: %v\n%s", args[0], guest, err, out)
				}
			}
		}
		passwd := text(t, root, "/etc/passwd")
		for _, line := range []string{`alice:x:1000:1000:A "l" 'i' \ce 50% %n é:/srv/50% of $HOME/a b:/bin/b sh`, "bob:x:1234:4711::/home/bob:/bin/sh", "daemon-of-web:x:502:"} {
			if !strings.Contains(passwd, line) {
				t.Errorf("there is no account %q in\n%s", line, passwd)
			}
		}
		if groups := text(t, root, "/etc/group"); !strings.Contains(groups, "lab:x:4711:") || !strings.Contains(groups, "alice") {
			t.Errorf("the groups are\n%s", groups)
		}
		for path, want := range map[string]string{
			`/etc/50% of "x" \t $HOME`: "4751 1000:4711 \x00\xff%n\n",
			"/etc/empty":               "0 0:0 ",
			"/etc/number":              "644 1234:4711 n",
			"/etc/twice":               "644 0:0 one\ntwo\n",
			"/srv/50% of $HOME/a b/.ssh/authorized_keys": "600 1000:0 ssh-ed25519 AAAA a@b\n",
			"/srv/50% of $HOME/a b/.config/deep/file":    "644 1000:1000 ",
			"/etc/hostname": "644 0:0 web\n",
		} {
			out, err := exec.Command("stat", "-c", "%a %u:%g ", root+path).Output()
			if got := strings.TrimSuffix(string(out), "\n") + text(t, root, path); err != nil || got != want {
				t.Errorf("%s is %q, want %q", path, got, want)
			}
		}
		for _, dir := range []string{"", "/.ssh", "/.config", "/.config/deep"} {
			if out, _ := exec.Command("stat", "-c", "%u", root+"/srv/50% of $HOME/a b"+dir).Output(); string(out) != "1000\n" {
				t.Errorf("the directory %q of the home is of %s", dir, out)
			}
		}
		if target, err := os.Readlink(root + "/etc/link to it"); err != nil || target != "/dev/disk/by-id/virtio-a_b" {
			t.Errorf("the link leads to %q, %v", target, err)
		}
	}
}

func text(t *testing.T, root, path string) string {
	t.Helper()
	data, err := os.ReadFile(root + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSystemdLoadsUnits has systemd load the units with their drop-ins. It says nothing about units that it understands.
func TestSystemdLoadsUnits(t *testing.T) {
	analyze := tool(t, "systemd-analyze")
	m := machine.Machine{Name: "vm",
		RunCmd: []machine.Command{{Shell: "true"}}, BootCmd: []machine.Command{{Shell: "true"}},
		Environment: []machine.Variable{{Name: "A", Value: secret.New("b c")}},
		Users:       []machine.User{{Name: "alice", Password: secret.New("canary")}},
		Scripts:     []machine.Script{{Name: "50% $x", Content: secret.New("#!/bin/sh\n")}},
		Units:       []machine.Unit{{Name: "own.service", Enabled: new(bool), Content: secret.New("[Service]\nExecStart=/bin/true\n"), DropIns: []machine.DropIn{{Name: "a.conf", Content: secret.New("[Unit]\nDescription=x\n")}}}, {Name: "other.service", Content: secret.New("[Service]\nExecStart=/bin/true\n"), Mask: true}},
	}
	m, _ = machine.Place(m, machine.Facts{})
	s, l := New().Render(m, datasource.Options{Guest: "systemd=257"})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	dir := t.TempDir()
	args := []string{"verify", "--man=no", "--recursive-errors=no"}
	for _, c := range s.Firmware.Credentials {
		content := c.Content.Reveal()
		if unit, ok := strings.CutPrefix(c.Name, "systemd.extra-unit."); ok {
			// What a unit runs need not be on this machine.
			content = strings.NewReplacer("ExecStart=/bin/sh /etc/vmseed", "ExecStart=/bin/true /etc/vmseed").Replace(content)
			file := filepath.Join(dir, unit)
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, file)
		}
		if unit, ok := strings.CutPrefix(c.Name, "systemd.unit-dropin."); ok {
			if err := os.MkdirAll(filepath.Join(dir, unit+".d"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, unit+".d", "50-credential.conf"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(args) < 7 {
		t.Fatalf("there are units for %v only", args)
	}
	if out, err := exec.Command(analyze, args...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	// A unit that is wrong is complained of, or the silence above would mean nothing.
	file := filepath.Join(dir, "wrong.service")
	if err := os.WriteFile(file, []byte("[Service]\nType=nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput(); err == nil && len(out) == 0 {
		t.Error(fmt.Errorf("a wrong unit passes: %s", out))
	}
}

package ignition

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignitiontest"
	"github.com/vmseed/vmseed/machine"
)

// TestScriptsRun gives generated scripts to the system's sh, with the programs that change a guest or call a host replaced
// by ones that print their arguments.
func TestScriptsRun(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	id := machine.Identity{InstanceID: "id-1"}
	tries := 2
	for _, x := range []struct {
		name, script, stubs, want string
		m                         machine.Machine
	}{
		{"every word of a command", "runcmd", "", "$HOME|a 'b'|\n", machine.Machine{RunCmd: []machine.Command{{Args: []string{"printf", "%s|", "$HOME", "a 'b'"}}, {Shell: "echo"}}}},
		{"a command that fails", "runcmd", "", "after\n", machine.Machine{RunCmd: []machine.Command{{Shell: "false"}, {Shell: "echo after"}}}},
		{"poweroff", "power-state", "shutdown", "-P|now|", machine.Machine{PowerState: machine.PowerState{Mode: "poweroff"}}},
		{"a condition that holds", "power-state", "shutdown", "-r|now|it's \"it\" $x|", machine.Machine{PowerState: machine.PowerState{Mode: "reboot", Message: `it's "it" $x`, Condition: "test 'a b' = \"a b\""}}},
		{"a condition that does not", "power-state", "shutdown", "", machine.Machine{PowerState: machine.PowerState{Mode: "reboot", Condition: "false"}}},
		{"phone", "phone-home", "curl", "-fsS|-o|/dev/null|--data-urlencode|instance_id=id-1|http://h/id-1/'x'|",
			machine.Machine{Identity: id, PhoneHome: machine.PhoneHome{URL: "http://h/${INSTANCE_ID}/'x'", Post: []string{"instance_id"}}}},
		{"phone that nobody answers", "phone-home", "curl 1", "-fsS|-o|/dev/null|http://h|-fsS|-o|/dev/null|http://h|",
			machine.Machine{Identity: id, PhoneHome: machine.PhoneHome{URL: "http://h", Tries: &tries, Post: []string{"pub_key_none_of_these"}}}},
		{"expiry", "setup", "chage", "-E|2038-01-19|u|-d|0|u|", machine.Machine{Users: []machine.User{{Name: "u", ExpirePassword: true, Expires: "2038-01-19"}}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			text, l := Compose(placed(t, x.m), datasource.Options{})
			if l.HasErrors() {
				t.Fatal(l.Err())
			}
			c, err := ignitiontest.Read(text.Reveal())
			if err != nil {
				t.Fatal(err)
			}
			script, ok := c.Files[scriptDir+"/"+x.script]
			if !ok {
				t.Fatalf("no script among %v", c.Files)
			}
			dir := t.TempDir()
			stub, status, _ := strings.Cut(x.stubs, " ")
			for name, body := range map[string]string{stub: "printf '%s|' \"$@\"\nexit " + status + "\n", "sleep": ""} {
				if name != "" {
					if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body), 0o700); err != nil {
						t.Fatal(err)
					}
				}
			}
			file := filepath.Join(dir, "script")
			if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(sh, file)
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
			out, err := cmd.Output()
			if failed := err != nil; failed != (status != "") {
				t.Errorf("exit %v", err)
			}
			if string(out) != x.want {
				t.Errorf("%q, want %q", out, x.want)
			}
		})
	}
}

// TestIncludeSSH has a server that does not read sshd_config.d read it before anything else, and leaves others alone.
func TestIncludeSSH(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	for name, x := range map[string]struct{ have, want string }{
		"none":      {"", ""},
		"without":   {"Port 22\n#Include /etc/ssh/sshd_config.d/*.conf\n", "Include /etc/ssh/sshd_config.d/*.conf\nPort 22\n#Include /etc/ssh/sshd_config.d/*.conf\n"},
		"with":      {"Port 22\nInclude /etc/ssh/sshd_config.d/*.conf\n", "Port 22\nInclude /etc/ssh/sshd_config.d/*.conf\n"},
		"otherwise": {"  include=\"/etc/ssh/sshd_config.d/*\"\n", "  include=\"/etc/ssh/sshd_config.d/*\"\n"},
		"of others": {"Include /etc/crypto.conf\n", "Include /etc/ssh/sshd_config.d/*.conf\nInclude /etc/crypto.conf\n"},
	} {
		dir := t.TempDir()
		file, original := filepath.Join(dir, "sshd_config"), filepath.Join(dir, "of-the-image")
		if x.have != "" {
			if err := errors.Join(os.WriteFile(original, []byte(x.have), 0o400), os.Symlink(original, file)); err != nil {
				t.Fatal(err)
			}
		}
		script := strings.Replace(includeSSH, "f=/etc/ssh/", "f="+dir+"/", 1)
		if out, err := exec.Command(sh, "-c", script).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		got, err := os.ReadFile(file)
		if string(got) != x.want || (err != nil) != (x.want == "") {
			t.Errorf("%s: %q, want %q: %v", name, got, x.want, err)
		}
		if kept, _ := os.ReadFile(original); string(kept) != x.have {
			t.Errorf("%s: the image's own file is %q", name, kept)
		}
	}
}

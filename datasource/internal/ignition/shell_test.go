package ignition

import (
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

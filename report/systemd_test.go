package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// heard are the words that a manager makes of messages: source, stage, module and error of each.
func heard(messages ...string) []string {
	var out []string
	m := NewManager("ns/vm", func() time.Time { return time.Unix(0, 0) }, func(e Event) {
		text := strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Stage, e.Module, e.Error))
		if e.Result != nil {
			text += " (" + e.Result.Agent + " on " + e.Result.Hostname + ")"
		}
		if e.Source != Systemd || e.Machine != "ns/vm" || (e.Result != nil) != e.Stage.Ended() {
			text = fmt.Sprintf("bad event %+v", e)
		}
		out = append(out, text)
	})
	for _, text := range messages {
		m.Take([]byte(text))
	}
	return out
}

// TestManager: the messages are those that systemd 257 sends, as its manual has them.
func TestManager(t *testing.T) {
	boot := []string{"X_SYSTEMD_HOSTNAME=web", "X_SYSTEMD_MACHINE_ID=c6a0", "X_SYSTEMD_SIGNALS_LEVEL=2",
		"X_SYSTEMD_UNIT_ACTIVE=local-fs.target", "X_SYSTEMD_UNIT_ACTIVE=sysinit.target", "X_SYSTEMD_UNIT_ACTIVE=network-online.target",
		"X_SYSTEMD_UNIT_ACTIVE=basic.target", "X_SYSTEMD_UNIT_ACTIVE=network.target", "X_SYSTEMD_UNIT_ACTIVE=multi-user.target"}
	stages := []string{"booting", "init-local sysinit.target", "init-network network-online.target", "modules-config basic.target",
		"modules-final multi-user.target"}
	ready := "READY=1\nSTATUS=Startup finished in 3.2s (kernel) + 9.1s (userspace) = 12.3s."
	for name, c := range map[string]struct{ messages, want []string }{
		"a boot":                        {append(slices.Clone(boot), ready), append(slices.Clone(stages), "done (systemd on web)")},
		"254 says the end only":         {[]string{ready}, []string{"done (systemd on )"}},
		"ready is said again at reload": {[]string{ready, "RELOADING=1\nMONOTONIC_USEC=1", ready}, []string{"done (systemd on )"}},
		"emergency": {[]string{boot[0], "X_SYSTEMD_UNIT_ACTIVE=emergency.target", ready},
			[]string{"booting", "failed  the guest's boot ended in emergency.target (systemd on web)"}},
		"down too early": {[]string{boot[0], "STATUS=Shutting down", "X_SYSTEMD_SHUTDOWN=poweroff"},
			[]string{"booting", "failed  the guest went down before its boot was over (poweroff): Shutting down (systemd on web)"}},
		"down after the boot":  {[]string{ready, "X_SYSTEMD_SHUTDOWN=poweroff", "EXIT_STATUS=0"}, []string{"done (systemd on )"}},
		"a boot, and another":  {[]string{boot[0], "X_SYSTEMD_SHUTDOWN=reboot", boot[0], ready}, []string{"booting", "booting", "done (systemd on web)"}},
		"exit status":          {[]string{"EXIT_STATUS=3"}, []string{"failed  the guest's system ended with the exit status 3 (systemd on )"}},
		"error number":         {[]string{"ERRNO=5"}, []string{"failed  the guest's system failed: error number 5 (systemd on )"}},
		"no error number":      {[]string{"ERRNO=\x1b[31mred"}, []string{"failed  the guest's system failed: no error number (systemd on )"}},
		"text for a terminal":  {[]string{"X_SYSTEMD_HOSTNAME=\x1b]0;x\x07web", ready}, []string{"booting", "done (systemd on ]0;xweb)"}},
		"nothing that counts":  {[]string{"", "=", "READY", "READY=0", "READY=11", "\x00\xff", "X_SYSTEMD_UNIT_INACTIVE=basic.target"}, nil},
		"more than a message":  {[]string{"READY=1\n" + strings.Repeat("x", MaxNotification)}, nil},
		"status with newlines": {[]string{"STATUS=a\nREADY=1\n\n"}, []string{"done (systemd on )"}},
	} {
		if got := heard(c.messages...); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

// TestPlainConsole: the console of a guest that systemd sets up by itself says when the guest is up and which units failed. The
// lines are those of Debian 12's systemd.
func TestPlainConsole(t *testing.T) {
	const boot = "[  OK  ] Started \x1b[0;1;39mssh.service\x1b[0m - OpenBSD Secure Shell server.\r\n" +
		"[\x1b[0;1;31mFAILED\x1b[0m] Failed to start \x1b[0;1;39msystemd-tmpfi…vice\x1b[0m - Create System Files and Directories.\r\n" +
		"See 'systemctl status systemd-tmpfiles-setup.service' for details.\r\n\r\nDebian GNU/Linux 12 web ttyS0\r\n\r\nweb login: "
	for _, plain := range []bool{true, false} {
		var events []Event
		c := NewConsole("ns/vm", time.Now, func(e Event) { events = append(events, e) })
		if plain {
			c.Plain()
		}
		_, _ = c.Write([]byte(boot))
		if len(events) != 1 || (events[0].Stage == Done) != plain {
			t.Fatalf("plain %t: %+v", plain, events)
		}
		if !plain {
			continue
		}
		r := events[0].Result
		if r == nil || r.Agent != "systemd" || !slices.Equal(r.Warnings, []string{"Failed to start systemd-tmpfi…vice - Create System Files and Directories"}) {
			t.Errorf("got %+v", r)
		}
	}
}

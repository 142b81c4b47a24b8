package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// MaxNotification is the longest message of a service manager that is read, in bytes.
const MaxNotification = 16 << 10

// managerStages are how far a boot is when a target is reached.
var managerStages = map[string]Stage{"sysinit.target": Local, "basic.target": Config, "network.target": Init, "network-online.target": Init,
	"multi-user.target": Final, "graphical.target": Final}

// Manager makes events of what the service manager of a guest says to the one who runs the machine: when the boot is over and,
// since version 256, how far it is, without anything that was put into the guest (systemd(1), "Readiness protocol";
// sd_notify(3)). Which units failed it does not tell. Its methods are for one goroutine.
type Manager struct {
	machine string
	now     func() time.Time
	emit    func(Event)
	stage   Stage
	result  Result
	status  string
}

// NewManager makes a reader for a machine that passes on what it finds.
func NewManager(machine string, now func() time.Time, emit func(Event)) *Manager {
	return &Manager{machine: machine, now: now, emit: emit}
}

// Take reads a message: lines of the form NAME=VALUE. Names that mean nothing here are passed over. The guest is not
// trusted, so a message may be anything.
func (m *Manager) Take(message []byte) {
	if len(message) > MaxNotification {
		return
	}
	fields := map[string]string{}
	for line := range bytes.SplitSeq(message, []byte("\n")) {
		if name, value, ok := strings.Cut(string(line), "="); ok {
			fields[name] = clean(value)
		}
	}
	if s := fields["STATUS"]; s != "" {
		m.status = s
	}
	if h := fields["X_SYSTEMD_HOSTNAME"]; h != "" {
		// It is the first thing of a boot.
		m.stage, m.result = "", Result{Hostname: h}
		m.reach(Booting, "")
	}
	m.target(fields["X_SYSTEMD_UNIT_ACTIVE"])
	switch {
	case fields["X_SYSTEMD_SHUTDOWN"] != "":
		m.down(fields["X_SYSTEMD_SHUTDOWN"])
	case fields["EXIT_STATUS"] != "" && fields["EXIT_STATUS"] != "0":
		m.fail("the guest's system ended with the exit status " + fields["EXIT_STATUS"])
	case fields["ERRNO"] != "" && fields["ERRNO"] != "0":
		m.fail("the guest's system failed: " + errno(fields["ERRNO"]))
	case fields["READY"] == "1":
		m.ready()
	}
}

func errno(s string) string {
	if n, err := strconv.ParseUint(s, 10, 16); err == nil {
		return fmt.Sprintf("error number %d", n)
	}
	return "no error number"
}

// target takes a target that was reached.
func (m *Manager) target(name string) {
	switch stage, known := managerStages[name]; {
	case name == "emergency.target" || name == "rescue.target":
		m.fail("the guest's boot ended in " + name)
	case known:
		m.reach(stage, name)
	}
}

// reach passes on that the boot is at a stage, unless it was further already: targets that do not wait for each other come in
// any order.
func (m *Manager) reach(s Stage, module string) {
	order := map[Stage]int{"": 0, Booting: 1, Local: 2, Init: 3, Config: 4, Final: 5, Done: 6, Failed: 6}
	if order[s] <= order[m.stage] {
		return
	}
	m.stage = s
	e := m.event(s)
	e.Module = module
	m.emit(e)
}

// ready ends a boot. systemd says so when nothing is left to be started, whatever became of it.
func (m *Manager) ready() {
	if m.stage.Ended() {
		return
	}
	m.stage = Done
	m.end(m.event(Done))
}

// fail passes on that a boot failed.
func (m *Manager) fail(reason string) {
	if m.stage.Ended() {
		return
	}
	m.stage = Failed
	e := m.event(Failed)
	e.Error = reason
	if m.status != "" {
		e.Error += ": " + m.status
	}
	m.end(e)
}

// down takes the end of a guest. One that starts again, as after its first boot's last step, begins anew.
func (m *Manager) down(how string) {
	if how == "reboot" || how == "kexec" {
		m.stage, m.result, m.status = "", Result{}, ""
		return
	}
	m.fail("the guest went down before its boot was over (" + how + ")")
}

// end passes a final word on.
func (m *Manager) end(e Event) {
	result := m.result
	result.Agent, result.FirstBoot = "systemd", true
	e.Result = &result
	m.emit(e)
}

func (m *Manager) event(s Stage) Event {
	return Event{Machine: m.machine, Source: Systemd, Stage: s, Time: m.now()}
}

// consoleFailed is systemd's word on the console that a unit did not start.
var consoleFailed = regexp.MustCompile(`^\[FAILED\] (Failed to .*?)\.?$`)

// Plain tells the console's reader that systemd sets the guest up by itself, from credentials: its login prompt is the end of
// the boot, and no sign of cloud-init or Ignition is missed.
func (c *Console) Plain() { c.plain = true }

// readPlain looks for units that failed.
func (c *Console) readPlain(line string) {
	if m := consoleFailed.FindStringSubmatch(line); m != nil && c.plain {
		c.noteOnce(&c.result.Warnings, m[1])
	}
}

// endPlain passes on that a guest which systemd sets up waits for a user.
func (c *Console) endPlain() {
	c.result.Agent = "systemd"
	c.end()
	c.stage, c.result = "", Result{} // another boot is to be heard as well
}

package report

import (
	"bytes"
	"regexp"
	"strings"
	"time"
)

// Marks of cloud-init on the console. The final message is a default that an image or a user can change; the login
// prompt then says that the guest is up, though not that cloud-init is done.
var (
	consoleRun   = regexp.MustCompile(`Cloud-init v\. (\S+) running '(init-local|init|modules:config|modules:final)'`)
	consoleDone  = regexp.MustCompile(`Cloud-init v\. (\S+) finished at .*Datasource (.+?)\.\s+Up `)
	consoleWord  = regexp.MustCompile(`^\s*(?:\[[ 0-9.]+\] )?(?:cloud-init\[\d+\]: )?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - \S+\[(WARNING|ERROR|CRITICAL|DEPRECATED)\]: (.*)`)
	consoleGoal  = regexp.MustCompile(`Reached target .*[Cc]loud-init(?: target|\.target)`)
	consoleLogin = regexp.MustCompile(`^\S+ login: *$`)
	consoleUnit  = regexp.MustCompile(`Failed to start .*(cloud-init|cloud-config|cloud-final)`)
	consoleKey   = regexp.MustCompile(`(?:^|: )((?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\S+) [A-Za-z0-9+/=]{40,}(?: \S+)?)\s*$`)
	consolePlace = regexp.MustCompile(`^(?:Failed loading yaml blob\. .*?line \d+ column \d+|Failed loading yaml blob|Unhandled non-multipart \(.*?\) userdata)`)
	// consoleChatter is of a command that did its work and said something meanwhile, as netplan does of the configuration that
	// cloud-init wrote for it.
	consoleChatter = regexp.MustCompile(`^Running \[.*?\] resulted in stderr output:`)
	escapeCodes    = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")
	consoleStage   = map[string]Stage{"init-local": Local, "init": Init, "modules:config": Config, "modules:final": Final}
)

// Console reads a guest's serial console for what it shows of the first boot. It is the word of last resort: where the
// reporter cannot run.
type Console struct {
	machine string
	emit    func(Event)
	now     func() time.Time
	line    bytes.Buffer
	result  Result
	keys    bool
	stage   Stage
	// idle means that the guest was seen to wait for a user.
	idle     bool
	ignition ignitionState
	// plain means that systemd sets the guest up by itself.
	plain bool
}

// NewConsole makes a reader for a machine that passes on what it finds.
func NewConsole(machine string, now func() time.Time, emit func(Event)) *Console {
	return &Console{machine: machine, now: now, emit: emit}
}

// Write takes what the guest wrote to its console. It never fails.
func (c *Console) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, tail, ended := bytes.Cut(rest, []byte("\n"))
		if c.line.Len()+len(line) <= MaxLine {
			c.line.Write(line)
		}
		if ended {
			c.read(clean(escapeCodes.ReplaceAllString(c.line.String(), "")))
			c.line.Reset()
		}
		rest = tail
	}
	// A prompt is a line without an end.
	if !c.idle && c.line.Len() < 300 && consoleLogin.MatchString(clean(escapeCodes.ReplaceAllString(c.line.String(), ""))+" ") {
		c.prompt()
	}
	return len(p), nil
}

// prompt handles a guest that waits for a user.
func (c *Console) prompt() {
	switch {
	case c.ignition.seen:
		c.idle = true
		c.endIgnition()
	case c.stage == "" && c.plain:
		c.idle = true
		c.endPlain()
	case c.stage == "":
		c.idle = true
		e := c.event(Failed)
		e.Error = "the guest shows its login prompt, but no sign of cloud-init or Ignition: the image has neither, or it found no seed"
		c.emit(e)
	}
}

func (c *Console) read(line string) {
	c.readIgnition(line)
	c.readPlain(line)
	if m := consoleRun.FindStringSubmatch(line); m != nil {
		if stage := consoleStage[m[2]]; stage != c.stage {
			if stage == Local {
				c.result, c.idle = Result{}, false
			}
			c.result.Agent = "cloud-init " + m[1]
			c.stage = stage
			c.emit(c.event(stage))
		}
	}
	if m := consoleWord.FindStringSubmatch(line); m != nil {
		switch m[1] {
		case "DEPRECATED":
			note(&c.result.Deprecations, m[2])
		case "WARNING":
			c.warn(m[2])
		default:
			note(&c.result.Errors, m[2])
		}
	}
	if consoleUnit.MatchString(line) {
		note(&c.result.Errors, line)
	}
	switch {
	case strings.Contains(line, "BEGIN SSH HOST KEY KEYS"):
		c.keys, c.result.HostKeys = true, nil
	case strings.Contains(line, "END SSH HOST KEY KEYS"):
		c.keys = false
	case c.keys && len(c.result.HostKeys) < maxItems:
		if m := consoleKey.FindStringSubmatch(line); m != nil {
			c.result.HostKeys = append(c.result.HostKeys, m[1])
		}
	}
	if m := consoleDone.FindStringSubmatch(line); m != nil {
		c.result.Agent, c.result.DataSource = "cloud-init "+m[1], m[2]
		c.end()
	} else if consoleGoal.MatchString(line) {
		c.end() // the final message is the user's to change
	}
}

// end passes on that the first boot is over.
func (c *Console) end() {
	if c.stage.Ended() {
		return
	}
	c.stage = Done
	e := c.event(Done)
	result := c.result
	result.FirstBoot = true
	e.Result = &result
	c.emit(e.sober())
}

// warn sorts a warning: a document that was dropped is an error, however quietly cloud-init says so.
func (c *Console) warn(text string) {
	switch {
	case strings.HasPrefix(text, "Failed loading yaml blob"), strings.HasPrefix(text, "Unhandled non-multipart"):
		if at := consolePlace.FindString(text); at != "" {
			text = at // what follows quotes the document
		}
		note(&c.result.Errors, text)
	case strings.Contains(text, "Deprecated cloud-config provided"), consoleChatter.MatchString(text):
		note(&c.result.Deprecations, text)
	default:
		note(&c.result.Warnings, text)
	}
}

// note adds a text to a list, within bounds.
func note(list *[]string, text string) {
	if len(*list) < maxItems {
		*list = append(*list, text)
	}
}

func (c *Console) event(s Stage) Event {
	return Event{Machine: c.machine, Source: SerialConsole, Stage: s, Time: c.now()}
}

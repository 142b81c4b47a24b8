package report

import (
	"regexp"
	"slices"
	"strings"
)

// Ignition is what the agent of a result begins with where Ignition set the guest up. Where it fails, nothing that it
// would have installed ever runs, so no better word than the console's can follow.
const Ignition = "Ignition"

// Marks of Ignition on the console: its own words, where the journal is shown there, systemd's on its units, and those
// that CoreOS puts above the login prompt.
var (
	ignitionWord     = regexp.MustCompile(`\bignition\[\d+\]: (?:[A-Z]+ *: )?(.*)`)
	ignitionVersion  = regexp.MustCompile(`^Ignition (?:[A-Za-z]+ )?v?(\d+\.\S+)$`)
	ignitionAt       = regexp.MustCompile(`^(error|warning) at `)
	ignitionPart     = regexp.MustCompile(`^Stage: (\S+)`)
	ignitionUnit     = regexp.MustCompile(`Failed to start .*Ignition \(([a-z-]+)\)`)
	ignitionComplete = regexp.MustCompile(`Reached target .*Ignition Complete`)
	ignitionIssue    = regexp.MustCompile(`^Ignition: (no config provided by user|user-provided config was applied)`)
	ignitionPassword = regexp.MustCompile(`("--password"|"-p") "[^"]*"`)
	// emergency is how dracut and systemd say that a boot ended early.
	emergency     = regexp.MustCompile(`Entering emergency mode|You are in emergency mode|Warning: Boot has failed\. To debug`)
	ignitionStage = map[string]Stage{"fetch-offline": Local, "fetch": Local, "kargs": Init, "disks": Init, "mount": Init, "files": Config}
)

// noIgnitionConfig is a failure: a seed was asked for.
const noIgnitionConfig = "Ignition found no config: the image's ignition.platform.id and the way that the config is brought do not match"

// ignitionState is what the console showed of Ignition.
type ignitionState struct {
	// seen is any sign of Ignition, failed its failure.
	seen, failed bool
}

// readIgnition looks for marks of Ignition in a line.
func (c *Console) readIgnition(line string) {
	if m := ignitionWord.FindStringSubmatch(line); m != nil {
		c.hearIgnition(ignitionPassword.ReplaceAllString(m[1], `$1 "…"`))
	}
	switch m := ignitionUnit.FindStringSubmatch(line); {
	case m != nil && !c.ignition.failed:
		c.failIgnition("Ignition failed in its stage " + m[1] +
			"; for the reason, boot with systemd.journald.forward_to_console=1 on the kernel's command line")
	case ignitionComplete.MatchString(line):
		c.ignition.seen = true
	case emergency.MatchString(line) && c.ignition.seen && !c.ignition.failed:
		c.failIgnition("the boot ended in emergency mode: " + line)
	}
	if m := ignitionIssue.FindStringSubmatch(line); m != nil {
		c.ignition.seen = true
		if strings.HasPrefix(m[1], "no config") {
			c.failIgnition(noIgnitionConfig)
		}
	}
}

// hearIgnition takes a message of Ignition itself.
func (c *Console) hearIgnition(text string) {
	c.ignition.seen = true
	switch {
	case ignitionVersion.MatchString(text):
		c.result.Agent = Ignition + " " + ignitionVersion.FindStringSubmatch(text)[1]
	case strings.HasPrefix(text, "warning at "):
		c.noteOnce(&c.result.Warnings, text)
	case strings.HasPrefix(text, "error at "):
		c.noteOnce(&c.result.Errors, text)
	case strings.HasPrefix(text, "Ignition failed: "):
		c.failIgnition(text)
	case strings.Contains(text, "provider config was empty"):
		c.failIgnition(noIgnitionConfig)
	}
	if m := ignitionPart.FindStringSubmatch(text); m != nil && !c.ignition.failed {
		stage := ignitionStage[m[1]]
		if m[1] == "fetch-offline" {
			c.result, c.idle = Result{Agent: c.result.Agent}, false
		}
		if stage != "" && stage != c.stage {
			c.stage = stage
			c.emit(c.event(stage))
		}
	}
}

// failIgnition passes on that Ignition failed, or anew when the reason has become known.
func (c *Console) failIgnition(reason string) {
	c.ignition.seen, c.ignition.failed, c.stage = true, true, Failed
	e := c.event(Failed)
	e.Error = reason
	result := c.result
	if !strings.HasPrefix(result.Agent, Ignition) {
		result.Agent = Ignition
	}
	result.FirstBoot = true
	result.Errors, result.Warnings = slices.Clone(result.Errors), slices.Clone(result.Warnings)
	e.Result = &result
	c.emit(e)
}

// endIgnition passes on that a guest which Ignition set up waits for a user.
func (c *Console) endIgnition() {
	if c.stage.Ended() {
		return
	}
	if !strings.HasPrefix(c.result.Agent, Ignition) {
		c.result.Agent = Ignition
	}
	c.end()
}

// noteOnce adds a text to a list that has it not yet: each stage of Ignition reads the config again.
func (c *Console) noteOnce(list *[]string, text string) {
	if !slices.Contains(*list, text) {
		note(list, text)
	}
}

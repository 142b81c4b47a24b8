package report_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/report"
)

// events feeds a console and returns what it passes on.
func events(output string) (got []report.Event) {
	c := report.NewConsole("ns/vm", nowIs, func(e report.Event) { got = append(got, e) })
	_, _ = c.Write([]byte(strings.ReplaceAll(output, "\n", "\r\n")))
	return got
}

// The lines are those that Ignition 2.14.0 of Debian 12 and its systemd print, with the journal forwarded to the
// console, without, and as CoreOS shows them above the prompt.
func TestConsoleOfIgnition(t *testing.T) {
	const began = "[   11.5] ignition[232]: Ignition Debian 2.14.0+ds1-1+b6\n[   11.6] ignition[232]: Stage: fetch-offline\n"
	const agent = "Ignition 2.14.0+ds1-1+b6"
	for _, c := range []struct {
		name, output string
		stages       []report.Stage
		reason       string
		last         *report.Result
	}{
		{"bad syntax", began +
			"[   16.210830] ignition[232]: error at line 6 col 2: invalid character ']' looking for beginning of value\n" +
			"[   16.215380] ignition[232]: failed to fetch config: config is not valid\n" +
			"[   16.235607] ignition[232]: Ignition failed: config is not valid\n" +
			"[\x1b[0;1;31mFAILED\x1b[0m] Failed to start \x1b[0;1;39mignition-f…es.service\x1b[0m - Ignition (fetch-offline).\n",
			[]report.Stage{report.Local, report.Failed}, "Ignition failed: config is not valid",
			&report.Result{FirstBoot: true, Agent: agent, Errors: []string{"error at line 6 col 2: invalid character ']' looking for beginning of value"}}},
		{"missing group", began +
			"[   14.0] ignition[269]: Stage: disks\n[   15.8] ignition[288]: INFO     : Stage: files\n" +
			"[   15.9] ignition[288]: CRITICAL : files: ensureUsers: op(2): [failed]   creating or modifying user \"bob\": exit status 6\n" +
			"[   16.3] ignition[288]: CRITICAL : Ignition failed: failed to create user \"bob\": Cmd: \"useradd\" \"--password\" \"$y$canary\" \"bob\" Stderr: \"useradd: group 'wheel' does not exist\"\n",
			[]report.Stage{report.Local, report.Init, report.Config, report.Failed},
			`Ignition failed: failed to create user "bob": Cmd: "useradd" "--password" "…" "bob" Stderr: "useradd: group 'wheel' does not exist"`,
			&report.Result{FirstBoot: true, Agent: agent}},
		{"quiet console", "[\x1b[0;1;31mFAILED\x1b[0m] Failed to start \x1b[0;1;39mignition-f…ce\x1b[0m - Ignition (fetch-offline).\n" +
			"Entering emergency mode. Exit the shell to continue.\n", []report.Stage{report.Failed},
			"Ignition failed in its stage fetch-offline; for the reason, boot with systemd.journald.forward_to_console=1 on the kernel's command line",
			&report.Result{FirstBoot: true, Agent: "Ignition"}},
		{"reason from the emergency shell", "Failed to start ignition-fetch-offline.service - Ignition (fetch-offline).\n" +
			"Displaying logs from failed units: ignition-fetch-offline.service\nJan 01 00:00:00 vm ignition[700]: Ignition failed: unsupported config version\n",
			[]report.Stage{report.Failed, report.Failed}, "Ignition failed: unsupported config version", &report.Result{FirstBoot: true, Agent: "Ignition"}},
		{"no config", began + "[   10.5] ignition[232]: not a config (empty): provider config was empty, continuing with empty cache config\n",
			[]report.Stage{report.Local, report.Failed},
			"Ignition found no config: the image's ignition.platform.id and the way that the config is brought do not match",
			&report.Result{FirstBoot: true, Agent: agent}},
		{"emergency later", began + "[  OK  ] Reached target ignition-complete.target - Ignition Complete.\nYou are in emergency mode. After logging in\n",
			[]report.Stage{report.Local, report.Failed}, "the boot ended in emergency mode: You are in emergency mode. After logging in",
			&report.Result{FirstBoot: true, Agent: agent}},
		{"unused key", began + strings.Repeat("[   11.7] ignition[232]: warning at $.networkd, line 6 col 1: Unused key networkd\n", 2) + "\nvm login: ",
			[]report.Stage{report.Local, report.Done}, "",
			&report.Result{FirstBoot: true, Agent: agent, Warnings: []string{"warning at $.networkd, line 6 col 1: Unused key networkd"}}},
		{"CoreOS", "Ignition: ran on 2020/01/01 00:00:00 UTC (this boot)\nIgnition: user-provided config was applied\nvm login: ",
			[]report.Stage{report.Done}, "", &report.Result{FirstBoot: true, Agent: "Ignition"}},
		{"CoreOS without config", "Ignition: no config provided by user\nvm login: ", []report.Stage{report.Failed},
			"Ignition found no config: the image's ignition.platform.id and the way that the config is brought do not match",
			&report.Result{FirstBoot: true, Agent: "Ignition"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := events(c.output)
			var stages []report.Stage
			for _, e := range got {
				stages = append(stages, e.Stage)
			}
			if diff := cmp.Diff(c.stages, stages); diff != "" {
				t.Fatalf("stages: -want +got:\n%s", diff)
			}
			last := got[len(got)-1]
			if diff := cmp.Diff(c.last, last.Result); diff != "" || last.Error != c.reason {
				t.Errorf("%q, -want +got:\n%s", last.Error, diff)
			}
			if strings.Contains(last.Error, "canary") {
				t.Error("the password hash is shown")
			}
		})
	}
}

// The config's file and unit are the reporter's own, and its names fit each other.
func TestIgnitionReporter(t *testing.T) {
	var config struct {
		Ignition struct{ Version string }
		Storage  struct {
			Files []struct {
				Path     string
				Mode     int
				Contents struct{ Source string }
			}
			Links []struct{ Path, Target string }
		}
		Systemd struct {
			Units []struct {
				Name, Contents string
				Enabled        bool
			}
		}
	}
	if err := json.Unmarshal([]byte(report.IgnitionReporter().Data.Reveal()), &config); err != nil {
		t.Fatal(err)
	}
	if config.Ignition.Version != "3.0.0" || len(config.Storage.Files) != 1 || len(config.Storage.Links) != 1 || len(config.Systemd.Units) != 1 {
		t.Fatalf("%+v", config)
	}
	file, link, unit := config.Storage.Files[0], config.Storage.Links[0], config.Systemd.Units[0]
	if !unit.Enabled || !strings.Contains(unit.Contents, "ExecStart=/bin/sh "+file.Path+"\n") || link.Target != "../"+unit.Name {
		t.Errorf("%+v %+v %+v", file.Path, link, unit)
	}
	script, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(file.Contents.Source, "data:;base64,"))
	if err != nil || !strings.HasPrefix(string(script), "#!/bin/sh\n") || file.Mode != 0o755 {
		t.Errorf("%v, mode %o, %.40q", err, file.Mode, script)
	}
}

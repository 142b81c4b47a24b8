//go:build conformance

package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vmseed/vmseed/report"
)

// runReporter calls the reporter's own code on cloud-init's files, as the guest's Python would.
const runReporter = `
import json, sys
sys.path.insert(0, ".")
sys.dont_write_bytecode = True
import reporter
reporter.LOG, reporter.RUN = sys.argv[1] + "/cloud-init.log", sys.argv[1] + "/"
log = reporter.Log()
json.dump({"result": reporter.result(log, True), "modules": log.modules, "running": log.module}, sys.stdout)
`

// earlier is what an earlier boot left in the log; it must not count.
const earlier = `2020-01-01 00:00:00,000 - util.py[DEBUG]: Cloud-init v. 22.4.2 running 'init-local' at Wed, 01 Jan 2020 00:00:00 +0000. Up 9.0 seconds.
2020-01-01 00:00:00,100 - util.py[WARNING]: of an earlier boot
`

// The reporter's verdict on what two releases of cloud-init write down.
func TestReporterReadsCloudInit(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIP-MISSING: python3 is not installed")
	}
	for _, c := range []struct {
		name, log, status, result string
		want                      report.Result
		modules                   []report.Module
		// running is the stage and the part that the log begins last.
		running []string
	}{
		{
			name: "22.4, broken document",
			log: earlier + `2020-01-01 00:01:00,000 - util.py[DEBUG]: Cloud-init v. 22.4.2 running 'init-local' at Wed, 01 Jan 2020 00:01:00 +0000. Up 9.0 seconds.
2020-01-01 00:01:00,500 - handlers.py[DEBUG]: start: init-local/search-NoCloud: searching for local data from DataSourceNoCloud
2020-01-01 00:01:00,750 - handlers.py[DEBUG]: finish: init-local/search-NoCloud: SUCCESS: found local data from DataSourceNoCloud
2020-01-01 00:01:01,000 - util.py[WARNING]: Failed loading yaml blob. Invalid format at line 4 column 6: "while parsing a block mapping
  in "<unicode string>", line 4:
    password: canary
expected <block end>"
2020-01-01 00:01:02,000 - handlers.py[DEBUG]: start: modules-config/config-ssh: running config-ssh with frequency once-per-instance
2020-01-01 00:01:02,250 - handlers.py[DEBUG]: finish: modules-config/config-ssh: SUCCESS: config-ssh ran successfully
2020-01-01 00:01:03,000 - schema.py[WARNING]: Deprecated cloud-config provided:
apt_update: x
2020-01-01 00:01:04,000 - activators.py[WARNING]: Running ['netplan', 'apply'] resulted in stderr output: 
** (process:359): WARNING **: a file is too open
2020-01-01 00:01:05,000 - activators.py[WARNING]: Running ['netplan', 'apply'] failed
`,
			status: `{"v1": {"datasource": "DataSourceNoCloud", "init-local": {"start": 10.0, "finished": 11.5, "errors": []}, "init": {"start": 12, "finished": null}, "stage": null}}`,
			result: `{"v1": {"datasource": "DataSourceNoCloud [seed=/dev/vdb]", "errors": ["('scripts-user', RuntimeError('Runparts: 1 failures'))"]}}`,
			want: report.Result{FirstBoot: true, Agent: "cloud-init 22.4.2", DataSource: "DataSourceNoCloud [seed=/dev/vdb]",
				Errors:       []string{"Failed loading yaml blob. Invalid format at line 4 column 6", "('scripts-user', RuntimeError('Runparts: 1 failures'))"},
				Warnings:     []string{"Running ['netplan', 'apply'] failed"},
				Deprecations: []string{"Deprecated cloud-config provided:\napt_update: x", "Running ['netplan', 'apply'] resulted in stderr output: \n** (process:359): WARNING **: a file is too open"},
				Seconds:      map[report.Stage]float64{report.Local: 1.5}},
			running: []string{"modules-config", "ssh"},
			modules: []report.Module{
				{Stage: report.Local, Name: "search-NoCloud", Start: 9.5, Seconds: 0.25, Outcome: report.Success},
				{Stage: report.Config, Name: "ssh", Start: 11, Seconds: 0.25, Outcome: report.Success},
			},
		},
		{
			name: "25.1, recoverable errors without a log",
			status: `{"v1": {"datasource": "NoCloud", "modules-final": {"start": 1, "finished": 3, "errors": [], "recoverable_errors": {
				"WARNING": ["something recoverable", "Unhandled non-multipart (text/x-not-multipart) userdata: 'b'x'...'"], "DEPRECATED": ["old key"]}}, "stage": null}}`,
			result: `{"v1": {"datasource": "DataSourceNoCloud", "errors": []}}`,
			want: report.Result{FirstBoot: true, DataSource: "DataSourceNoCloud", Warnings: []string{"something recoverable"},
				Errors:       []string{"Unhandled non-multipart (text/x-not-multipart) userdata"},
				Deprecations: []string{"old key"}, Seconds: map[report.Stage]float64{report.Final: 2}},
		},
		{
			// The clock is set between the stages, and the zone with it.
			name: "25.1, a module that failed",
			log: `2020-01-01 00:01:00,000 - log_util.py[DEBUG]: Cloud-init v. 25.1.4 running 'init' at Wed, 01 Jan 2020 00:01:00 +0000. Up 9.00 seconds.
2020-01-01 00:01:01,000 - handlers.py[DEBUG]: start: init-network/consume-user-data: reading and applying user-data
2026-05-06 07:00:00,000 - log_util.py[DEBUG]: Cloud-init v. 25.1.4 running 'modules:final' at Wed, 06 May 2026 05:00:00 +0000. Up 20.00 seconds.
2026-05-06 07:00:00,100 - handlers.py[DEBUG]: start: modules-final/config-scripts_user: running config-scripts_user with frequency once-per-instance
2026-05-06 07:00:01,350 - handlers.py[DEBUG]: finish: modules-final/config-scripts_user: FAIL: running config-scripts_user with frequency once-per-instance
2026-05-06 07:00:01,400 - handlers.py[DEBUG]: finish: init-network/consume-user-data: SUCCESS: reading and applying user-data
2026-13-46 07:61:01,400 - handlers.py[DEBUG]: finish: init-network/consume-user-data: SUCCESS: on no day
2026-05-06 07:00:01,400 - util.py[DEBUG]: Cloud-init v. 25.1.4 running 'modules:final' at no time. Up 1.2.3 seconds.
2026-05-06 07:00:01,400 - util.py[DEBUG]: Cloud-init v. 
2026-05-06 07:00:01,400 - handlers.py[DEBUG]: finish: modules-final/config-never: SUCCESS: it did not begin
2026-05-06 07:00:01,500 - handlers.py[DEBUG]: finish: modules-final: FAIL: running modules for final
`,
			running: []string{"modules-final", ""},
			want:    report.Result{FirstBoot: true, Agent: "cloud-init 25.1.4"},
			modules: []report.Module{{Stage: report.Final, Name: "scripts_user", Start: 20.1, Seconds: 1.25, Outcome: report.Fail}},
		},
		{name: "nothing at all", want: report.Result{FirstBoot: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"cloud-init.log": c.log, "status.json": c.status, "result.json": c.result} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var words bytes.Buffer
			cmd := exec.CommandContext(t.Context(), "python3", "-c", runReporter, dir)
			cmd.Stderr = &words
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, &words)
			}
			if bytes.Contains(out, []byte("canary")) {
				t.Errorf("the report quotes the document:\n%s", out)
			}
			line := append([]byte(`{"stage":"done","seq":1,`), bytes.TrimPrefix(out, []byte("{"))...)
			m, err := report.Parse(line, "ns/vm", time.Now())
			if err != nil {
				t.Fatalf("the host does not understand it: %v", err)
			}
			if diff := cmp.Diff(c.modules, m.Event.Modules, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("modules: -want +got:\n%s", diff)
			}
			var told struct {
				Result  report.Result
				Running []string
			}
			if err := json.Unmarshal(out, &told); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.running, told.Running, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("running: -want +got:\n%s", diff)
			}
			got := told.Result
			// What the guest is, is here what this machine is.
			got.Hostname, got.HostKeys, got.Addresses, got.Mounts, got.Instance = "", nil, nil, nil, ""
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

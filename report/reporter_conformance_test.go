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
json.dump(reporter.result(reporter.Log(), True), sys.stdout)
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
	}{
		{
			name: "22.4, broken document",
			log: earlier + `2020-01-01 00:01:00,000 - util.py[DEBUG]: Cloud-init v. 22.4.2 running 'init-local' at Wed, 01 Jan 2020 00:01:00 +0000. Up 9.0 seconds.
2020-01-01 00:01:01,000 - util.py[WARNING]: Failed loading yaml blob. Invalid format at line 4 column 6: "while parsing a block mapping
  in "<unicode string>", line 4:
    password: canary
expected <block end>"
2020-01-01 00:01:02,000 - handlers.py[DEBUG]: start: modules-config/config-ssh: running config-ssh with frequency once-per-instance
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
			var got report.Result
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			// What the guest is, is here what this machine is.
			got.Hostname, got.HostKeys, got.Addresses, got.Mounts, got.Instance = "", nil, nil, nil, ""
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			line := append([]byte(`{"stage":"done","seq":1,"result":`), append(out, '}')...)
			if _, err := report.Parse(line, "ns/vm", time.Now()); err != nil {
				t.Errorf("the host does not understand it: %v", err)
			}
		})
	}
}

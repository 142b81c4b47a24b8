package report_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/report"
)

var now = time.Date(2020, 2, 2, 2, 2, 2, 0, time.UTC)

func nowIs() time.Time { return now }

func TestJudge(t *testing.T) {
	event := func(s report.Stage, r report.Result) report.Event { return report.Event{Stage: s, Result: &r} }
	clean := event(report.Done, report.Result{})
	deprecated := event(report.Done, report.Result{Deprecations: []string{"d"}})
	warned := event(report.Done, report.Result{Warnings: []string{"w"}, Deprecations: []string{"d"}})
	broken := event(report.Done, report.Result{Errors: []string{"e", "e"}, Warnings: []string{"w"}})
	failed := report.Event{Stage: report.Failed, Error: "f"}
	unfinished := report.Event{Stage: report.Final}
	for _, c := range []struct {
		name    string
		event   report.Event
		failOn  report.FailOn
		ok      bool
		reasons []string
	}{
		{"clean", clean, report.FailOnDeprecated, true, nil},
		{"deprecated", deprecated, report.FailOnWarning, true, nil},
		{"deprecated, strictly", deprecated, report.FailOnDeprecated, false, []string{"d"}},
		{"warning", warned, report.FailOnWarning, false, []string{"w"}},
		{"warning, leniently", warned, report.FailOnError, true, nil},
		{"error", broken, report.FailOnWarning, false, []string{"e", "w"}},
		{"error, leniently", broken, report.FailOnError, false, []string{"e"}},
		{"failed", failed, report.FailOnError, false, []string{"f"}},
		{"unfinished", unfinished, report.FailOnError, false, nil},
	} {
		ok, reasons := report.Judge(c.event, c.failOn)
		if ok != c.ok || !cmp.Equal(reasons, c.reasons) {
			t.Errorf("%s: %v %q, want %v %q", c.name, ok, reasons, c.ok, c.reasons)
		}
	}
}

func TestParseFailOn(t *testing.T) {
	for text, want := range map[string]report.FailOn{"": report.FailOnWarning, "error": report.FailOnError, "deprecated": report.FailOnDeprecated} {
		if got, err := report.ParseFailOn(text); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := report.ParseFailOn("never"); err == nil {
		t.Error("never is taken")
	}
}

func TestParse(t *testing.T) {
	m, err := report.Parse([]byte(`{"boot":"b1","seq":7,"stage":"done","result":{"firstBoot":true,"errors":["a\u001b[31mred\n"],
		"addresses":["10.0.0.1","fd00:0010:0244:0003:0000:0000:0000:0011"],"seconds":{"init-local":1.5,"other":2}}}`), "ns/vm", now)
	if err != nil {
		t.Fatal(err)
	}
	want := report.Event{Machine: "ns/vm", Source: report.Agent, Stage: report.Failed, Error: "a[31mred", Boot: "b1", Time: now,
		Result: &report.Result{FirstBoot: true, Errors: []string{"a[31mred"}, Addresses: []string{"10.0.0.1", "fd00:10:244:3::11"},
			Seconds: map[report.Stage]float64{report.Local: 1.5}}}
	if diff := cmp.Diff(want, m.Event); diff != "" || m.Boot != "b1" || string(m.Ack()) != "ack 7\n" {
		t.Errorf("%+v, ack %q, -want +got:\n%s", m, m.Ack(), diff)
	}
	for _, bad := range []string{"", "{", `{"stage":"elsewhere"}`, `[]`, `{"stage":"done","result":"x"}`} {
		if _, err := report.Parse([]byte(bad), "ns/vm", now); err == nil {
			t.Errorf("%q is a report", bad)
		}
	}
}

func TestParseModules(t *testing.T) {
	m, err := report.Parse([]byte(`{"boot":"b1","seq":7,"stage":"modules-config","uptime":40.5,"modules":[
		{"stage":"init-local","module":"a\u001b","start":1.5,"seconds":0.25,"outcome":"SUCCESS"},
		{"stage":"done","module":"b","start":1,"seconds":1,"outcome":"SUCCESS"},
		{"stage":"init-local","module":"","start":1,"seconds":1,"outcome":"SUCCESS"},
		{"stage":"init-local","module":"c","start":-1,"seconds":1,"outcome":"SUCCESS"},
		{"stage":"init-local","module":"d","start":1,"seconds":-1,"outcome":"SUCCESS"},
		{"stage":"init-local","module":"e","start":1e300,"seconds":1,"outcome":"SUCCESS"},
		{"stage":"init-local","module":"f","start":1,"seconds":1,"outcome":"done"}]}`), "ns/vm", now)
	if err != nil {
		t.Fatal(err)
	}
	want := report.Event{Machine: "ns/vm", Source: report.Agent, Stage: report.Config, Boot: "b1", Time: now, Uptime: 40.5,
		Modules: []report.Module{{Stage: report.Local, Name: "a", Start: 1.5, Seconds: 0.25, Outcome: report.Success}}}
	if diff := cmp.Diff(want, m.Event); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// FuzzParse holds what a hostile guest can say within bounds and fit for a terminal.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"boot":"b","seq":1,"stage":"done","result":{"hostKeys":["\u0007"],"mounts":[{"device":"\u009b"}]}}`))
	f.Add([]byte(`{"stage":"done","uptime":1e300,"modules":[{"stage":"init-local","module":"\u0007x","start":1,"seconds":2,"outcome":"WARN"}]}`))
	f.Add([]byte(`{"stage":"init-network","module":"` + strings.Repeat("x", 5000) + `"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := report.Parse(line, "ns/vm", now)
		if err != nil {
			return
		}
		text, err := json.Marshal(m.Event)
		if err != nil {
			t.Fatal(err)
		}
		var event any
		if err := json.Unmarshal(text, &event); err != nil {
			t.Fatal(err)
		}
		sane(t, event)
	})
}

func sane(t *testing.T, v any) {
	switch v := v.(type) {
	case string:
		if len(v) > 2100 || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			t.Errorf("the text %.60q… of %d bytes", v, len(v))
		}
	case []any:
		if len(v) > 200 {
			t.Errorf("a list of %d", len(v))
		}
		for _, x := range v {
			sane(t, x)
		}
	case map[string]any:
		for _, x := range v {
			sane(t, x)
		}
	}
}

// The lines are those that cloud-init 22.4.2 of Debian 12 prints on a serial console.
func TestConsole(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGR1bW15ZHVtbXlkdW1teWR1bW15ZHVtbXlkdW1teTAx root@vm"
	output := "[    0.000000] Linux version\r\n" +
		"[   30.1] cloud-init[300]: Cloud-init v. 22.4.2 running 'init-local' at Sat, 01 Jan 2020 00:00:00 +0000. Up 30.0 seconds.\r\n" +
		"[   31.2] cloud-init[310]: Cloud-init v. 22.4.2 running 'init' at Sat, 01 Jan 2020 00:00:01 +0000. Up 31.0 seconds.\r\n" +
		"\x1b[0;32m  OK  \x1b[0m 2020-01-01 00:00:02,000 - util.py[WARNING]: not at the start of a line\r\n" +
		"[   32.0] cloud-init[310]: 2020-01-01 00:00:02,000 - util.py[WARNING]: Failed loading yaml blob. Invalid format at line 4 column 6: \"while parsing: canary\r\n" +
		"2020-01-01 00:00:03,000 - cc_x.py[WARNING]: something went wrong\r\n" +
		"-----BEGIN SSH HOST KEY KEYS-----\r\n" + key + "\r\nnot a key\r\n-----END SSH HOST KEY KEYS-----\r\n" +
		"[   40.0] cloud-init[400]: Cloud-init v. 22.4.2 finished at Sat, 01 Jan 2020 00:00:10 +0000. Datasource DataSourceNoCloud [seed=/dev/vdb][dsmode=net].  Up 40.00 seconds\r\n"
	want := []report.Event{
		{Stage: report.Local}, {Stage: report.Init},
		{Stage: report.Failed, Error: "Failed loading yaml blob. Invalid format at line 4 column 6", Result: &report.Result{
			FirstBoot: true, DataSource: "DataSourceNoCloud [seed=/dev/vdb][dsmode=net]", Agent: "cloud-init 22.4.2",
			Errors:   []string{"Failed loading yaml blob. Invalid format at line 4 column 6"},
			Warnings: []string{"something went wrong"}, HostKeys: []string{key}}},
	}
	for i := range want {
		want[i].Machine, want[i].Source, want[i].Time = "ns/vm", report.SerialConsole, now
	}
	for _, piece := range []int{1, 7, len(output)} {
		var got []report.Event
		c := report.NewConsole("ns/vm", func() time.Time { return now }, func(e report.Event) { got = append(got, e) })
		for rest := []byte(output); len(rest) > 0; {
			n := min(piece, len(rest))
			if _, err := c.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pieces of %d: -want +got:\n%s", piece, diff)
		}
	}
}

// A guest without cloud-init ends at its prompt, which has no end of line; a changed final message hides nothing.
func TestConsoleWithoutFinalMessage(t *testing.T) {
	read := func(output string) (got []report.Event) {
		c := report.NewConsole("ns/vm", func() time.Time { return now }, func(e report.Event) { got = append(got, e) })
		_, _ = c.Write([]byte(output))
		return got
	}
	if got := read("Debian GNU/Linux 12 vm ttyS0\r\n\r\nvm login: "); len(got) != 1 || got[0].Stage != report.Failed || !strings.Contains(got[0].Error, "no sign of cloud-init") {
		t.Errorf("at the prompt: %+v", got)
	}
	began := "Cloud-init v. 22.4.2 running 'modules:final' at x. Up 1 seconds.\r\n"
	if got := read(began + "vm login: "); len(got) != 1 {
		t.Errorf("at the prompt while cloud-init works: %+v", got)
	}
	got := read(began + "[  OK  ] Reached target \x1b[0;1;39mcloud-init.target\x1b[0m - Cloud-init target.\r\n")
	if len(got) != 2 || got[1].Stage != report.Done || got[1].Result.Agent != "cloud-init 22.4.2" {
		t.Errorf("at systemd's target: %+v", got)
	}
}

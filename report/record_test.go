package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/report"
)

// post makes the body that cloud-init posts of an event.
func post(kind, name, text, rest string) string {
	return fmt.Sprintf(`{"name": %q, "description": %q, "event_type": %q, "origin": "cloudinit", "timestamp": 1577836800.25%s}`, name, text, kind, rest)
}

// start and finish are those of a module.
func start(stage, module, frequency string) string {
	return post("start", stage+"/config-"+module, "running config-"+module+" with frequency "+frequency, "")
}

func finish(stage, module, text, outcome string) string {
	return post("finish", stage+"/config-"+module, text, `, "result": "`+outcome+`"`)
}

func ended(stage, outcome, rest string) string {
	return post("finish", stage, "running modules for "+stage, `, "result": "`+outcome+`"`+rest)
}

// hear returns what a record passes on of the bodies, as "stage module error" each, and the last event.
func hear(t *testing.T, r *report.Record, bodies ...string) (heard []string, last report.Event) {
	t.Helper()
	for _, body := range bodies {
		w, err := report.ParseWebhook([]byte(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if e, ok := r.Webhook(w, "ns/vm", nowIs()); ok {
			heard = append(heard, strings.TrimSpace(strings.Join([]string{string(e.Stage), e.Module, e.Error}, " ")))
			last = e
		}
	}
	return heard, last
}

func TestParseWebhook(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       report.Webhook
		err        string
	}{
		{"start of a module", start("modules-config", "ssh_import_id", "once-per-instance"),
			report.Webhook{Stage: report.Config, Part: "config-ssh_import_id", Text: "running config-ssh_import_id with frequency once-per-instance"}, ""},
		{"finish of a stage of a newer release", ended("modules-final", "WARN", `, "duration": 3.25, "files": [{"path": "/x", "encoding": "base64", "content": "eA=="}]`),
			report.Webhook{Stage: report.Final, Finish: true, Outcome: report.Warn, Text: "running modules for modules-final", Seconds: 3.25}, ""},
		{"part with a slash", post("start", "init-network/search-NoCloud/x", "d", ""), report.Webhook{Stage: report.Init, Part: "search-NoCloud/x", Text: "d"}, ""},
		{"a user's command", post("start", "single/phone_home", "running single module", ""), report.Webhook{Text: "running single module"}, ""},
		{"control characters", `{"name":"init-local/a\u001b[2J","description":"\u0007\u202ex\ny","event_type":"start"}`,
			report.Webhook{Stage: report.Local, Part: "a[2J", Text: "x y"}, ""},
		{"no name", `{"event_type":"start"}`, report.Webhook{}, "the event has no name"},
		{"no type", `{"name":"init-local"}`, report.Webhook{}, "the event is neither a start nor a finish"},
		{"no result", `{"name":"init-local","event_type":"finish"}`, report.Webhook{}, "the event has no known result"},
		{"another result", `{"name":"init-local","event_type":"finish","result":"canary"}`, report.Webhook{}, "the event has no known result"},
		{"no JSON", `canary`, report.Webhook{}, "the event is no JSON of cloud-init's: bad syntax at byte 1"},
		{"another type", `{"name":["canary"]}`, report.Webhook{}, "the event is no JSON of cloud-init's: wrong type at byte 9"},
		{"a number out of range", `{"name":"a","duration":1e999}`, report.Webhook{}, "the event is no JSON of cloud-init's: wrong type at byte 28"},
		{"nothing", ``, report.Webhook{}, "the event is no JSON of cloud-init's: bad syntax at byte 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := report.ParseWebhook([]byte(c.body))
			if fmt.Sprint(err) != c.err && (err != nil || c.err != "") {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestParsePhoneHome(t *testing.T) {
	const rsa, ed = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB root@vm", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA root@vm"
	const form = "pub_key_rsa=ssh-rsa+AAAAB3NzaC1yc2EAAAADAQAB+root%40vm%0A&pub_key_ecdsa=N%2FA&pub_key_ed25519=ssh-ed25519+AAAAC3NzaC1lZDI1NTE5AAAA+root%40vm%0A" +
		"&instance_id=i-1&hostname=vm&fqdn=vm.example.org"
	whole := report.PhoneHome{Instance: "i-1", Hostname: "vm", FQDN: "vm.example.org", HostKeys: []string{ed, rsa}}
	old := whole
	old.HostKeys = append([]string{}, ed, rsa, "ssh-dss AAAAB3NzaC1kc3MAAACBAA== root@vm")
	for _, c := range []struct {
		name, body string
		want       report.PhoneHome
		err        string
	}{
		{"all fields", form, whole, ""},
		{"of 22.4", form + "&pub_key_dsa=ssh-dss+AAAAB3NzaC1kc3MAAACBAA%3D%3D+root%40vm%0A", old, ""},
		{"an author's choice", "hostname=vm", report.PhoneHome{Hostname: "vm"}, ""},
		{"nothing there", "hostname=N%2FA&pub_key_rsa=N%2FA", report.PhoneHome{}, ""},
		{"no key", "pub_key_rsa=PRIVATE+x&pub_key_ed25519=ssh-ed25519+%1b%5b2J", report.PhoneHome{}, ""},
		{"two lines in a field", "pub_key_rsa=ssh-rsa+AAAAB3NzaC1yc2EAAAADAQAB%0aevil.example+ssh-rsa+AAAA",
			report.PhoneHome{HostKeys: []string{"ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB evil.example ssh-rsa AAAA"}}, ""},
		{"foreign fields", "canary=1", report.PhoneHome{}, "phone_home posted none of its fields"},
		{"nothing", "", report.PhoneHome{}, "phone_home posted none of its fields"},
		{"no form", "hostname=%zzcanary", report.PhoneHome{}, "phone_home posted no form"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := report.ParsePhoneHome([]byte(c.body))
			if fmt.Sprint(err) != c.err && (err != nil || c.err != "") {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What is made of the events of whole boots. Events of what comes before cloud-init has read its user-data are missing, as
// in a guest.
func TestRecord(t *testing.T) {
	const once, always, ran, before = "once-per-instance", "always", " ran successfully and took 0.001 seconds", " previously ran"
	home := func(r *report.Record) {
		r.PhoneHome(report.PhoneHome{Instance: "i-1", FQDN: "vm.example.org", HostKeys: []string{"ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"}})
	}
	good := []string{
		post("start", "init-network/activate-datasource", "activating datasource", ""),
		post("finish", "init-network/activate-datasource", "activating datasource", `, "result": "SUCCESS"`),
		start("init-network", "ssh", once), finish("init-network", "ssh", "config-ssh"+ran, "SUCCESS"),
		ended("init-network", "SUCCESS", ""),
		start("modules-final", "scripts-user", once), finish("modules-final", "scripts-user", "config-scripts-user ran successfully", "SUCCESS"),
	}
	for _, c := range []struct {
		name   string
		record report.Record
		prior  func(*report.Record)
		bodies []string
		heard  []string
		last   report.Event
	}{
		{"first boot", report.Record{Agent: "cloud-init\a 25.1.4"}, home, append(good[:len(good):len(good)], ended("modules-final", "SUCCESS", `, "duration": 2.5`)),
			[]string{"init-network activate-datasource", "init-network ssh", "modules-final scripts-user", "done"},
			report.Event{Stage: report.Done, Result: &report.Result{Instance: "i-1", FirstBoot: true, Agent: "cloud-init 25.1.4", Hostname: "vm.example.org",
				HostKeys: []string{"ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"}, Seconds: map[report.Stage]float64{report.Final: 2.5}}}},
		{"later boot", report.Record{}, nil,
			[]string{start("init-network", "seed_random", always), finish("init-network", "seed_random", "config-seed_random"+ran, "SUCCESS"),
				start("init-network", "ssh", once), finish("init-network", "ssh", "config-ssh"+before, "SUCCESS"), ended("modules-final", "SUCCESS", "")},
			[]string{"init-network seed_random", "init-network ssh", "done"}, report.Event{Stage: report.Done, Result: &report.Result{}}},
		{"an image in which a module ran once for all", report.Record{}, nil,
			[]string{start("modules-config", "x", "once"), finish("modules-config", "x", "config-x"+before, "SUCCESS"),
				start("modules-config", "y", once), finish("modules-config", "y", "config-y"+ran, "SUCCESS"), ended("modules-final", "SUCCESS", "")},
			[]string{"modules-config x", "modules-config y", "done"}, report.Event{Stage: report.Done, Result: &report.Result{FirstBoot: true}}},
		{"first boot in two", report.Record{}, nil,
			[]string{start("modules-config", "a", once), finish("modules-config", "a", "running config-a with frequency once-per-instance", "FAIL"),
				start("init-network", "ssh", once), finish("init-network", "ssh", "config-ssh"+before, "SUCCESS"), ended("modules-final", "SUCCESS", "")},
			[]string{"modules-config a", "modules-config a modules-config: the module a failed", "init-network ssh", "failed  modules-config: the module a failed"},
			report.Event{Stage: report.Failed, Error: "modules-config: the module a failed",
				Result: &report.Result{FirstBoot: true, Errors: []string{"modules-config: the module a failed"}}}},
		{"modules fail and warn", report.Record{}, nil,
			[]string{finish("modules-config", "apt_configure", "running config-apt_configure with frequency once-per-instance", "FAIL"), ended("modules-config", "FAIL", ""),
				finish("modules-final", "x", "the disk is full", "WARN"), post("finish", "modules-final/other", "it broke", `, "result": "FAIL"`), ended("modules-final", "FAIL", "")},
			[]string{"modules-config apt_configure modules-config: the module apt_configure failed", "modules-final x",
				"modules-final other modules-final: other failed: it broke", "failed  modules-config: the module apt_configure failed"},
			report.Event{Stage: report.Failed, Error: "modules-config: the module apt_configure failed", Result: &report.Result{FirstBoot: true,
				Errors:   []string{"modules-config: the module apt_configure failed", "modules-final: other failed: it broke"},
				Warnings: []string{"modules-final: the module x warned: the disk is full"}}}},
		{"only warnings", report.Record{}, home, []string{ended("modules-final", "WARN", "")}, []string{"done"},
			report.Event{Stage: report.Done, Result: &report.Result{Instance: "i-1", FirstBoot: true, Hostname: "vm.example.org",
				HostKeys: []string{"ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"}, Warnings: []string{"modules-final: the stage warned; cloud-init did not say where"}}}},
		{"an exception of the stage", report.Record{}, nil, []string{ended("init-network", "FAIL", ""), ended("modules-final", "SUCCESS", "")},
			[]string{"init-network  init-network: the stage failed; cloud-init did not say where", "failed  init-network: the stage failed; cloud-init did not say where"},
			report.Event{Stage: report.Failed, Error: "init-network: the stage failed; cloud-init did not say where",
				Result: &report.Result{Errors: []string{"init-network: the stage failed; cloud-init did not say where"}}}},
		{"commands of a user", report.Record{}, nil, []string{post("start", "single/x", "x", ""), post("finish", "single/x", "x", `, "result": "FAIL"`)}, nil, report.Event{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.record
			if c.prior != nil {
				c.prior(&r)
			}
			heard, last := hear(t, &r, c.bodies...)
			if diff := cmp.Diff(c.heard, heard); diff != "" {
				t.Errorf("heard: -want +got:\n%s", diff)
			}
			if c.last.Stage != "" {
				c.last.Machine, c.last.Source, c.last.Time = "ns/vm", report.HTTP, nowIs()
			}
			if diff := cmp.Diff(c.last, last); diff != "" {
				t.Errorf("last: -want +got:\n%s", diff)
			}
		})
	}
}

// A boot after the final word starts over, and keeps what is true of the machine.
func TestRecordOfNextBoot(t *testing.T) {
	r := report.Record{Instance: "i-1", HostKeys: []string{"k"}}
	hear(t, &r, finish("modules-config", "a", "running config-a with frequency once-per-instance", "FAIL"), ended("modules-final", "SUCCESS", ""))
	_, last := hear(t, &r, start("init-local", "x", "always"), ended("modules-final", "SUCCESS", ""))
	want := &report.Result{Instance: "i-1", HostKeys: []string{"k"}}
	if diff := cmp.Diff(want, last.Result); diff != "" || last.Stage != report.Done {
		t.Errorf("%s, -want +got:\n%s", last.Stage, diff)
	}
}

// A record that was written down goes on where it was.
func TestRecordIsKept(t *testing.T) {
	bodies := []string{start("modules-config", "a", "once-per-instance"), finish("modules-config", "a", "running config-a with frequency once-per-instance", "FAIL"),
		finish("modules-config", "b", "text", "WARN"), ended("modules-config", "FAIL", `, "duration": 1.5`), ended("modules-final", "SUCCESS", "")}
	var whole report.Record
	_, want := hear(t, &whole, bodies...)
	for cut := range bodies {
		var r report.Record
		hear(t, &r, bodies[:cut]...)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again report.Record
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		again.Clean()
		_, got := hear(t, &again, bodies[cut:]...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("restart after %d events: -want +got:\n%s", cut, diff)
		}
	}
}

// unclean returns why an event must not reach a terminal, or nothing.
func unclean(e report.Event) string {
	text, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	if len(text) > 2<<20 {
		return fmt.Sprintf("it has %d bytes", len(text))
	}
	var walk func(v any) string
	walk = func(v any) string {
		switch v := v.(type) {
		case string:
			if i := strings.IndexFunc(v, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
				return fmt.Sprintf("%q", v[i:min(i+20, len(v))])
			}
			if len(v) > 2100 {
				return fmt.Sprintf("a text of %d bytes", len(v))
			}
		case map[string]any:
			for _, x := range v {
				if s := walk(x); s != "" {
					return s
				}
			}
		case []any:
			if len(v) > 200 {
				return fmt.Sprintf("a list of %d", len(v))
			}
			for _, x := range v {
				if s := walk(x); s != "" {
					return s
				}
			}
		}
		return ""
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err.Error()
	}
	return walk(v)
}

// FuzzHTTP posts anything to every parser. What comes of it is fit for a terminal, and no panic.
func FuzzHTTP(f *testing.F) {
	f.Add([]byte(start("modules-final", "x", "once-per-instance")), "Cloud-Init/25.1.4", uint8(0))
	f.Add([]byte(ended("modules-final", "FAIL", `, "duration": 1e308`)), "Cloud-Init/\x1b[2J", uint8(0))
	f.Add([]byte("hostname=%1b%5b2J&pub_key_rsa=ssh-rsa+AAAAB3NzaC1yc2EAAAADAQAB%0a"), "", uint8(1))
	f.Add([]byte(`{"boot":"b","seq":1,"stage":"done","result":{"errors":["\u001b"],"seconds":{"x":1}}}`), "", uint8(2))
	f.Fuzz(func(t *testing.T, body []byte, agent string, way uint8) {
		r := report.Record{Agent: report.UserAgent(agent)}
		var events []report.Event
		switch way % 3 {
		case 0:
			if w, err := report.ParseWebhook(body); err == nil {
				if e, ok := r.Webhook(w, "ns/vm", nowIs()); ok {
					events = append(events, e)
				}
			}
		case 1:
			if p, err := report.ParsePhoneHome(body); err == nil {
				r.PhoneHome(p)
			}
		case 2:
			if m, err := report.ParseCheckIn(body, "ns/vm", nowIs()); err == nil {
				events = append(events, m.Event)
			}
		}
		if e, ok := r.Webhook(report.Webhook{Stage: report.Final, Finish: true, Outcome: report.Success}, "ns/vm", nowIs()); ok {
			events = append(events, e)
		}
		for _, e := range events {
			if why := unclean(e); why != "" {
				t.Errorf("%+v: %s", e, why)
			}
		}
	})
}

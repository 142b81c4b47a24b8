package intake_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/report/intake"
	"github.com/vmseed/vmseed/secret"
)

var start = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

// desk is an intake with everything around it.
type desk struct {
	*intake.Intake
	key    secret.Text
	now    time.Time
	mutex  sync.Mutex
	events []report.Event
	kept   map[string][]byte
	refuse error
	// patience is that of the next intake to be made, told gets its events too.
	patience time.Duration
	told     chan report.Event
	log      bytes.Buffer
}

func newDesk(sender func(context.Context) (string, bool)) *desk {
	d := &desk{key: secret.New("0123456789abcdef"), now: start, kept: map[string][]byte{}}
	d.open(sender)
	return d
}

// open makes the desk's intake, or a new one as after a restart.
func (d *desk) open(sender func(context.Context) (string, bool)) {
	d.Intake = intake.New(d.key, func(e report.Event) {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		d.events = append(d.events, e)
		if d.told != nil {
			d.told <- e
		}
	}, intake.Options{
		Patience: d.patience,
		Sender:   sender,
		Now:      func() time.Time { return d.now },
		Log:      slog.New(slog.NewTextHandler(&d.log, nil)),
		Keep: func(machine string, state []byte) error {
			if d.refuse != nil {
				return d.refuse
			}
			d.mutex.Lock()
			defer d.mutex.Unlock()
			d.kept[machine] = state
			return nil
		},
	})
}

// url returns where a machine's instance reports.
func (d *desk) url(machine, instance string) string {
	return "/" + intake.Path(d.key, machine, instance).Reveal()
}

// do makes a request and returns the answer.
func (d *desk) do(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://host/", strings.NewReader(body))
	r.URL.Path, r.URL.RawPath = path, ""
	r.Header.Set("User-Agent", "Cloud-Init/25.1.4")
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// post posts and returns the status.
func (d *desk) post(path, body string) int { return d.do(http.MethodPost, path, body).Code }

// stages returns what was passed on so far, without more than stage and module.
func (d *desk) stages() (got []string) {
	for _, e := range d.events {
		got = append(got, strings.TrimSpace(e.Machine+" "+string(e.Stage)+" "+e.Module))
	}
	return got
}

const (
	module = `{"name":"modules-final/config-x","description":"running config-x with frequency once-per-instance","event_type":"start","origin":"cloudinit","timestamp":1}`
	ran    = `{"name":"modules-final/config-x","description":"config-x ran successfully","event_type":"finish","result":"SUCCESS","timestamp":2}`
	broken = `{"name":"modules-config/config-y","description":"running config-y with frequency once-per-instance","event_type":"finish","result":"FAIL","timestamp":0}`
	done   = `{"name":"modules-final","description":"running modules for final","event_type":"finish","result":"SUCCESS","timestamp":3}`
	home   = "hostname=vm&instance_id=i-1&pub_key_rsa=ssh-rsa+AAAAB3NzaC1yc2EAAAADAQAB"
	alive  = `{"boot":"b-1","seq":1,"stage":"modules-final"}`
	ready  = `{"boot":"b-1","seq":2,"stage":"done","result":{"firstBoot":true,"agent":"Ignition 2.14.0","warnings":["the unit x failed"]}}`
	later  = `{"boot":"b-2","seq":2,"stage":"done","result":{"firstBoot":false,"agent":"Ignition 2.14.0"}}`
)

// A first boot of cloud-init: its events with phone_home's words, and nothing after the final one.
func TestFirstBoot(t *testing.T) {
	d := newDesk(nil)
	if err := d.Open("ns/vm", "i-1", nil); err != nil {
		t.Fatal(err)
	}
	url := d.url("ns/vm", "i-1")
	for _, c := range []struct {
		way, body string
		status    int
	}{
		{"/webhook", module, 204}, {"/webhook", module, 204}, {"/webhook", ran, 204}, {"/phone-home", home, 204}, {"/webhook", "{", 400},
		{"/phone-home", "x", 400}, {"/webhook", done, 204}, {"/webhook", done, 204}, {"/webhook", module, 404}, {"/phone-home", home, 404},
		{"/phone-home", done, 404}, {"/check-in", ready, 404},
	} {
		if got := d.post(url+c.way, c.body); got != c.status {
			t.Errorf("%s %s: status %d, want %d", c.way, c.body, got, c.status)
		}
	}
	want := []report.Event{
		{Machine: "ns/vm", Source: report.HTTP, Stage: report.Final, Module: "x", Time: start},
		{Machine: "ns/vm", Source: report.HTTP, Stage: report.Done, Time: start, Result: &report.Result{Instance: "i-1", FirstBoot: true,
			Agent: "cloud-init 25.1.4", Hostname: "vm", HostKeys: []string{"ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"}}},
	}
	if diff := cmp.Diff(want, d.events); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if ok, reasons := report.Judge(d.events[1], report.FailOnDeprecated); !ok {
		t.Error(reasons)
	}
}

// A guest of Ignition, and Afterburn's check-in.
func TestCheckIn(t *testing.T) {
	d := newDesk(nil)
	_ = d.Open("ns/a", "i-1", nil)
	_ = d.Open("ns/b", "i-1", nil)
	a, b := d.url("ns/a", "i-1")+"/check-in", d.url("ns/b", "i-1")+"/afterburn"
	for _, body := range []string{alive, alive, later, later, alive, ready, ready} {
		if got := d.post(a, body); got != 204 {
			t.Errorf("%s: status %d", body, got)
		}
	}
	for range 2 {
		if got := d.post(b, ""); got != 204 {
			t.Errorf("Afterburn: status %d", got)
		}
	}
	if diff := cmp.Diff([]string{"ns/a modules-final", "ns/a done", "ns/a done", "ns/b done"}, d.stages()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if r := d.events[1].Result; r.FirstBoot || d.events[1].Source != report.HTTP {
		t.Errorf("a later boot is taken for a first one: %+v", r)
	}
	if r := d.events[2].Result; !r.FirstBoot || len(r.Warnings) != 1 {
		t.Errorf("%+v", r)
	}
}

// A guest that reports in two ways has one final word: the reporter's, or else the webhook's after a while.
func TestReporterAndWebhook(t *testing.T) {
	const hello = `{"boot":"b-1","seq":1,"stage":"init-network"}`
	const said = `{"boot":"b-1","seq":2,"stage":"done","result":{"firstBoot":true,"errors":["a reason"]}}`
	for _, c := range []struct {
		name  string
		words [][2]string
		want  []string
		late  int // the status of a webhook's event after it all
	}{
		{"reporter after webhook", [][2]string{{"/check-in", hello}, {"/webhook", broken}, {"/webhook", done}, {"/webhook", done}, {"/check-in", said}},
			[]string{"ns/vm init-network", "ns/vm modules-config y", "ns/vm failed"}, 204},
		{"reporter before webhook", [][2]string{{"/webhook", broken}, {"/check-in", hello}, {"/check-in", said}, {"/webhook", done}},
			[]string{"ns/vm modules-config y", "ns/vm failed"}, 204},
		{"no reporter", [][2]string{{"/webhook", broken}, {"/webhook", done}}, []string{"ns/vm modules-config y", "ns/vm failed"}, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(nil)
			_ = d.Open("ns/vm", "i-1", nil)
			url := d.url("ns/vm", "i-1")
			for _, word := range c.words {
				if got := d.post(url+word[0], word[1]); got != 204 {
					t.Errorf("%s: status %d", word, got)
				}
			}
			if diff := cmp.Diff(c.want, d.stages()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if last := d.events[len(d.events)-1]; (last.Error == "a reason") != (c.name != "no reporter") {
				t.Errorf("%+v", last)
			}
			if got := d.post(url+"/webhook", module); got != c.late {
				t.Errorf("a late event: status %d", got)
			}
			d.now = d.now.Add(2 * time.Minute)
			if got := d.post(url+"/webhook", ran); got != 404 || len(d.events) != len(c.want) {
				t.Errorf("an event much later: status %d", got)
			}
		})
	}
	t.Run("reporter falls silent", func(t *testing.T) {
		d := newDesk(nil)
		d.patience, d.told = time.Millisecond, make(chan report.Event, 10)
		d.open(nil)
		_ = d.Open("ns/vm", "i-1", nil)
		url := d.url("ns/vm", "i-1")
		d.post(url+"/check-in", hello)
		d.post(url+"/webhook", broken)
		d.post(url+"/webhook", done)
		_ = d.Open("ns/vm", "i-1", nil) // as a caller does who reads its definitions again
		for e := range d.told {
			if e.Stage.Ended() {
				if e.Stage != report.Failed || !e.Result.FirstBoot {
					t.Errorf("%+v", e)
				}
				break
			}
		}
		// The guest's mutex is held until the word is kept.
		if got := d.post(url+"/check-in", said); got != 404 {
			t.Errorf("the reporter after all: status %d", got)
		}
	})
}

// TestNextInstance: a machine that becomes another instance has another URL, which is open.
func TestNextInstance(t *testing.T) {
	d := newDesk(nil)
	_ = d.Open("ns/vm", "i-1", nil)
	one, two := d.url("ns/vm", "i-1"), d.url("ns/vm", "i-2")
	for _, body := range []string{broken, module, ran, done} {
		d.post(one+"/webhook", body)
	}
	_ = d.Open("ns/vm", "i-1", nil) // a start of the same instance opens nothing
	if got := d.post(one+"/webhook", module); got != 404 {
		t.Errorf("the first instance once more: status %d", got)
	}
	if err := d.Open("ns/vm", "i-2", d.kept["ns/vm"]); err != nil {
		t.Fatal(err)
	}
	if got := d.post(one+"/webhook", module); got != 404 {
		t.Errorf("the first instance after it: status %d", got)
	}
	for _, body := range []string{module, ran, done} {
		if got := d.post(two+"/webhook", body); got != 204 {
			t.Errorf("the second instance: status %d", got)
		}
	}
	if e := d.events[len(d.events)-1]; e.Stage != report.Done || len(e.Result.Errors) > 0 {
		t.Errorf("the second instance has what the first did: %+v", e)
	}
}

// changing is a body in whose middle something happens.
type changing struct {
	io.Reader
	change func()
}

func (c *changing) Read(p []byte) (int, error) {
	if c.change != nil {
		c.change()
		c.change = nil
	}
	return c.Reader.Read(p)
}

// TestWordOfAnother: who begins a word as one instance and ends it as another's has ended, or as nobody, has said nothing.
func TestWordOfAnother(t *testing.T) {
	d := newDesk(nil)
	for name, change := range map[string]func(){"next instance": func() { _ = d.Open("ns/vm", "i-2", nil) }, "closed": func() { d.Close("ns/vm") }} {
		d.Close("ns/vm")
		_ = d.Open("ns/vm", "i-1", nil)
		r := httptest.NewRequest(http.MethodPost, d.url("ns/vm", "i-1")+"/check-in", &changing{strings.NewReader(ready), change})
		w := httptest.NewRecorder()
		if d.ServeHTTP(w, r); w.Code != 404 || len(d.events) > 0 {
			t.Errorf("%s: status %d, %v", name, w.Code, d.stages())
		}
	}
}

// A restart between any two words changes nothing of what is heard; what cannot be kept is asked for again.
func TestRestart(t *testing.T) {
	words := [][2]string{{"/webhook", broken}, {"/phone-home", home}, {"/webhook", module}, {"/webhook", ran}, {"/webhook", done}}
	var want report.Event
	for cut := range len(words) + 1 {
		d := newDesk(nil)
		_ = d.Open("ns/vm", "i-1", nil)
		url := d.url("ns/vm", "i-1")
		for i, word := range words {
			if i == cut {
				d.open(nil)
				if err := d.Open("ns/vm", "i-1", d.kept["ns/vm"]); err != nil {
					t.Fatal(err)
				}
			}
			if got := d.post(url+word[0], word[1]); got != 204 {
				t.Errorf("restart at %d: %s: status %d", cut, word, got)
			}
		}
		last := d.events[len(d.events)-1]
		if cut == 0 {
			want = last
		}
		if diff := cmp.Diff(want, last); diff != "" || last.Stage != report.Failed || len(last.Result.HostKeys) != 1 {
			t.Errorf("restart at %d: -want +got:\n%s", cut, diff)
		}
		heard := len(d.events)
		d.open(nil)
		if err := d.Open("ns/vm", "i-1", d.kept["ns/vm"]); err != nil {
			t.Fatal(err)
		}
		if again, other := d.post(url+"/webhook", done), d.post(url+"/webhook", module); again != 204 || other != 404 || len(d.events) != heard {
			t.Errorf("after the end and a restart: %d and %d, %d events more", again, other, len(d.events)-heard)
		}
	}
	if err := newDesk(nil).Open("ns/vm", "i-1", []byte("canary")); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a state that is none: %v", err)
	}
}

// A webhook's final word that waits for the reporter's is not lost in a restart, and neither is the reporter's that comes then.
func TestRestartWhileWaiting(t *testing.T) {
	const said = `{"boot":"b-1","seq":2,"stage":"done","result":{"firstBoot":true,"errors":["a reason"]}}`
	for name, word := range map[string]string{"falls silent": "", "speaks": said} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(nil)
			d.patience = time.Hour
			d.open(nil)
			_ = d.Open("ns/vm", "i-1", nil)
			url := d.url("ns/vm", "i-1")
			for _, word := range [][2]string{{"/check-in", alive}, {"/webhook", broken}, {"/webhook", done}} {
				if got := d.post(url+word[0], word[1]); got != 204 {
					t.Errorf("%s: status %d", word, got)
				}
			}
			if got := d.stages(); len(got) != 2 {
				t.Fatalf("heard so far: %q", got)
			}
			if word == "" {
				d.patience = time.Millisecond
			}
			d.told = make(chan report.Event, 10)
			d.open(nil)
			if err := d.Open("ns/vm", "i-1", d.kept["ns/vm"]); err != nil {
				t.Fatal(err)
			}
			if word != "" {
				d.post(url+"/check-in", word)
			}
			last := <-d.told
			if last.Stage != report.Failed || last.Result == nil || !last.Result.FirstBoot || (last.Error == "a reason") != (word != "") {
				t.Errorf("%+v", last)
			}
			// The guest's mutex is held until the word is kept.
			if got := d.post(url+"/check-in", ready); got != 404 {
				t.Errorf("after the end: status %d", got)
			}
			if kept := string(d.kept["ns/vm"]); strings.Contains(kept, "waiting") {
				t.Errorf("kept is %s", kept)
			}
		})
	}
}

func TestNotKept(t *testing.T) {
	d := newDesk(nil)
	_ = d.Open("ns/vm", "i-1", nil)
	url := d.url("ns/vm", "i-1") + "/webhook"
	d.refuse = errors.New("no space")
	if a, b := d.post(url, module), d.post(url, ran); a != 204 || b != 204 {
		t.Errorf("what can be lost: %d, %d", a, b)
	}
	w := d.do(http.MethodPost, url, done)
	if w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("the final word: %d", w.Code)
	}
	d.refuse = nil
	if got := d.post(url, done); got != 204 {
		t.Errorf("the final word again: %d", got)
	}
	last := d.events[len(d.events)-1]
	if !last.Result.FirstBoot || len(d.kept["ns/vm"]) == 0 || d.post(url, module) != 404 {
		t.Errorf("%+v", last)
	}
}

// What is too long, too much or too fast is dropped, and the final word is heard all the same.
func TestBounds(t *testing.T) {
	d := newDesk(nil)
	_ = d.Open("ns/vm", "i-1", nil)
	url := d.url("ns/vm", "i-1") + "/webhook"
	if got := d.post(url, strings.Repeat(" ", intake.MaxBody-len(module))+module); got != 204 {
		t.Errorf("%d bytes: status %d", intake.MaxBody, got)
	}
	if got := d.post(url, strings.Repeat(" ", intake.MaxBody+1-len(module))+module); got != 413 {
		t.Errorf("a byte more: status %d", got)
	}
	numbered := func(i int) string {
		return strings.Replace(module, `"timestamp":1`, fmt.Sprintf(`"timestamp":%d`, i), 1)
	}
	taken := 0
	for i := range 1000 {
		if d.post(url, numbered(i)) == 204 {
			taken++
		}
	}
	if taken < 200 || taken > 400 {
		t.Errorf("%d of 1000 events at once are taken", taken)
	}
	d.now = d.now.Add(time.Second)
	for i := range 5000 {
		d.now = d.now.Add(100 * time.Millisecond)
		if got := d.post(url, numbered(2000+i)); got != 204 {
			t.Fatalf("event %d: status %d", i, got)
		}
	}
	if n := len(d.events); n < 1500 || n > 2500 {
		t.Errorf("%d events are passed on", n)
	}
	d.post(url, ran)
	if got := d.post(url, done); got != 204 || d.events[len(d.events)-1].Stage != report.Done {
		t.Errorf("the final word: status %d", got)
	}
	if lines := strings.Count(d.log.String(), "\n"); lines > 50 {
		t.Errorf("the log has %d lines", lines)
	}
}

// Neither a URL nor a word of the guest is logged.
func TestLog(t *testing.T) {
	d := newDesk(nil)
	_ = d.Open("ns/vm", "i-1", nil)
	url := d.url("ns/vm", "i-1")
	for _, body := range []string{`{"name":"canary","event_type":"canary"}`, `canary`, `{"name":1}`, `{"name":"x","event_type":"start","duration":1e999}`, strings.Repeat("canary", intake.MaxBody)} {
		for _, way := range []string{"/webhook", "/phone-home", "/check-in"} {
			d.post(url+way, body)
		}
	}
	text := d.log.String()
	if !strings.Contains(text, "ns/vm") || strings.Contains(text, "canary") || strings.Contains(text, url[strings.LastIndex(url, "/")+1:]) || strings.Contains(text, "999") {
		t.Errorf("the log:\n%s", text)
	}
}

// Whatever a guest posts, what is passed on is clean and bounded.
func TestWhateverIsPosted(t *testing.T) {
	seeds := [][2]string{{"/webhook", module}, {"/webhook", ran}, {"/webhook", broken}, {"/webhook", done}, {"/phone-home", home}, {"/check-in", alive}, {"/check-in", ready}, {"/check-in", later}}
	pieces := []string{"\x1b[2J", `\u001b]0;x\u0007`, "\x00", `\u202e`, "%1b", "\xff", `"`, "{", "}", strings.Repeat("A", 5000), "modules-final", `"FAIL"`, "1e309", "-1"}
	random := rand.New(rand.NewPCG(1, 2))
	d := newDesk(nil)
	url := d.url("ns/vm", "i-1")
	heard := 0
	for round := range 3000 {
		if round%10 == 0 {
			d.Close("ns/vm")
			_ = d.Open("ns/vm", "i-1", nil)
			d.kept = map[string][]byte{}
		}
		d.now = d.now.Add(time.Second)
		word := seeds[random.IntN(len(seeds))]
		way, body := word[0], word[1]
		for range random.IntN(3) {
			at := random.IntN(len(body) + 1)
			body = body[:at] + pieces[random.IntN(len(pieces))] + body[min(len(body), at+random.IntN(3)):]
		}
		d.post(url+way, body)
		for _, e := range d.events[heard:] {
			text, err := json.Marshal(e)
			if err != nil || len(text) > 1<<20 {
				t.Fatalf("%v, %d bytes", err, len(text))
			}
			all := fmt.Sprintf("%s|%s|%s|%s|%+v", e.Stage, e.Module, e.Error, e.Boot, e.Result)
			if i := strings.IndexFunc(all, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
				t.Fatalf("%q passes on %q", body, all)
			}
		}
		heard = len(d.events)
		if len(d.kept["ns/vm"]) > 1<<20 {
			t.Fatalf("a state of %d bytes", len(d.kept["ns/vm"]))
		}
	}
	if heard < 500 {
		t.Errorf("only %d events: the test does not reach what it tests", heard)
	}
}

// Many guests at once, over real connections.
func TestManyGuests(t *testing.T) {
	d := newDesk(nil)
	server := httptest.NewServer(d)
	defer server.Close()
	var guests sync.WaitGroup
	const count = 50
	for n := range count {
		machine := fmt.Sprintf("ns/vm-%d", n)
		_ = d.Open(machine, "i-1", nil)
		guests.Go(func() {
			for _, body := range []string{module, ran, done} {
				answer, err := http.Post(server.URL+d.url(machine, "i-1")+"/webhook", "", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				if answer.StatusCode != 204 {
					t.Errorf("%s: status %d", machine, answer.StatusCode)
				}
			}
		})
	}
	guests.Wait()
	last := map[string]report.Stage{}
	for _, e := range d.events {
		last[e.Machine] = e.Stage
	}
	for machine, stage := range last {
		if stage != report.Done {
			t.Errorf("%s: %s", machine, stage)
		}
	}
	if len(last) != count || len(d.events) != 2*count {
		t.Errorf("%d machines, %d events", len(last), len(d.events))
	}
}

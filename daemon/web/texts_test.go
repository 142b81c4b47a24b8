package web

import (
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/report"
)

func testPages(t *testing.T) *pages {
	t.Helper()
	a, err := openAssets()
	if err != nil {
		t.Fatal(err)
	}
	p, err := openPages(a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// keys are the texts that a template names, and those that the program does.
var keys = regexp.MustCompile(`(?:\bt |text\(|Title: |"(?:new|edit|run)", )"([\w.]+)"`)

// TestTexts has a text for every key, and no text without one.
func TestTexts(t *testing.T) {
	p := testPages(t)
	used := map[string]bool{"editNamed": true, "runOnceNamed": true}
	files, err := fs.Glob(sources, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "content.go", "login.go", "pages.go", "status.go") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range keys.FindAllSubmatch(data, -1) {
			key := string(found[1])
			used[key] = true
			if p.texts[key] == "" && !strings.HasSuffix(key, "_") && key != "error" {
				t.Errorf("%s: there is no text %s", file, key)
			}
		}
	}
	for _, status := range []string{"400", "404", "405", "500"} {
		used["error"+status], used["error"+status+"Text"] = true, true
	}
	data, err := sources.ReadFile("ui/src/texts/server.json")
	if err != nil {
		t.Fatal(err)
	}
	var own map[string]string
	if err := json.Unmarshal(data, &own); err != nil {
		t.Fatal(err)
	}
	for key := range own {
		if !used[key] {
			t.Errorf("nothing shows the text %s", key)
		}
	}
	for _, s := range statuses() {
		if word := p.status(s).Word; strings.Contains(word, "_") {
			t.Errorf("the status %s has no word", s)
		}
	}
}

// TestBoot tells how first boots stand, in the words of the script.
func TestBoot(t *testing.T) {
	p := testPages(t)
	final := func(ok bool, reasons ...string) *client.FirstBoot { return &client.FirstBoot{OK: ok, Reasons: reasons} }
	for name, tt := range map[string]struct {
		m    client.Machine
		want boot
	}{
		"new":                  {client.Machine{Status: string(daemon.Down)}, boot{Kind: "none"}},
		"starting":             {client.Machine{Status: string(daemon.WaitForLaunch)}, boot{Kind: "going", Text: "Waiting for the guest"}},
		"booting":              {client.Machine{Status: string(daemon.PoweringUp), Progress: &client.Progress{Stage: report.Stage("init-network"), Module: "ssh"}}, boot{Kind: "going", Text: "Network", Module: "ssh"}},
		"a stage of its own":   {client.Machine{Status: string(daemon.PoweringUp), Progress: &client.Progress{Stage: "dreaming"}}, boot{Kind: "going", Text: "dreaming"}},
		"done":                 {client.Machine{Status: string(daemon.Up), Initialized: true, FirstBoot: final(true)}, boot{Kind: "ok"}},
		"failed":               {client.Machine{Status: string(daemon.Up), FirstBoot: final(false, "no disk", "no net")}, boot{Kind: "failed", Text: "no disk"}},
		"failed, and no words": {client.Machine{Status: string(daemon.Down), FirstBoot: final(false)}, boot{Kind: "failed"}},
		"again": {client.Machine{Status: string(daemon.Up), Initialized: true, FirstBoot: final(true), FirstBootRunning: true,
			Progress: &client.Progress{Stage: "modules-final"}}, boot{Kind: "going", Text: "Final"}},
		"still ending": {client.Machine{Status: string(daemon.Rebooting), FirstBoot: final(true)}, boot{Kind: "ok"}},
	} {
		if got := p.boot(tt.m); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// TestBytes writes sizes as people say them.
func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1 << 20: "1 MiB", 1<<20 - 1: "1 MiB", 10 << 30: "10 GiB", 500<<20 + 600<<10: "501 MiB", 1 << 62: "4096 PiB"} {
		if got := showBytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

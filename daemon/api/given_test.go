//go:build linux

package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
	"github.com/vmseed/vmseed/secret"
)

// contents are the files of a seed, by where they stand.
func contents(s client.Seed) map[string]string {
	out := map[string]string{}
	for _, v := range s.Volumes {
		for _, f := range v.Files {
			out[v.Name+":"+v.Label+"/"+f.Path] = f.Content.Reveal()
		}
	}
	for _, tree := range s.Trees {
		for _, f := range tree.Files {
			out[tree.Name+"/"+f.Path] = f.Content.Reveal()
		}
	}
	for _, f := range s.Firmware {
		out["fw_cfg/"+f.Path] = f.Content.Reveal()
	}
	return out
}

// TestGiven holds what a guest was given against what the preview showed of it before, whatever the data source.
func TestGiven(t *testing.T) {
	for _, source := range []string{"nocloud", "configdrive", "ec2", "openstack", "ignition"} {
		t.Run(source, func(t *testing.T) {
			s := begin(t)
			ctx, cancel := context.WithTimeout(t.Context(), daemontest.Limit)
			defer cancel()
			text := documents("vm1", supervisortest.Good, "")[0].Text.Reveal() +
				"  dataSource: " + source + "\n  users:\n  - {name: alice, password: canary-of-alice}\n"
			made, err := s.Create(ctx, client.CreateRequest{Documents: []client.Document{{Name: "vm1.yaml", Text: secret.New(text)}}})
			if err != nil {
				t.Fatal(err)
			}
			id := made.Machines[0].ID
			if _, err := s.Given(ctx, id, false); status(err) != http.StatusNotFound {
				t.Errorf("before the first start: %v", err)
			}
			for _, reveal := range []bool{false, true} {
				preview, err := s.RenderMachine(ctx, id, client.RenderRequest{Run: true, Reveal: reveal})
				if err != nil || len(preview.Seeds) != 1 || preview.FirstBoot == nil {
					t.Fatal(preview.Diagnostics, err)
				}
				if !reveal {
					if _, err := s.Start(ctx, id, client.StartRequest{}); err != nil {
						t.Fatal(err)
					}
				}
				given, err := s.Given(ctx, id, reveal)
				if err != nil || len(given.Seeds) != 1 {
					t.Fatal(len(given.Seeds), err)
				}
				if preview, err = s.RenderMachine(ctx, id, client.RenderRequest{Run: true, Reveal: reveal}); err != nil {
					t.Fatal(err)
				}
				want, got := contents(preview.Seeds[0]), contents(given.Seeds[0])
				if len(want) == 0 || len(got) != len(want) {
					t.Errorf("given %d files, shown %d", len(got), len(want))
				}
				for name, text := range want {
					if got[name] != text {
						t.Errorf("%s: %d bytes were given and %d are shown", name, len(got[name]), len(text))
					}
					for _, line := range strings.Split(got[name], "\n") {
						if !reveal && (strings.Contains(line, "$6$") || strings.Contains(line, "vmseed/report/") && !strings.Contains(line, "******")) {
							t.Errorf("%s shows a secret", name)
						}
					}
				}
				if given.Seeds[0].DataSource != source || given.MaskedOnly {
					t.Errorf("the data source is %q, masked only: %t", given.Seeds[0].DataSource, given.MaskedOnly)
				}
			}
			s.staysMasked(t, id)
		})
	}
}

// staysMasked stops a machine: what its guest was given is shown as before, and never again with its secrets.
func (s *service) staysMasked(t *testing.T, id string) {
	t.Helper()
	running, err := s.Given(t.Context(), id, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for _, reveal := range []bool{false, true} {
		stopped, err := s.Given(t.Context(), id, reveal)
		if err != nil || !stopped.MaskedOnly || len(stopped.Seeds) != 1 {
			t.Fatalf("%+v, %v", stopped, err)
		}
		want, err1 := json.Marshal(running.Seeds)
		got, err2 := json.Marshal(stopped.Seeds)
		if err := errors.Join(err1, err2); err != nil || !bytes.Equal(want, got) {
			t.Errorf("reveal %t: the guest was given %s, and is said to have got %s; %v", reveal, want, got, err)
		}
	}
}

// TestRunsFirstBoot says beside the preview whether the guest would set itself up again.
func TestRunsFirstBoot(t *testing.T) {
	s := begin(t)
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Limit)
	defer cancel()
	id := s.started(t, "vm1", supervisortest.Good)
	if _, err := s.WaitFirstBoot(ctx, id, nil); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]bool{"#cloud-config\n{}\n": false, "#cloud-config\npackages: [tree]\n": true} {
		result, err := s.RenderMachine(ctx, id, client.RenderRequest{Documents: documents("vm1", supervisortest.Good, data)})
		if err != nil || result.FirstBoot == nil || *result.FirstBoot != want {
			t.Errorf("%q: %v, %v", data, result.FirstBoot, err)
		}
	}
}

// TestGivenSecrets changes a machine that runs: what was secret when it was started is not shown for that.
func TestGivenSecrets(t *testing.T) {
	s := begin(t)
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Limit)
	defer cancel()
	with := func(content string) []client.Document {
		text := documents("vm1", supervisortest.Good, "")[0].Text.Reveal() +
			"  files:\n  - {path: /etc/token, mode: \"0600\", content: " + content + "}\n"
		return []client.Document{{Name: "vm1.yaml", Text: secret.New(text)}}
	}
	made, err := s.Create(ctx, client.CreateRequest{Documents: with("canary-of-the-start"), Start: true})
	if err != nil {
		t.Fatal(err)
	}
	id := made.Machines[0].ID
	look := func(when string) {
		t.Helper()
		given, err := s.Given(ctx, id, false)
		if err != nil || len(contents(given.Seeds[0])) == 0 {
			t.Fatal(err)
		}
		for name, text := range contents(given.Seeds[0]) {
			if strings.Contains(text, "canary") || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("canary-of-the-start"))) {
				t.Errorf("%s: %s shows the file", when, name)
			}
		}
	}
	look("as started")
	for _, content := range []string{"canary-that-is-new", "canary-that-is-newer"} {
		if _, err := s.Update(ctx, id, client.UpdateRequest{Documents: with(content)}); err != nil {
			t.Fatal(err)
		}
		look("changed to " + content)
	}
}

// TestBootOfTheNextRun comes back to a stream with the number of a report of an earlier run: nothing of this one is lost for that.
func TestBootOfTheNextRun(t *testing.T) {
	s := begin(t)
	id := s.started(t, "vm1", supervisortest.Good)
	last := func(header ...string) string {
		t.Helper()
		if _, err := s.WaitFirstBoot(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		in, number := s.stream(t, "/machines/"+id+"/boot", header...), ""
		for {
			event := next(t, in)
			for line := range strings.Lines(event) {
				if n, ok := strings.CutPrefix(line, "id: "); ok {
					number = strings.TrimSpace(n)
				}
			}
			if strings.Contains(event, `"stage":"done"`) {
				return number
			}
		}
	}
	first := last()
	// Runs are told apart by the second in which they began.
	for begun := time.Now(); time.Now().Unix() == begun.Unix(); time.Sleep(50 * time.Millisecond) {
	}
	if _, err := s.Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), id, client.StartRequest{NewGeneration: true}); err != nil {
		t.Fatal(err)
	}
	second := last("Last-Event-ID", first)
	a, err1 := strconv.ParseUint(first, 10, 53)
	b, err2 := strconv.ParseUint(second, 10, 53)
	if err := errors.Join(err1, err2); err != nil || b <= a {
		t.Errorf("numbers %s and %s: %v", first, second, err)
	}
	in := s.stream(t, "/machines/"+id+"/boot", "Last-Event-ID", second)
	if _, err := s.Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for event := ""; !strings.Contains(event, "event: end"); {
		if event = next(t, in); strings.Contains(event, `"stage"`) {
			t.Errorf("sent again: %s", event)
		}
	}
}

// TestBoot follows what a guest says of its boot until its run is over.
func TestBoot(t *testing.T) {
	s := begin(t)
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Limit)
	defer cancel()
	made, err := s.Create(ctx, client.CreateRequest{Documents: documents("vm1", supervisortest.Good, "#cloud-config\n{}\n")})
	if err != nil {
		t.Fatal(err)
	}
	id := made.Machines[0].ID
	if reports, err := s.Boot(ctx, id); err != nil || len(reports) != 0 {
		t.Errorf("before the first start: %v, %v", reports, err)
	}
	if _, err := s.Start(ctx, id, client.StartRequest{}); err != nil {
		t.Fatal(err)
	}
	in := s.stream(t, "/machines/"+id+"/boot")
	until(t, in, "event: begin")
	until(t, in, `"stage":"done"`)
	if _, err := s.WaitFirstBoot(ctx, id, nil); err != nil {
		t.Fatal(err)
	}
	if reports, err := s.Boot(ctx, id); err != nil || len(reports) == 0 || reports[len(reports)-1].Result == nil {
		t.Errorf("while it runs: %v, %v", reports, err)
	}
	if _, err := s.Stop(ctx, id); err != nil {
		t.Fatal(err)
	}
	until(t, in, "event: end")
	if reports, err := s.Boot(ctx, id); err != nil || len(reports) == 0 {
		t.Errorf("after it: %v, %v", reports, err)
	}
}

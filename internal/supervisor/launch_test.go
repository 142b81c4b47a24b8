package supervisor

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProvePaused gives a guest that was paused before its first sign of life all its time when it goes on, and no more.
func TestProvePaused(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j, err := openJournal(dir, true)
		if err != nil {
			t.Fatal(err)
		}
		defer j.close()
		s := &supervisor{dir: dir, journal: j, log: slog.New(slog.DiscardHandler), plan: Plan{Silence: time.Minute}, ctx: t.Context()}
		ended, over := make(chan error, 1), make(chan error, 1)
		s.status(Running, "")
		go func() { over <- s.prove(ended) }()
		for _, step := range []struct {
			status Status
			reason string
			lasts  time.Duration
		}{{Paused, ByUser, time.Hour}, {Running, "", 59 * time.Second}, {Paused, ByUser, time.Second}, {Running, "", 59 * time.Second}} {
			s.status(step.status, step.reason)
			time.Sleep(step.lasts)
			if synctest.Wait(); len(over) > 0 {
				t.Fatalf("given up after %v of %s: %v", step.lasts, step.status, <-over)
			}
		}
		time.Sleep(2 * time.Second)
		ended <- nil // as QEMU does when it is told to quit
		if err := <-over; err == nil || !strings.Contains(err.Error(), "no sign of life") {
			t.Errorf("a guest that shows none: %v", err)
		}
	})
}

// TestMark marks the console's log between boots, and only there.
func TestMark(t *testing.T) {
	s := &supervisor{dir: t.TempDir(), log: slog.New(slog.DiscardHandler)}
	path := filepath.Join(s.dir, SerialLog)
	s.mark("the VM is started")
	if _, err := os.Stat(path); err == nil {
		t.Error("a log is made for a mark")
	}
	write(t, path, "login: ")
	s.mark("the VM is started")
	text, err := os.ReadFile(path)
	if err != nil || !regexp.MustCompile(`^login: \r\n\[vmseed: the VM is started, 2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ\]\r\n$`).Match(text) {
		t.Errorf("%q, %v", text, err)
	}
}

// TestLastWords quotes of QEMU's log what was said since an attempt began.
func TestLastWords(t *testing.T) {
	s := &supervisor{dir: t.TempDir()}
	path := filepath.Join(s.dir, QEMULog)
	write(t, path, "an earlier failure\n")
	if got := s.lastWords(); got != "; QEMU says: an earlier failure" {
		t.Errorf("%q", got)
	}
	s.quiet()
	if got := s.lastWords(); got != "" {
		t.Errorf("an attempt that said nothing: %q", got)
	}
	write(t, path, "an earlier failure\nthis one\n")
	if got := s.lastWords(); got != "; QEMU says: this one" {
		t.Errorf("%q", got)
	}
	write(t, path, "rotated\n")
	if got := s.lastWords(); got != "; QEMU says: rotated" {
		t.Errorf("%q", got)
	}
	write(t, path, strings.Repeat("x", 2*mostWords))
	if got := s.lastWords(); len(got) > mostWords+len("; QEMU says: ") {
		t.Errorf("%d bytes", len(got))
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEnvironment keeps passwords and tokens from QEMU, and nothing else.
func TestEnvironment(t *testing.T) {
	all := []string{"PATH=/bin", "VMSEED_PASSWORD=canary", "VMSEED_HOST=x", "OVIRT_TOKEN=canary", "=C:=C:\\", "EMPTY=", "TMPDIR=/x=_TOKEN"}
	want := []string{"PATH=/bin", "VMSEED_HOST=x", "=C:=C:\\", "EMPTY=", "TMPDIR=/x=_TOKEN"}
	if got := environment(all); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if len(all) != 7 || all[1] != "VMSEED_PASSWORD=canary" {
		t.Errorf("the environment of this process is changed: %q", all)
	}
}

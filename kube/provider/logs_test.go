package provider

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// logged is a guest with a log.
type logged struct {
	*simGuest
	path string
}

func (l logged) SerialLog() string { return l.path }

// logBed is a bed whose guests log into a file, and a pod.
func logBed(t *testing.T, f func(b *bed, path string)) {
	path := filepath.Join(t.TempDir(), "serial.log")
	lie(t, func(b *bed) {
		b.runner.equip = func(g *simGuest) Guest { return logged{g, path} }
		f(b, path)
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLogs reads logs by the options of kubectl logs.
func TestLogs(t *testing.T) {
	logBed(t, func(b *bed, path string) {
		b.create(nil)
		write(t, path+".1", "one\ntwo\n")
		write(t, path, "three\nfour\nfive")
		written := time.Now().Add(-time.Hour)
		for _, p := range []string{path, path + ".1"} {
			if err := os.Chtimes(p, written, written); err != nil {
				t.Fatal(err)
			}
		}
		stamp := written.UTC().Format(time.RFC3339Nano) + " "
		for _, c := range []struct {
			name string
			o    api.ContainerLogOpts
			want string
		}{
			{"all", api.ContainerLogOpts{}, "one\ntwo\nthree\nfour\nfive"},
			{"the last line", api.ContainerLogOpts{Tail: 1}, "five"},
			{"the last file", api.ContainerLogOpts{Tail: 3}, "three\nfour\nfive"},
			{"over both files", api.ContainerLogOpts{Tail: 4}, "two\nthree\nfour\nfive"},
			{"more than there are", api.ContainerLogOpts{Tail: 99}, "one\ntwo\nthree\nfour\nfive"},
			{"none", api.ContainerLogOpts{Tail: -1}, ""},
			{"since before", api.ContainerLogOpts{SinceSeconds: 3700, Tail: 1}, "five"},
			{"since after", api.ContainerLogOpts{SinceSeconds: 60}, ""},
			{"bounded", api.ContainerLogOpts{LimitBytes: 6}, "one\ntw"},
			{"stamped", api.ContainerLogOpts{Tail: 2, Timestamps: true}, stamp + "four\n" + stamp + "five"},
		} {
			r, err := b.p.GetContainerLogs(b.t.Context(), "default", "vm", "guest", c.o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err != nil || string(got) != c.want {
				t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := b.p.GetContainerLogs(b.t.Context(), "default", "vm", "other", api.ContainerLogOpts{}); !errdefs.IsNotFound(err) {
			t.Errorf("another container: %v", err)
		}
		if _, err := b.p.GetContainerLogs(b.t.Context(), "default", "vm", "guest", api.ContainerLogOpts{Previous: true}); !errdefs.IsInvalidInput(err) {
			t.Errorf("the previous run: %v", err)
		}
	})
}

// TestFollow follows a log while it grows, is moved to its older part and cut, and is begun anew, until the VM has ended.
func TestFollow(t *testing.T) {
	logBed(t, func(b *bed, path string) {
		pod := b.create(policy("Never"))
		write(t, path, "one\n")
		r, err := b.p.GetContainerLogs(b.t.Context(), "default", "vm", "", api.ContainerLogOpts{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		done := make(chan error, 1)
		go func() {
			_, err := io.Copy(&got, r)
			done <- err
		}()
		b.after(time.Second)
		write(t, path, "two\n")
		b.after(time.Second)
		write(t, path, "unread\n")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path+".1", string(text))
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		b.after(time.Second)
		write(t, path, "3\n")
		b.after(time.Second)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		write(t, path, "another file\n")
		b.after(time.Second)
		b.runner.guest(pod.UID).ends(supervisor.Stopped, "")
		synctest.Wait()
		b.after(time.Second)
		if err := <-done; err != nil || got.String() != "one\ntwo\nunread\n3\nanother file\n" {
			t.Errorf("%v: %q", err, got.String())
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestClip cuts texts between characters.
func TestClip(t *testing.T) {
	for n := 5; n < 12; n++ {
		if s := clip(strings.Repeat("ä", 8), n); len(s) > n || !strings.HasSuffix(s, " …") || strings.ContainsRune(s, '\uFFFD') {
			t.Errorf("%d: %q", n, s)
		}
	}
}

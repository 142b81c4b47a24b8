//go:build e2e

package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/secret"
)

// pictures is where screenshots of the page go.
const pictures = "../bin/screenshots"

// browse runs a script of the directory browser at the daemon's page, with further variables NAME=VALUE. What it prints is logged, and lines
// that begin with "result " are returned without that word.
func (s *service) browse(t *testing.T, script string, more ...string) (results []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*bootLimit)
	defer cancel()
	dir, err := filepath.Abs(pictures)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "node", script)
	cmd.Dir = "browser"
	cmd.Env = append(append(os.Environ(), "PAGE_URL="+s.url, "PAGE_USER="+s.user, "PAGE_PASSWORD="+s.password, "PAGE_PICTURES="+dir), more...)
	if dir := os.Getenv("VMSEED_ILLUSTRATIONS"); dir != "" {
		cmd.Env = append(cmd.Env, "PAGE_ILLUSTRATIONS="+dir)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		t.Log(lines.Text())
		if result, ok := strings.CutPrefix(lines.Text(), "result "); ok {
			results = append(results, result)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return results
}

// requireBrowser skips the test when there is no browser.
func requireBrowser(t *testing.T) {
	t.Helper()
	for program, debianPackage := range map[string]string{"chromium": "chromium", "node": "nodejs"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIP-MISSING: %s is not installed (Debian package %s)", program, debianPackage)
		}
	}
	if _, err := os.Stat("browser/node_modules/playwright-core"); err != nil {
		t.Skip("SKIP-MISSING: npm --prefix interop/browser ci has not run")
	}
}

// TestPages looks at every page in a browser: in windows of two sizes and in both colour schemes, for what is in the way of people who cannot
// see it or use no mouse, for what moves while it loads, and without JavaScript. It says how long a key stroke takes to be in the preview.
func TestPages(t *testing.T) {
	t.Parallel()
	requireBrowser(t)
	s := serve(t, debianImages(t))
	s.machines(t, 3)
	t.Run("pages", func(t *testing.T) { s.browse(t, "pages.mjs") })
	t.Run("without JavaScript", func(t *testing.T) { s.browse(t, "nojs.mjs") })
	t.Run("by the keyboard", func(t *testing.T) { s.browse(t, "keyboard.mjs") })
	t.Run("a machine of oVirt", func(t *testing.T) { s.browse(t, "foreign.mjs") })
	t.Run("two people", func(t *testing.T) { s.browse(t, "together.mjs") })
	t.Run("key strokes", func(t *testing.T) { s.browse(t, "strokes.mjs") })
	s.machines(t, 1000)
	t.Run("1,000 machines", func(t *testing.T) { s.browse(t, "many.mjs", "PAGE_MACHINES=1000") })
}

// TestPageXSS puts texts that are harmless only as texts into everything that the page takes.
func TestPageXSS(t *testing.T) {
	t.Parallel()
	requireBrowser(t)
	s := serve(t, hostileImages(t))
	s.machines(t, 1)
	s.browse(t, "xss.mjs")
}

// hostileImages makes an image directory whose images have the texts of the corpus for names.
func hostileImages(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../daemon/web/testdata/xss.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus []string
	if err := json.Unmarshal(data, &corpus); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, text := range corpus {
		about, err := json.Marshal(map[string]string{"name": text, "description": text})
		if err != nil {
			t.Fatal(err)
		}
		image := filepath.Join(dir, fmt.Sprintf("image-%03d.img", i))
		write(t, image+".yaml", string(about))
		write(t, image, "")
		if err := os.Truncate(image, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// machines makes machines until there are so many. They have no disk and are not started.
func (s *service) machines(t *testing.T, number int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerLimit)
	defer cancel()
	c := s.api(t)
	have, err := c.Machines(ctx, client.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for i := len(have); i < number; i++ {
		text := fmt.Sprintf("apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: vm-%04d}\n", i+1)
		if _, err := c.Create(ctx, client.CreateRequest{Documents: []client.Document{{Text: secret.New(text)}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// api is the client of the daemon's own API.
func (s *service) api(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{URL: s.url, CA: s.ca, Username: s.user, Password: secret.New(s.password), UserAgent: "interop"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// pageFile is a file of a page: its name in a line of its own, then its text.
	pageFile = regexp.MustCompile("(?ms)^`([\\w.-]+)`:\n\n```(?:json|xml|yaml)\n(.*?)^```$")
	// pageSession is a block of commands, each behind a dollar sign, with what they print.
	pageSession = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")
)

// TestHowTo follows the pages of docs/how-to that show commands: it writes their files, runs the commands in order, and
// compares what these print. Three dots in a line stand for any text, and alone for any lines.
func TestHowTo(t *testing.T) {
	pages, err := filepath.Glob("../../docs/how-to/*.md")
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		sessions := pageSession.FindAllStringSubmatch(string(text), -1)
		if len(sessions) == 0 {
			continue
		}
		followed++
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range pageFile.FindAllStringSubmatch(string(text), -1) {
				if err := os.WriteFile(filepath.Join(dir, f[1]), []byte(f[2]), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range sessions {
				for _, command := range strings.Split("\n"+s[1], "\n$ ")[1:] {
					line, want, _ := strings.Cut(strings.TrimSuffix(command, "\n")+"\n", "\n")
					follow(t, dir, line, want)
				}
			}
		})
	}
	if followed == 0 {
		t.Error("no page shows commands")
	}
}

// follow runs a command. It must print what the page says: on its standard output, or on standard error if it fails without
// any. What
// stands behind a > is the file that takes the standard output instead.
func follow(t *testing.T, dir, line, want string) {
	t.Helper()
	line, file, redirected := strings.Cut(line, " >")
	args := strings.Fields(line)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	got := &stdout
	if err := cmd.Run(); err != nil && stdout.Len() == 0 {
		got = &stderr
	} else if redirected {
		if err := os.WriteFile(filepath.Join(dir, strings.TrimSpace(file)), stdout.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		got = new(bytes.Buffer)
	}
	var pattern strings.Builder
	pattern.WriteString(`(?s)\A`)
	for l := range strings.Lines(want) {
		if l == "...\n" {
			pattern.WriteString(`.*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(l), `\.\.\.`, `[^\n]*`))
	}
	pattern.WriteString(`\z`)
	text := strings.TrimRight(got.String(), "\n")
	if text != "" {
		text += "\n"
	}
	if !regexp.MustCompile(pattern.String()).MatchString(text) {
		t.Errorf("$ %s\nprints\n%s\nand not\n%s\nstandard error:\n%s", line, got, want, &stderr)
	}
}

//go:build conformance

package plain_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/frontend/plain"
)

// The tool itself is the judge: the same command line gives the same members with the same bytes, or is refused by both.
func TestLocaldsLikeTheTool(t *testing.T) {
	tool, err := exec.LookPath("cloud-localds")
	if err != nil {
		t.Skip("SKIP-MISSING: cloud-localds is not installed")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"user": "#cloud-config\npassword: passw0rd\nchpasswd: { expire: False }\nssh_pwauth: True\n", "meta": "instance-id: i-abcdefg\n",
		"net": "version: 2\n", "vendor": "#!/bin/sh\n", "eni": "auto lo\niface lo inet loopback\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{
		"-d tar out user", "-d tar out user meta", "out user meta --disk-format=tar -v", "-dtar -Hweb -mlocal out user", "--disk tar --host web out user",
		"-d tar -N net out user", "-d tar -V vendor out user meta", "-d tar -N net -V vendor -H a out user", "-d tar -i eni out user",
		"-d tar-seed-local out user", "-d tar-seed-net -N net out user meta", "-f tar out user", "-d tar -f tar out user", "-d tar -- out user",
		"-d tar", "-d tar out", "-d tar out user meta more", "-d tar -H x out user meta", "-d tar -m net out user meta", "-d tar -i eni out user meta",
		"-d tar -f vfat out user", "-d tarball out user", "-f ext4 out user", "-d tar -x out user", "-d tar --nothing out user", "--v=1 -d tar out user",
		"-d tar out missing", "-d tar out user missing", "-d tar -N missing out user", "-d tar out user -d", "--d tar out user",
	} {
		t.Run(args, func(t *testing.T) {
			out := filepath.Join(dir, "out")
			_ = os.Remove(out)
			cmd := exec.Command(tool, strings.Fields(args)...)
			cmd.Dir = dir
			message, toolErr := cmd.CombinedOutput()
			got, err := product(dir, strings.Fields(args))
			if (err == nil) != (toolErr == nil) {
				t.Fatalf("the tool: %v %s; ours: %v", toolErr, message, err)
			}
			if err != nil {
				return
			}
			want := members(t, out)
			for name, text := range want {
				if strings.Contains(args, "-i") && strings.HasSuffix(name, "meta-data") {
					// Ours has the interfaces under the name that cloud-init reads as well.
					text = strings.TrimSuffix(text, "\n}\n")
					if !strings.HasPrefix(got[name], text) {
						t.Errorf("%s: got %q, the tool writes %q", name, got[name], text)
					}
					continue
				}
				if got[name] != text {
					t.Errorf("%s: got %q, the tool writes %q", name, got[name], text)
				}
			}
			if len(got) != len(want) {
				t.Errorf("got %d members, the tool writes %d", len(got), len(want))
			}
		})
	}
}

// product is what ours puts into the seed, by path.
func product(dir string, args []string) (map[string]string, error) {
	o, err := plain.ParseLocalds(args)
	if err != nil {
		return nil, err
	}
	docs, err := o.Documents(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) })
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, d := range docs {
		out[o.Path(d.Role)] = string(d.Data)
	}
	return out, nil
}

// members reads the files of an archive.
func members(t *testing.T, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	r := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.FileInfo().Mode().Type() == fs.ModeDir {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(text)
	}
}

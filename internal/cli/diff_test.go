package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiffOfRevisions says when another instance id makes no guest of a config drive run its first boot again.
func TestDiffOfRevisions(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const header, uuid = "apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: vm}\nspec:\n  identity: ", "5d307ca9-b3ef-428c-8861-06e72d69f223"
	plain := write("plain.yaml", header+"{uuid: "+uuid+"}\n")
	other := write("other.yaml", header+"{uuid: "+uuid+", hostname: h}\n")
	later := write("later.yaml", header+"{uuid: "+uuid+", revision: 1}\n")
	latest := write("latest.yaml", header+"{uuid: "+uuid+", revision: 2}\n")
	const unless = "unless the guest's firmware has the UUID " + uuid
	for _, tt := range []struct {
		source, before, after, want string
		unless                      bool
	}{
		{"configdrive", plain, later, "first boot runs again: ", true}, {"configdrive", later, latest, "first boot runs again: ", false},
		{"configdrive", plain, other, "first boot does not run again: ", true}, {"nocloud", plain, later, "first boot runs again: ", false},
	} {
		status, out, err := command(t, "", "diff", "--datasource", tt.source, tt.before, tt.after)
		if status != 1 || !strings.Contains(out, tt.want) || strings.Contains(out, unless) != tt.unless {
			t.Errorf("%s, %s to %s: %d\n%s%s", tt.source, filepath.Base(tt.before), filepath.Base(tt.after), status, out, err)
		}
	}
}

// TestDiffOfDirectories finds nothing different in a directory for a web server and the definition that it was made of, and
// hears what the server has to do.
func TestDiffOfDirectories(t *testing.T) {
	dir := t.TempDir()
	const definition = "../../examples/ec2/web.yaml"
	for source, needs := range map[string]string{"ec2": "a web server of files cannot serve it", "openstack": "which has to list", "nocloud-net": "let the web server's user read them); the VM needs"} {
		at := filepath.Join(dir, source)
		if status, _, err := command(t, "", "render", "--datasource", source, "--format", "dir", "-o", at, definition); status != 0 || !strings.Contains(err, needs) {
			t.Fatalf("%s: %d %s", source, status, err)
		}
		for _, pair := range [][]string{{at, definition}, {definition, at}} {
			if status, out, err := command(t, "", append([]string{"diff", "--datasource", source}, pair...)...); status != 0 {
				t.Errorf("%s, %v: %d\n%s%s", source, pair, status, out, err)
			}
		}
	}
}

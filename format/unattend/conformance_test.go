//go:build conformance

package unattend

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// libxml2 reads the file, and answers XPath questions about it.
func TestXMLLint(t *testing.T) {
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("SKIP-MISSING: xmllint is not installed (package libxml2-utils)")
	}
	name := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(name, []byte(Write(full()).Reveal()), 0o600); err != nil {
		t.Fatal(err)
	}
	for xpath, want := range map[string]string{
		`count(//*[local-name()="component"])`:                               "4",
		`string(//*[local-name()="Credentials"]/*[local-name()="Password"])`: "a<b&c]]>d",
		`string(//*[local-name()="RegisteredOwner"])`:                        "Ann <ann>",
		`namespace-uri(/*)`: "urn:schemas-microsoft-com:unattend",
		`string(//*[local-name()="LocalAccount"]/@*[local-name()="action"])`:        "add",
		`namespace-uri(//*[local-name()="LocalAccount"]/@*[local-name()="action"])`: "http://schemas.microsoft.com/WMIConfig/2002/State",
	} {
		var stderr bytes.Buffer
		cmd := exec.Command(lint, "--nonet", "--pedantic", "--xpath", xpath, name)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		// The name of the namespace urn:... is no address that can be fetched, which --pedantic mentions.
		if err != nil {
			t.Fatalf("xmllint: %v\n%s", err, stderr.String())
		}
		if got := strings.TrimSpace(string(out)); got != want {
			t.Errorf("%s = %q, want %q", xpath, got, want)
		}
	}
}

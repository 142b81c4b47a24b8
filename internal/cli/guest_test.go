package cli

import (
	"os"
	"strings"
	"testing"
)

// TestGuestReachesTheConfig: render makes the config for the guest that check was told, so a check of what was rendered finds
// nothing new. Without a guest, check says what the config takes for given.
func TestGuestReachesTheConfig(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("user-data", []byte("#cloud-config\nusers:\n- name: bob\n  groups: [sudo, docker]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	input := []string{"--datasource", "ignition", "--user-data", "user-data"}
	ends(t, exitDone, "VS4152", append([]string{"check"}, input...)...)
	ends(t, exitUsage, "unknown guest", append([]string{"render", "-o", "x.ign", "--guest", "debain"}, input...)...)
	ends(t, exitDone, "", append([]string{"render", "-o", "x.ign", "--guest", "debian-12"}, input...)...)
	ends(t, exitDone, "", "check", "--guest", "debian-12", "--strict", "x.ign")
	text, err := os.ReadFile("x.ign")
	if err != nil || !strings.Contains(string(text), `"groups":[{"name":"docker"}]`) {
		t.Errorf("%s, %v", text, err)
	}
}

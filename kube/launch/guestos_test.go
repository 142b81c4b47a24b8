package launch

import (
	"strings"
	"testing"
)

// TestOSMessage holds what becomes of a guest's words about itself on their way to the status of its instance.
func TestOSMessage(t *testing.T) {
	debian := GuestOS{Name: "Debian GNU/Linux", PrettyName: `Debian <12> "bookworm" & more`, ID: "debian",
		VersionID: "12", KernelRelease: "6.1.0-28-amd64", Machine: "x86_64"}
	if got := ReadOSMessage(OSMessage(debian)); got != debian {
		t.Errorf("%+v", got)
	}
	if got := OSMessage(GuestOS{}); got != "" || ReadOSMessage(got) != (GuestOS{}) {
		t.Errorf("a guest that says nothing: %q", got)
	}
	if got := ReadOSMessage("Fedora CoreOS"); got.PrettyName != "Fedora CoreOS" {
		t.Errorf("another text: %+v", got)
	}
	long := strings.Repeat(`"`, 4000)
	loud := GuestOS{Name: long, KernelRelease: long, Version: long, PrettyName: long, VersionID: long, KernelVersion: long, Machine: long, ID: long}
	if got := OSMessage(loud); got != long[:maxOSField] {
		t.Errorf("a guest that says too much: %d bytes, %.60s", len(got), got)
	}
}

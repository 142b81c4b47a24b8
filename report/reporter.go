package report

import (
	_ "embed"
	"strings"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// The reporter: a program for the guest's own Python, which cloud-init needs anyway, and the shell that starts it.
var (
	//go:embed reporter.py
	reporterProgram string
	//go:embed reporter.sh
	reporterShell string
)

// Reporter returns the part of a cloud-init seed that makes the guest report. It belongs into the vendor-data, behind
// the user's own: it is a boothook, so it hides no key of the user's documents, and none of theirs hides it. It runs at
// every boot, from the network stage until the first boot is done or the guest shuts down, and without a network.
//
// A guest whose user-data switches vendor-data off does not report; Console is for those.
func Reporter() machine.Layer {
	body := strings.Replace(reporterShell, "@SCRIPT@", strings.TrimSpace(reporterProgram), 1)
	return machine.Layer{Name: "the reporter of vmseed run", Data: secret.New("#cloud-boothook\n" + body)}
}

package userdata

import (
	"regexp"

	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
)

// windowsScript begins the scripts that cloudbase-init and EC2's own agents run on Windows: of PowerShell, of cmd.exe, and
// either in the tags of EC2. The shells of other systems begin theirs as cloud-init knows it.
//
// Source: cloudbase-init's documentation, "Userdata"; EC2 User Guide, "Run commands on Windows instances".
var windowsScript = regexp.MustCompile(`(?i)^(rem cmd\s|#ps1(_sysnative|_x86)?\s|\s*<(script|powershell)>)`)

// forWindows reports whether a layer is a script that a machine with Windows runs, and nobody else would.
func forWindows(m machine.Machine, x machine.Layer) bool {
	data := []byte(x.Data.Reveal())
	return m.Guest.OS == "windows" && cloudconfig.Recognise(data) == cloudconfig.Unknown && windowsScript.Match(data)
}

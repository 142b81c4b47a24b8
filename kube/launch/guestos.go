package launch

import (
	"bytes"
	"encoding/json"
	"strings"

	virtv1 "kubevirt.io/api/core/v1"
)

// The bounds of what a guest says of itself, in bytes: the message of a condition is in every list of pods.
const (
	maxOSField   = 100
	maxOSMessage = 1000
)

// GuestOS is what an instance's status says of the guest's operating system.
type GuestOS = virtv1.VirtualMachineInstanceGuestOSInfo

// OSMessage writes a guest's operating system as the message of the condition ConditionGuestAgent, in JSON with KubeVirt's
// names. A guest that says too much of itself is told of by its name.
func OSMessage(os GuestOS) string {
	for _, field := range []*string{&os.Name, &os.KernelRelease, &os.Version, &os.PrettyName, &os.VersionID, &os.KernelVersion, &os.Machine, &os.ID} {
		if len(*field) > maxOSField {
			*field = strings.ToValidUTF8((*field)[:maxOSField], "")
		}
	}
	if os == (GuestOS{}) {
		return ""
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(os); err != nil || text.Len() > maxOSMessage {
		return os.PrettyName
	}
	return strings.TrimSpace(text.String())
}

// ReadOSMessage reads what OSMessage has written. A text that is none of its is the name of the system.
func ReadOSMessage(text string) GuestOS {
	var out GuestOS
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return GuestOS{PrettyName: text}
	}
	return out
}

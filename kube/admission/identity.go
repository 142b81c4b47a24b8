// Package admission completes machines and instances of KubeVirt while the API server admits them: who asks for one without
// an identity reads it, with one, in the answer of the create itself. What is filled in is said here once, for the webhook and
// for the controller, which does the same later for what was created while the webhook did not answer.
package admission

// The kinds that are completed, both of the group kubevirt.io.
const (
	Machine  = "VirtualMachine"
	Instance = "VirtualMachineInstance"
)

// The members of a domain's firmware that make an identity.
const (
	firmware = "firmware"
	uuid     = "uuid"
	serial   = "serial"
)

// domainPath is where an object of a kind has its domain.
func domainPath(kind string) []string {
	switch kind {
	case Machine:
		return []string{"spec", "template", "spec", "domain"}
	case Instance:
		return []string{"spec", "domain"}
	}
	return nil
}

// Identity returns the members that the firmware of an object's domain lacks for an identity that lasts: its SMBIOS UUID, which
// is the instance id of cloud-init, and for a machine its serial number, which its instances share. Random yields UUIDs. Nothing
// is missing where a user gave a UUID, where there is no domain, and where the firmware is none that anybody could read. KubeVirt does
// the same since 1.7 with the UUID.
func Identity(kind string, domain map[string]any, random func() string) map[string]any {
	held, readable := domain[firmware].(map[string]any)
	if domain == nil || domain[firmware] != nil && !readable || !absent(held[uuid]) {
		return nil
	}
	out := map[string]any{uuid: random()}
	if kind == Machine && absent(held[serial]) {
		out[serial] = random()
	}
	return out
}

// absent reports whether a text is not there or empty. What is no text is there, and not valid.
func absent(v any) bool { return v == nil || v == "" }

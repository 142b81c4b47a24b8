package ovirt

import (
	"bytes"
	"regexp"

	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
)

var (
	// xmlRoot is the first element of a document, behind declaration and comments.
	xmlRoot  = regexp.MustCompile(`^\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:[^-]|-[^-])*-->\s*)*<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)[\s/>]`)
	jsonMark = regexp.MustCompile(`"(?:initialization|nic_configurations?|custom_script|host_name|root_password|authorized_ssh_keys|use_cloud_init|use_ignition|` +
		`use_sysprep|use_initialization|disk_attachments|nic_configuration)"\s*:`)
	jsonShape  = regexp.MustCompile(`^\s*\{\s*"(?:vm|vms|template|action)"\s*:\s*[\[{]`)
	jsonOthers = regexp.MustCompile(`"(?:apiVersion|kind)"\s*:`)
	// yamlMark is for those who write the JSON as YAML.
	yamlMark = regexp.MustCompile(`^["']?(?:initialization|use_cloud_init|use_ignition|use_sysprep|use_initialization)["']?[ \t]*:(?:[ \t]|\r?$)`)
)

// roots are the outermost elements of documents that this front end reads, and envelope that of an OVF.
var roots = map[string]frontend.Match{"vm": frontend.Strong, "vms": frontend.Strong, "template": frontend.Strong, "templates": frontend.Strong,
	"action": frontend.Strong, "initialization": frontend.Strong, "Envelope": frontend.Strong}

// Sniff is sure of documents whose outermost element is one of oVirt's, and of JSON with members that only a VM of oVirt
// has. YAML with such members is taken if nobody else takes it.
func (Frontend) Sniff(head []byte) frontend.Match {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.HasPrefix(trimmed, []byte("<")):
		if m := xmlRoot.FindSubmatch(trimmed); m != nil {
			return roots[string(m[1])]
		}
	case !bytes.HasPrefix(trimmed, []byte("{")):
		for _, outermost := range kubedoc.Lines(head) {
			if yamlMark.Match(outermost) {
				return frontend.Weak
			}
		}
	case jsonOthers.Match(head):
	case jsonMark.Match(head):
		return frontend.Strong
	case jsonShape.Match(head):
		return frontend.Weak
	}
	return frontend.No
}

package report

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// PhoneHome is what cloud-init's module phone-home posts at the end of a first boot, and of no other boot of the instance.
// It comes before the stage is finished and says nothing of failures.
type PhoneHome struct {
	// Instance is the instance id by which the guest goes.
	Instance string
	Hostname string
	FQDN     string
	// HostKeys are the guest's public SSH host keys.
	HostKeys []string
}

// absent stands for a value that the guest does not have.
const absent = "N/A"

// phoneHomeKeys are the fields that hold a host key. Release 22.4 and older ones post DSA's too.
var phoneHomeKeys = []string{"pub_key_ecdsa", "pub_key_ed25519", "pub_key_rsa", "pub_key_dsa"}

// publicKey is a public SSH key as it stands in a file: type, key in base64 and perhaps a comment.
var publicKey = regexp.MustCompile(`^[a-z][a-z0-9@.-]{2,60} [A-Za-z0-9+/]{16,}={0,2}( .*)?$`)

// ParsePhoneHome reads the body of phone_home's request, a form. Which fields it has is the author's choice, but it has one
// that cloud-init knows. Fields that hold no host key though they should are left out.
func ParsePhoneHome(body []byte) (PhoneHome, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return PhoneHome{}, errors.New("phone_home posted no form")
	}
	known := false
	field := func(name string) string {
		known = known || form.Has(name)
		if s := clean(form.Get(name)); s != absent {
			return s
		}
		return ""
	}
	p := PhoneHome{Instance: field("instance_id"), Hostname: field("hostname"), FQDN: field("fqdn")}
	for _, name := range phoneHomeKeys {
		if key := field(name); publicKey.MatchString(key) {
			p.HostKeys = append(p.HostKeys, key)
		}
	}
	if !known {
		return PhoneHome{}, errors.New("phone_home posted none of its fields")
	}
	return p, nil
}

// UserAgent returns the agent that a User-Agent header of cloud-init names, such as "cloud-init 25.1.4", or nothing.
func UserAgent(header string) string {
	version, ok := strings.CutPrefix(header, "Cloud-Init/")
	if !ok || !agentVersion.MatchString(version) {
		return ""
	}
	return "cloud-init " + version
}

var agentVersion = regexp.MustCompile(`^[0-9][A-Za-z0-9.+~-]{0,60}$`)

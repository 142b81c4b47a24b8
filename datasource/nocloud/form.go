package nocloud

import (
	"slices"
	"strings"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/userdata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Form returns "cloud-init": user-data that says all of a machine that user-data can say.
func (NoCloud) Form() string { return "cloud-init" }

// Carries lists what user-data says, without what stands in documents beside it: vendor-data, meta-data, the network.
func (NoCloud) Carries() machine.FieldSet {
	fields := slices.DeleteFunc(userdata.Expresses().Fields(), func(f machine.Field) bool { return f == "vendorData" })
	return machine.NewFieldSet(append(fields, "identity.hostname", "identity.domain", "ssh.authorizedKeys")...)
}

// WriteForm writes the machine's user-data. Host name and keys, which a seed says in its meta-data, are written as
// cloud-config before the author's own documents, whose values win.
func (n NoCloud) WriteForm(m machine.Machine, o datasource.Options) ([]byte, diag.List) {
	var l diag.List
	head := inUserData(m)
	if len(head) > 0 && m.UserData.Raw {
		l.Warnf(userdata.CodeLostRaw, m.Places.Find("identity"), "write them into the user-data itself",
			"host name and keys stand in no user-data that is passed as it is")
		head = nil
	}
	if len(head) > 0 {
		node, err := cloudconfig.Value(head)
		if err != nil {
			l.Errorf(userdata.CodeCompose, m.Places.Find("identity"), "", "the host name and keys cannot be written: %v", err)
			return nil, l
		}
		text, err := cloudconfig.FromNode(node).Encode()
		if err != nil {
			l.Errorf(userdata.CodeCompose, m.Places.Find("identity"), "", "the host name and keys cannot be written: %v", err)
			return nil, l
		}
		m.UserData.Layers = append([]machine.Layer{{Name: "host name and keys", Data: secret.FromBytes(text)}}, m.UserData.Layers...)
	}
	text, problems := userdata.User(m, o)
	return []byte(text.Reveal()), append(l, problems...)
}

// inUserData is what cloud-init reads in meta-data as well as in user-data.
func inUserData(m machine.Machine) cloudconfig.Mapping {
	var out cloudconfig.Mapping
	host, domain, _ := strings.Cut(m.Identity.FQDN(), ".")
	if host != "" {
		out = append(out, cloudconfig.Entry{Key: "hostname", Value: host})
	}
	if domain != "" {
		out = append(out, cloudconfig.Entry{Key: "fqdn", Value: m.Identity.FQDN()})
	}
	if len(m.SSH.AuthorizedKeys) > 0 {
		out = append(out, cloudconfig.Entry{Key: "ssh_authorized_keys", Value: m.SSH.AuthorizedKeys})
	}
	return out
}

var _ datasource.FormWriter = NoCloud{}

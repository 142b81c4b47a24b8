package nocloud

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestFormOfRawUserData says that host name and keys are lost where nothing can be put into the user-data.
func TestFormOfRawUserData(t *testing.T) {
	const script = "#!/bin/sh\necho hi\n"
	m := machine.Machine{Name: "vm", Identity: machine.Identity{Hostname: "vm"}, SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA"}},
		UserData: machine.UserData{Raw: true, Layers: []machine.Layer{{Data: secret.New(script)}}}}
	text, l := NoCloud{}.WriteForm(m, datasource.Options{})
	if string(text) != script || len(l) != 1 || !strings.Contains(l[0].Summary, "host name and keys") {
		t.Errorf("%v\n%s", l, text)
	}
	m.UserData.Raw = false
	text, l = NoCloud{}.WriteForm(m, datasource.Options{})
	if len(l) != 0 || !strings.Contains(string(text), "hostname: vm") || !strings.Contains(string(text), script) {
		t.Errorf("%v\n%s", l, text)
	}
}

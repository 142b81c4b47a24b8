package cli

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vmseed/vmseed/datasource/credentials"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/machine"
)

// checkGuest refuses a name that is no guest with cloud-init, with Ignition or with a systemd that is known.
func checkGuest(name string) error {
	_, cloudInit := lint.ParseGuest(name)
	_, ignition := ignconfig.ParseGuest(name)
	_, systemd := credentials.ParseGuest(name)
	if name == "" || cloudInit == nil || ignition == nil || systemd == nil {
		return nil
	}
	return unknownGuest(name)
}

// unchecked warns about what a machine has for a reader that is not known of the guest. The data sources check the rest.
func unchecked(m machine.Machine, dataSource, guest string) diag.List {
	var l diag.List
	_, cloudInit := lint.ParseGuest(guest)
	_, ignition := ignconfig.ParseGuest(guest)
	switch {
	case guest == "":
	case ignition != nil && len(m.Ignition) > 0:
		l.Add(unread(m, "ignition[0]", guest, "Ignition configs", "name one with Ignition, such as fcos or ignition=3.3"))
	case cloudInit != nil && !slices.Contains([]string{"ignition", "credentials"}, cmp.Or(dataSource, m.DataSource)) && len(m.UserData.Layers) > 0:
		l.Add(unread(m, "userData.layers[0]", guest, "cloud-init's user-data", "name one with cloud-init, such as debian-12"))
	}
	return l
}

func unread(m machine.Machine, field, guest, what, remedy string) diag.Diagnostic {
	return diag.Diagnostic{Code: ignconfig.CodeGuestLacks, Severity: diag.Warning, Range: m.Places.Find(field), Field: field,
		Summary: fmt.Sprintf("nothing is known about how %s reads %s, so nothing was checked for it", guest, what), Remedy: remedy}
}

package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/machine"
)

// checkGuest refuses a name that is neither a guest with cloud-init nor one with Ignition.
func checkGuest(name string) error {
	_, cloudInit := lint.ParseGuest(name)
	_, ignition := ignconfig.ParseGuest(name)
	if name == "" || cloudInit == nil || ignition == nil {
		return nil
	}
	known := slices.Concat(lint.Guests(), ignconfig.Guests())
	slices.Sort(known)
	return usagef("--guest: unknown guest %q; known are %s", name, strings.Join(slices.Compact(known), ", "))
}

// guestOfIgnition says what the guest's Ignition does to a machine's configs. The data source does the same for cloud-init.
func guestOfIgnition(m machine.Machine, name string) diag.List {
	var l diag.List
	named := name != ""
	name = cmp.Or(name, m.Guest.Release)
	guest, err := ignconfig.ParseGuest(name)
	switch {
	case name == "":
	case err == nil:
		for _, layer := range m.Ignition {
			l = append(l, ignconfig.Lint(layer.Origin, []byte(layer.Data.Reveal()), guest)...)
		}
		if _, other := lint.ParseGuest(name); named && other != nil && m.DataSource != "ignition" && len(m.UserData.Layers) > 0 {
			l.Add(unread(m, "userData.layers[0]", name, "cloud-init's user-data", "name one with cloud-init, such as debian-12"))
		}
	case named && len(m.Ignition) > 0:
		l.Add(unread(m, "ignition[0]", name, "Ignition configs", "name one with Ignition, such as fcos or ignition=3.3"))
	}
	return l
}

func unread(m machine.Machine, field, guest, what, remedy string) diag.Diagnostic {
	return diag.Diagnostic{Code: ignconfig.CodeGuestLacks, Severity: diag.Warning, Range: m.Places.Find(field), Field: field,
		Summary: fmt.Sprintf("nothing is known about how %s reads %s, so nothing was checked for it", guest, what), Remedy: remedy}
}

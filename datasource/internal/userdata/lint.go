package userdata

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
)

// lint says what a guest would reject, ignore or misread in a layer.
func lint(x machine.Layer, _ string) diag.List {
	var l diag.List
	switch kind := cloudconfig.Recognise([]byte(x.Data.Reveal())); kind {
	case cloudconfig.Ignition:
		l.Errorf(CodeIgnition, x.Origin.Whole, "use --datasource ignition", "this is an Ignition config, which cloud-init ignores")
	case cloudconfig.Unknown, cloudconfig.Base64:
		if x.Merge != machine.MergeVirtlet {
			l.Warnf(CodeUnread, x.Origin.Whole, "begin it with #cloud-config or #!", "cloud-init ignores this user-data: %s", kind.Describe())
		}
	}
	return l
}

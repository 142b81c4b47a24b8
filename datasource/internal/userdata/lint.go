package userdata

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
	"github.com/vmseed/vmseed/machine"
)

// check says what the guest would reject, ignore or misread in a layer. A layer that joins as Virtlet's do needs no
// header to be a cloud-config.
func (c *composer) check(x machine.Layer) diag.List {
	data := []byte(x.Data.Reveal())
	if forWindows(c.m, x) {
		return nil
	}
	if cloudconfig.Recognise(data) == cloudconfig.Ignition {
		return diag.List{{Code: CodeIgnition, Severity: diag.Error, Range: x.Origin.Whole,
			Summary: "this is an Ignition config, which cloud-init ignores", Remedy: "give it as user-data, or use the data source ignition"}}
	}
	g, err := lint.ParseGuest(c.o.Guest)
	if err != nil {
		g = lint.Guest{}
	}
	if !isCloudConfig(x) || x.Merge != machine.MergeVirtlet {
		return lint.UserData(x.Origin, data, g)
	}
	doc, l := cloudconfig.Parse(x.Origin, data)
	if doc == nil {
		return l
	}
	return append(l, lint.Document(doc, g)...)
}

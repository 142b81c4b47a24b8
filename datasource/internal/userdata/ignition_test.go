package userdata

import (
	"slices"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignitiontest"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestIgnitionUserData has a config reach its guest byte for byte as long as Afterburn can do the rest, and the reporter's
// document for the agent at hand alone.
func TestIgnitionUserData(t *testing.T) {
	const config = "{ \"ignition\": {\"version\": \"3.3.0\"},\n\"passwd\": {\"users\": [{\"name\": \"core\"}]} }\n"
	reporters := datasource.Options{Extra: []machine.Layer{layer("#cloud-config\nruncmd: [report]\n", machine.MergeParts),
		layer(`{"ignition": {"version": "3.0.0"}, "storage": {"files": [{"path": "/report"}]}}`, machine.MergeParts)}}
	m := machine.Machine{Identity: machine.Identity{Hostname: "web"}, SSH: machine.SSH{AuthorizedKeys: []string{"k"}},
		Network: machine.Network{NICs: []machine.NIC{{Name: "n", DHCP4: true}}}, UserData: plain(config), VendorData: plain("#cloud-config\n{}\n").Layers}
	if got, l := User(placed(t, m), datasource.Options{}); got.Reveal() != config || l.HasErrors() {
		t.Errorf("%s %v", got.Reveal(), l)
	}
	got, l := User(placed(t, m), reporters)
	children, err := ignitiontest.Children(got.Reveal())
	if err != nil || l.HasErrors() || !slices.Equal(children, []string{config, reporters.Extra[1].Data.Reveal()}) {
		t.Errorf("%q %v %v", children, err, l)
	}
	if got, _ := Vendor(placed(t, m), reporters); !got.IsZero() {
		t.Errorf("vendor-data that nobody reads: %s", got.Reveal())
	}
	m.UserData, m.VendorData = plain(script), nil
	if got, _ := Vendor(placed(t, m), reporters); !got.Equal(reporters.Extra[0].Data) {
		t.Errorf("vendor-data of cloud-init: %s", got.Reveal())
	}
	m.UserData, m.Files = plain(config), []machine.File{{Path: "/x", Content: secret.New("x")}}
	if fields := ExpressesFor(m, Expresses().Union(machine.NewFieldSet("metaData"))); fields.Has("packages") || fields.Has("vendorData") ||
		!fields.Has("units") || !fields.Has("metaData") || !fields.Has("files.path") {
		t.Errorf("expressed are %v", fields.Fields())
	}
}

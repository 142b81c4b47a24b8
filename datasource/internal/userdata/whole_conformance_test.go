//go:build conformance

package userdata

import (
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
)

// TestWholeAsVendorData has cloud-init take vendor-data behind the user-data for what it makes of vendor-data that it reads
// by itself.
func TestWholeAsVendorData(t *testing.T) {
	const generic = "#cloud-config\n"
	var machines []machine.Machine
	for _, user := range []string{
		"ntp: {enabled: false, servers: [u]}\nruncmd: [[u]]\nfinal_message: user\n",
		"ntp: {servers: []}\nmounts: null\nruncmd: {}\nlocale: x\n",
		"merge_how: list(append)+dict(recurse_array)+str()\nruncmd: [[u]]\n",
		"write_files: [{path: /u}]\nntp: none\n",
	} {
		for _, vendor := range []string{
			"ntp: {enabled: true, pools: [v], servers: [v]}\nruncmd: [[v]]\nlocale: y\nmounts: [[v, /v]]\n",
			"ntp: {a: {b: {c: v}}}\nfinal_message: vendor\nwrite_files: [{path: /v}]\nhostname: v\n",
		} {
			machines = append(machines, machine.Machine{UserData: plain(generic + user), VendorData: []machine.Layer{layer(generic+vendor, machine.MergeParts)}})
		}
	}
	var apart, together []judge.UserDataInput
	for _, m := range machines {
		m = placed(t, m)
		user, _ := User(m, datasource.Options{})
		vendor, _ := Vendor(m, datasource.Options{})
		whole, _ := Whole(m, datasource.Options{})
		apart = append(apart, judge.UserDataInput{UserData: []byte(user.Reveal()), VendorData: []byte(vendor.Reveal())})
		together = append(together, judge.UserDataInput{UserData: []byte(whole.Reveal())})
	}
	for _, r := range judge.Releases(t) {
		want, got := r.UserDataBatch(t, apart), r.UserDataBatch(t, together)
		for i := range machines {
			if want, got := want[i].Final.JSON(), got[i].Final.JSON(); want != got {
				t.Errorf("%s: from\n%s\ncloud-init makes\n%s\nand with vendor-data\n%s", r.Name, together[i].UserData, got, want)
			}
		}
	}
}

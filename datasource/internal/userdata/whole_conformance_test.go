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
	const templated = "## template: jinja\n" + generic
	vendors := func(texts ...string) (out []machine.Layer) {
		for _, text := range texts {
			out = append(out, layer(text, machine.MergeParts))
		}
		return out
	}
	const user = generic + "ntp: {servers: [u]}\nruncmd: [[u]]\nwrite_files: [{path: /u}]\n"
	for _, layers := range [][]machine.Layer{
		vendors(generic+"locale: a\nntp: {a: 1}\n", generic+"locale: b\nntp: {b: 2}\nruncmd: [[v]]\n"),
		vendors(generic + "merge_how: list(append)+dict(recurse_array)+str(append)\nruncmd: [[v]]\nlocale: a\n"),
		vendors(generic+"runcmd: [[v]]\nmounts: [[v]]\n", generic+"merge_type: list(append)+dict(no_replace)+str()\nmounts: [[w]]\n"),
		vendors(templated + "runcmd: [[v]]\nlocale: {{ 'a' }}\n"),
		vendors(generic+"locale: a\nmounts: [[v]]\n", templated+"runcmd: [[v]]\nlocale: {{ 'b' }}\n", generic+"timezone: c\n"),
		vendors(compressed(t, generic+"runcmd: [[v]]\nlocale: a\n")),
		vendors("#cloud-config-archive\n- content: |\n    #cloud-config\n    runcmd: [[v]]\n- {type: text/cloud-config, content: 'locale: a'}\n"),
		vendors("Content-Type: text/cloud-config\nMIME-Version: 1.0\nMerge-Type: list(append)\n\nruncmd: [[v]]\n"),
		vendors("#!/bin/sh\n", generic+"ntp: {a: 1}\n"),
	} {
		machines = append(machines, machine.Machine{UserData: plain(user), VendorData: layers},
			machine.Machine{UserData: plain(user, "#!/bin/sh\n"), VendorData: layers},
			machine.Machine{NTP: machine.NTP{Servers: []string{"u"}}, VendorData: layers})
	}
	machines = append(machines, machine.Machine{VendorData: vendors(generic + "mounts: [[v]]\n"),
		UserData: plain(compressed(t, "Content-Type: multipart/mixed; boundary=a\nMIME-Version: 1.0\n\n--a\nContent-Type: text/cloud-config\n\nruncmd: [[u]]\n--a--\n"))})
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

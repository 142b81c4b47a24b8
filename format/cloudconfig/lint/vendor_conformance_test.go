//go:build conformance

package lint

import (
	"slices"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/internal/judge"
)

// TestVendorAsCloudInit has cloud-init join user-data and vendor-data: of a value that is said to be hidden nothing is
// left, and of every other one all.
func TestVendorAsCloudInit(t *testing.T) {
	const vendor = "runcmd: [a, b]\nhostname: x\nntp: {enabled: true, pools: [p]}\nswap: {filename: /s, size: 1}\npackages:\n"
	paths := [][]string{{"runcmd"}, {"hostname"}, {"ntp", "enabled"}, {"ntp", "pools"}, {"swap", "filename"}, {"swap", "size"}, {"packages"}}
	users := []string{"{}", "runcmd: [c]\n", "runcmd: [a, b]\n", "runcmd: x\n", "hostname: y\n", "hostname: x\n", "hostname:\n", "ntp: {enabled: false}\n", "ntp: {pools: [q]}\n",
		"ntp: {servers: [s]}\n", "ntp:\n", "swap: {size: 2, maxsize: 3}\n", "packages: [p]\n", "packages:\n", "runcmd: []\nswap: {}\n"}
	parse := func(text string) *cloudconfig.Document {
		d, l := cloudconfig.Parse(diag.File("f"), []byte(text))
		if l.HasErrors() {
			t.Fatal(l)
		}
		return d
	}
	var pairs []judge.MergePair
	for _, user := range users {
		// cloud-init's own way to join its sources: what came first stays, mappings are united.
		pairs = append(pairs, judge.MergePair{Base: user, Over: vendor, How: "dict()+list()+str()"})
	}
	pairs = append(pairs, judge.MergePair{Base: "{}", Over: vendor, How: "dict()+list()+str()"})
	for _, release := range judge.Releases(t) {
		results := release.Merge(t, pairs)
		alone := results[len(users)]
		for i, user := range users {
			var said []string
			for _, d := range Vendor(parse(user), parse(vendor)) {
				said = append(said, d.Field)
			}
			for _, path := range paths {
				kept := results[i].Value.Get(path...).JSON() == alone.Value.Get(path...).JSON()
				name := path[0]
				hidden := slices.Contains(said, name)
				if len(path) > 1 {
					hidden = hidden || slices.Contains(said, name+"."+path[1])
				}
				if kept == hidden {
					t.Errorf("cloud-init %s, user-data %q: %v is kept: %t, said to be hidden: %q", release.Name, user, path, kept, said)
				}
			}
		}
	}
}

package cli

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// TestShowTree prints answers of one word on a line, and others under a heading; nothing that a terminal would act on.
func TestShowTree(t *testing.T) {
	blob := func(path, text string) seed.Blob { return seed.Blob{Path: path, Content: secret.New(text)} }
	for name, x := range map[string]struct {
		tree seed.Tree
		seal bool
		want string
	}{
		"words": {seed.Tree{Name: "ec2", Roots: []string{"latest"}, Tokens: seed.TokensRequired, Blobs: []seed.Blob{blob("a", "1"), blob("b/", "0=k"), blob("c", "")}}, false,
			"# tree ec2, which the guest fetches by HTTP with a session token (hop limit 1)\n\nlatest/a: 1\nlatest/b/: 0=k\nlatest/c: (empty)\n"},
		"documents": {seed.Tree{Name: "openstack", Roots: []string{"r", "s", "t"}, Tokens: seed.TokensOptional, HopLimit: 2,
			Blobs: []seed.Blob{blob("a", "1"), blob("b", "{}"), blob("c", "x\ny\n"), blob("d", "2")}}, true,
			"# tree openstack, which the guest fetches by HTTP, with a session token or without\n# the same stands below s and t\n\nr/a: 1\n\n" +
				"## r/b (2 bytes)\n{}\n\n## r/c (4 bytes)\nx\ny\n\nr/d: 2\n"},
		"own root": {seed.Tree{Name: "x", Roots: []string{"", "1", "2", "3"}, Blobs: []seed.Blob{{Path: "a", Content: secret.New("\x1b[2J"), Sealable: true}}}, true,
			"# tree x, which the guest fetches by HTTP\n# the same stands below 1 to 3: 3 more versions\n\n## a, until the first boot is over (4 bytes)\n(binary)\n"},
	} {
		var out strings.Builder
		showTree(&out, x.tree, x.seal)
		if got := out.String(); got != x.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, x.want)
		}
	}
}

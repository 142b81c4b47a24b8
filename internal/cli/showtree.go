package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/vmseed/vmseed/seed"
)

// maxLeaf is how long an answer may be that is shown on the line of its path.
const maxLeaf = 100

// showTree prints what a guest fetches, once for all the directories in which it stands. Most answers of a service are one
// word; those are printed on the line of their path.
func showTree(w io.Writer, t seed.Tree, seal bool) {
	head := "# tree " + t.Name + ", which the guest fetches by HTTP"
	switch t.Tokens {
	case seed.TokensRequired:
		head += fmt.Sprintf(" with a session token (hop limit %d)", max(1, t.HopLimit))
	case seed.TokensOptional:
		head += ", with a session token or without"
	}
	fmt.Fprintln(w, head)
	switch n := len(t.Roots); {
	case n > 3:
		fmt.Fprintf(w, "# the same stands below %s to %s: %d more versions\n", t.Roots[1], t.Roots[n-1], n-1)
	case n > 1:
		fmt.Fprintf(w, "# the same stands below %s\n", strings.Join(t.Roots[1:], " and "))
	}
	leaf := false
	for _, b := range t.Blobs {
		text := b.Content.Reveal()
		name := t.Place(b)
		if seal && b.Sealable {
			name += ", until the first boot is over"
		}
		if len(text) > maxLeaf || strings.Contains(text, "\n") || !printable(text) || strings.HasPrefix(text, "{") {
			showFile(w, name, text)
			leaf = false
			continue
		}
		if !leaf {
			fmt.Fprintln(w)
		}
		leaf = true
		if text == "" {
			text = "(empty)"
		}
		fmt.Fprintf(w, "%s: %s\n", name, text)
	}
}

// shownTree describes a tree for a program.
type shownTree struct {
	Name string `json:"name"`
	// Roots are the directories in which the files stand.
	Roots    []string    `json:"roots"`
	Tokens   seed.Tokens `json:"tokens,omitempty"`
	HopLimit int         `json:"hopLimit,omitempty"`
	Files    []shownBlob `json:"files"`
}

// shownBlob is a file with its path below the roots.
type shownBlob struct {
	shownFile
	ContentType string `json:"contentType,omitempty"`
	Sealable    bool   `json:"sealable,omitempty"`
}

func shownTrees(trees []seed.Tree) []shownTree {
	var out []shownTree
	for _, t := range trees {
		x := shownTree{Name: t.Name, Roots: t.Roots, Tokens: t.Tokens, HopLimit: t.HopLimit, Files: []shownBlob{}}
		for _, b := range t.Blobs {
			x.Files = append(x.Files, shownBlob{shown(b.Path, b.Content, 0), b.ContentType, b.Sealable})
		}
		out = append(out, x)
	}
	return out
}

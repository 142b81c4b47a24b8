package metadata

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/seed"
)

// The names of trees that the server knows more about.
const (
	openStack = "openstack"
	noCloud   = "nocloud"
)

const (
	// tokenFile is where a tree's sessions begin (EC2 User Guide, "Use IMDSv2").
	tokenFile = "api/token"
	// passwordFile is where guests of OpenStack post a password (nova, api/metadata/password.py).
	passwordFile = "password"
	// reportsRoot is above what is served by Config.Reports.
	reportsRoot = "vmseed"
)

// maxHopLimit is EC2's (HttpPutResponseHopLimit).
const maxHopLimit = 64

// ErrTree is wrapped for a tree that cannot be served.
var ErrTree = errors.New("bad tree")

// checkTrees refuses trees that could not be served whole, or not without doubt. Its errors show paths and no contents.
func checkTrees(trees []seed.Tree) error {
	roots := map[string]bool{}
	for _, t := range trees {
		if len(t.Roots) == 0 {
			return fmt.Errorf("%w %q: it has no root", ErrTree, t.Name)
		}
		for _, root := range t.Roots {
			if root != "" && !cleanPath(root) || root == reportsRoot || strings.HasPrefix(root, reportsRoot+"/") {
				return fmt.Errorf("%w %q: %q is no root", ErrTree, t.Name, root)
			}
			if roots[root] {
				return fmt.Errorf("%w %q: the root %q is there twice", ErrTree, t.Name, root)
			}
			roots[root] = true
		}
		if t.Tokens != seed.NoTokens && t.Tokens != seed.TokensOptional && t.Tokens != seed.TokensRequired {
			return fmt.Errorf("%w %q: tokens are optional or required, not %q", ErrTree, t.Name, t.Tokens)
		}
		if t.HopLimit < 0 || t.HopLimit > maxHopLimit {
			return fmt.Errorf("%w %q: the hop limit is from 1 to %d, not %d", ErrTree, t.Name, maxHopLimit, t.HopLimit)
		}
		if err := checkBlobs(t); err != nil {
			return fmt.Errorf("%w %q: %w", ErrTree, t.Name, err)
		}
	}
	return nil
}

func checkBlobs(t seed.Tree) error {
	leaves, dirs := map[string]bool{}, map[string]bool{"": true}
	for _, b := range t.Blobs {
		path, listing := strings.CutSuffix(b.Path, "/")
		if !cleanPath(path) && (path != "" || !listing) {
			return fmt.Errorf("%w: %q is no clean relative path", delivery.ErrName, b.Path)
		}
		if leaves[b.Path] {
			return fmt.Errorf("%w: %q is there twice", delivery.ErrName, b.Path)
		}
		if t.Tokens != seed.NoTokens && (path == tokenFile || strings.HasPrefix(path, tokenFile+"/")) {
			return fmt.Errorf("%w: %q is where session tokens are", delivery.ErrName, b.Path)
		}
		if strings.ContainsFunc(b.ContentType, func(r rune) bool { return r < ' ' || r > '~' }) {
			return fmt.Errorf("the content type of %q is no text of HTTP", b.Path)
		}
		leaves[b.Path] = true
		if listing {
			dirs[path] = true
		}
		for dir, _ := parent(path); dir != ""; dir, _ = parent(dir) {
			dirs[dir] = true
		}
	}
	for dir := range dirs {
		if leaves[dir] {
			return fmt.Errorf("%w: %q is a file and a directory", delivery.ErrName, dir)
		}
	}
	return nil
}

// maxName is the longest part of a path, as on disks: a tree can be written to one.
const maxName = 255

func cleanPath(path string) bool {
	if !fs.ValidPath(path) || path == "." || !utf8.ValidString(path) ||
		strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if len(part) > maxName {
			return false
		}
	}
	return true
}

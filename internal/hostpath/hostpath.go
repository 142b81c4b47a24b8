// Package hostpath holds what documents name of the host, its paths and devices, against what the host's administrator allows.
// Whoever may write documents, for the daemon or for a cluster, is not thereby a user of the host.
package hostpath

import (
	"path/filepath"
	"slices"
	"strings"
)

// Allowed is what of this host documents may name. The zero value allows nothing.
type Allowed struct {
	// Paths are files and devices, and directories of them: what they are or hold may be a disk, a CD, a kernel or an initial RAM
	// disk. Disks are taken as raw, and may be written to.
	Paths []string
	// Shares are directories that guests may mount: these themselves, because a guest can put links below one that it may write to.
	Shares []string
	// Devices are PCI addresses of devices that guests may have, such as 0000:65:00.0.
	Devices []string
}

// Absolute returns the same with whole paths.
func (a Allowed) Absolute() (Allowed, error) {
	a.Paths, a.Shares = slices.Clone(a.Paths), slices.Clone(a.Shares)
	for _, list := range [][]string{a.Paths, a.Shares} {
		for i, p := range list {
			whole, err := filepath.Abs(p)
			if err != nil {
				return a, err
			}
			list[i] = whole
		}
	}
	return a, nil
}

// Gives reports whether guests may have the device with a PCI address, with or without its domain.
func (a Allowed) Gives(pci string) bool {
	return pci != "" && slices.ContainsFunc(a.Devices, func(d string) bool { return address(d) == address(pci) })
}

// address spells a PCI address with its domain.
func address(pci string) string {
	if strings.Count(pci, ":") == 1 {
		pci = "0000:" + pci
	}
	return strings.ToLower(pci)
}

// Below reports whether a clean path is dir or in it. Links are not followed.
func Below(path, dir string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

// Within resolves a path, and reports whether what it leads to is what dir leads to, or in it.
func Within(path, dir string) (resolved string, ok bool, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err == nil {
		resolved, err = filepath.EvalSymlinks(path)
	}
	return resolved, err == nil && Below(resolved, dir), err
}

package ignition

import (
	"fmt"
	"strings"

	"github.com/vmseed/vmseed/diag"
)

// ostreeLinks are directories that are symbolic links in the images of Fedora CoreOS and its kin, which OSTree makes (the
// tree of /usr/lib/tmpfiles.d and rpm-ostree's layout of /).
var ostreeLinks = map[string]string{"/home": "/var/home", "/mnt": "/var/mnt", "/opt": "/var/opt", "/root": "/var/roothome", "/srv": "/var/srv",
	"/usr/local": "/var/usrlocal", "/media": "/run/media"}

// below reports whether a path is a directory or in it.
func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// whereTo is the place that a path leads to on the guest.
func (f family) whereTo(path string) string {
	if f.ostree {
		for link, target := range ostreeLinks {
			if below(path, link) {
				return target + path[len(link):]
			}
		}
	}
	return path
}

// readOnly reports whether a path is where images of the family cannot be written to.
func (f family) readOnly(path string) bool {
	if f.debian || f.whereTo(path) != path {
		return false
	}
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64"} {
		if below(path, dir) {
			return true
		}
	}
	return false
}

// mountPoint is the place at which a mount ends up. Neither Ignition nor a mount unit takes a path with a symbolic link in
// it: the one stops the boot, the other fails.
func (g *generator) mountPoint(at, path string) string {
	place := g.family.whereTo(path)
	if place != path {
		severity := diag.Note
		if g.family.guessed {
			severity = diag.Warning
		}
		g.list.Add(diag.Diagnostic{Code: CodePlace, Severity: severity, Range: g.place(at), Field: at,
			Summary: fmt.Sprintf("the mount is at %s, where %s leads on Fedora CoreOS and its kin", place, path),
			Remedy:  "state guest.release: fcos, or that of another distribution, such as debian-12"})
	}
	return place
}

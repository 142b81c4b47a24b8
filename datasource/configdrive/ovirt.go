package configdrive

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/datasource/internal/metadata"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
)

// ovirtMembers are the members that oVirt's engine writes. Their order is not fixed there; here it is this one.
func ovirtMembers() []string {
	return []string{"uuid", "hostname", "name", "public_keys", "meta", "launch_index", "availability_zone", "network-interfaces", "network_config"}
}

// asOVirt adds what oVirt's engine says of every VM, unless the machine says otherwise. The uuid is the VM's own, which
// the firmware shows as well: so cloud-init knows its instance again when the drive is gone, where a fresh one in each
// drive runs everything anew. A first boot that is asked for again has the revision appended to it, since nobody reads a
// UUID out of the member (cloud-init, cloudbase-init and Afterburn take any text).
//
// Source: CloudInitHandler of oVirt's engine 4.5, where public_keys is a list, which makes Afterburn fail on the file.
func asOVirt(m machine.Machine, meta metadata.Object, dynamic map[string]string) {
	index := "0"
	if m.Identity.LaunchIndex != nil {
		index = strconv.Itoa(*m.Identity.LaunchIndex)
	}
	meta["launch_index"] = index
	if m.Identity.AvailabilityZone == "" {
		meta["availability_zone"] = "nova"
	}
	for key, value := range map[string]string{"dsmode": ovirtMode(m), "essential": "false", "role": "server"} {
		if _, own := dynamic[key]; !own {
			dynamic[key] = value
		}
	}
}

// ovirtMode is local, by which cloud-init does its work before the network is up, as in oVirt, unless the user-data or
// files in it can only be fetched over the network.
func ovirtMode(m machine.Machine) string {
	for _, x := range m.UserData.Layers {
		text := x.Data.Reveal()
		kind := cloudconfig.Recognise([]byte(text))
		for _, remote := range []cloudconfig.Kind{cloudconfig.Include, cloudconfig.IncludeOnce} {
			if kind == remote || strings.Contains(text, remote.ContentType()) {
				return "net"
			}
		}
		if doc, _ := cloudconfig.Parse(x.Origin, []byte(text)); doc != nil && fetches(doc.Get("write_files")) {
			return "net"
		}
	}
	return "local"
}

// fetches reports whether a file of a list comes from a URL, as 25.1 has it.
func fetches(files *yaml.Node) bool {
	if files == nil {
		return false
	}
	return slices.ContainsFunc(files.Content, func(f *yaml.Node) bool {
		for i := 0; i+1 < len(f.Content); i += 2 {
			if f.Content[i].Value == "source" {
				return true
			}
		}
		return false
	})
}

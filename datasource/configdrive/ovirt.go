package configdrive

import (
	"strconv"

	"github.com/vmseed/vmseed/datasource/internal/metadata"
	"github.com/vmseed/vmseed/datasource/internal/userdata"
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
	if userdata.Fetches(m) {
		return "net"
	}
	return "local"
}

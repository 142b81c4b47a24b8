package netconfig

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// valueType is how a parameter's value is written.
type valueType uint8

const (
	word    valueType = iota // one of a few words, or a name
	number                   // a whole number
	list                     // texts joined by commas
	boolean                  // true or false
	perPort                  // ID=NUMBER joined by commas
	device                   // the ID of a member
)

// param is one bond or bridge parameter. The names differ by form: netplan's names are the neutral ones.
type param struct {
	v1    string    // in network-config v1, behind the prefix bond- or bridge_
	value valueType // how the value is written
	// quoted and quoted2 say that the schema of version 1 or 2 wants a text although the value is a number.
	quoted, quoted2 bool
	// everywhere says that cloud-init itself knows the netplan name. Others reach netplan guests only: elsewhere
	// cloud-init fails on the whole document (KeyError in _handle_bond_bridge).
	everywhere bool
	values     []string // the words that are allowed; nil means any
}

// bondParams follows the kernel's bonding documentation, netplan's reference and cloud-init's NET_CONFIG_TO_V2.
var bondParams = map[string]param{
	"ad-select":               {v1: "ad_select", everywhere: true, values: []string{"stable", "bandwidth", "count"}},
	"all-slaves-active":       {v1: "all_slaves_active", value: boolean},
	"arp-all-targets":         {v1: "arp_all_targets", values: []string{"any", "all"}},
	"arp-interval":            {v1: "arp_interval", value: number, everywhere: true},
	"arp-ip-targets":          {v1: "arp_ip_target", value: list},
	"arp-validate":            {v1: "arp_validate", everywhere: true, values: []string{"none", "active", "backup", "all"}},
	"down-delay":              {v1: "downdelay", value: number, everywhere: true},
	"fail-over-mac-policy":    {v1: "fail_over_mac", everywhere: true, values: []string{"none", "active", "follow"}},
	"gratuitous-arp":          {v1: "num_grat_arp", value: number, everywhere: true},
	"lacp-rate":               {v1: "lacp_rate", everywhere: true, values: []string{"slow", "fast"}},
	"learn-packet-interval":   {v1: "lp_interval", value: number, quoted2: true},
	"mii-monitor-interval":    {v1: "miimon", value: number, quoted2: true, everywhere: true},
	"min-links":               {v1: "min_links", value: number, everywhere: true},
	"packets-per-slave":       {v1: "packets_per_slave", value: number},
	"primary":                 {v1: "primary", value: device, everywhere: true},
	"primary-reselect-policy": {v1: "primary_reselect", everywhere: true, values: []string{"always", "better", "failure"}},
	"transmit-hash-policy": {v1: "xmit_hash_policy", everywhere: true,
		values: []string{"layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"}},
	"up-delay": {v1: "updelay", value: number, quoted: true, everywhere: true},
}

// bridgeParams follows netplan's reference and bridge-utils-interfaces(5).
var bridgeParams = map[string]param{
	"ageing-time":   {v1: "ageing", value: number, everywhere: true},
	"forward-delay": {v1: "fd", value: number, everywhere: true},
	"hello-time":    {v1: "hello", value: number, everywhere: true},
	"max-age":       {v1: "maxage", value: number, everywhere: true},
	"path-cost":     {v1: "pathcost", value: perPort, everywhere: true},
	"port-priority": {v1: "portprio", value: perPort, everywhere: true},
	"priority":      {v1: "bridgeprio", value: number, everywhere: true},
	"stp":           {v1: "stp", value: boolean, everywhere: true},
}

// bondModes are the kernel's names in the order of its numbers.
var bondModes = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}

// BondParams lists the parameters that a BondSpec may hold, sorted.
func BondParams() []string { return slices.Sorted(maps.Keys(bondParams)) }

// BridgeParams lists the parameters that a BridgeSpec may hold, sorted.
func BridgeParams() []string { return slices.Sorted(maps.Keys(bridgeParams)) }

// BondModes lists the bonding policies in the order of the kernel's numbers for them.
func BondModes() []string { return slices.Clone(bondModes) }

// paramsOf returns the parameters of a bond or bridge with their table.
func (l *Link) paramsOf() (map[string]string, map[string]param) {
	switch {
	case l.Bond != nil:
		return l.Bond.Params, bondParams
	case l.Bridge != nil:
		return l.Bridge.Params, bridgeParams
	}
	return nil, nil
}

// items splits the value of a list or perPort parameter.
func items(value string) []string {
	var out []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// portItem splits an ID=NUMBER item.
func portItem(item string) (id string, n int, ok bool) {
	id, text, ok := strings.Cut(item, "=")
	n, err := strconv.Atoi(text)
	return id, n, ok && err == nil && n >= 0
}

// complaint says what is wrong with a value, or returns "". Names of other links are checked against members.
func (p param) complaint(value string, members []string) string {
	switch p.value {
	case number:
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return "is not a number"
		}
	case boolean:
		if value != "true" && value != "false" {
			return "is neither true nor false"
		}
	case device:
		if !slices.Contains(members, value) {
			return "names a link that is not a member"
		}
	case perPort:
		for _, item := range items(value) {
			id, _, ok := portItem(item)
			if !ok {
				return "is not a list of ID=NUMBER"
			}
			if !slices.Contains(members, id) {
				return "names a link that is not a port"
			}
		}
	case list:
		if len(items(value)) == 0 {
			return "is empty"
		}
	case word:
		if len(p.values) > 0 && !slices.Contains(p.values, value) {
			return "is none of " + strings.Join(p.values, ", ")
		}
	}
	return ""
}

//go:build conformance

package netconfig

import (
	"fmt"
	"testing"

	"go.yaml.in/yaml/v4"
)

// netplanDevice is what we look for in a netplan document. Booleans and numbers are typed, so that a text in their
// place does not pass.
type netplanDevice struct {
	Match      struct{ Macaddress string }
	SetName    string `yaml:"set-name"`
	Macaddress string
	MTU        int
	DHCP4      bool
	DHCP6      bool
	AcceptRA   bool `yaml:"accept-ra"`
	Overrides4 struct {
		RouteMetric int `yaml:"route-metric"`
	} `yaml:"dhcp4-overrides"`
	Addresses   []string
	Gateway4    string
	Gateway6    string
	Nameservers struct{ Addresses, Search []string }
	Routes      []struct {
		To, Via string
		Metric  int
	}
	Interfaces []string
	Parameters map[string]any
	ID         *int
	Link       string
}

// netplan reads the YAML that cloud-init writes, or passes on, for netplan.
func (f facts) netplan(tb testing.TB, text string) {
	tb.Helper()
	var doc struct{ Network map[string]yaml.Node }
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		tb.Fatalf("netplan document: %v\n%s", err, text)
	}
	for section, node := range doc.Network {
		if section == "version" {
			continue
		}
		var devices map[string]netplanDevice
		if err := node.Decode(&devices); err != nil {
			tb.Fatalf("netplan section %s: %v\n%s", section, err, text)
		}
		for name, d := range devices {
			if d.Match.Macaddress != "" {
				name = orElse(d.SetName, kernelName)
			}
			f.netplanAddresses(name, d)
			f.netplanParts(name, section, d)
		}
	}
}

func (f facts) netplanAddresses(name string, d netplanDevice) {
	if mac := orElse(d.Match.Macaddress, d.Macaddress); mac != "" {
		f.add("%s mac %s", name, mac)
	}
	if d.MTU != 0 {
		f.add("%s mtu %d", name, d.MTU)
	}
	if d.DHCP4 {
		f.add("%s dhcp4", name)
	}
	if d.DHCP6 || d.AcceptRA {
		f.add("%s auto6", name)
	}
	if m := d.Overrides4.RouteMetric; m != 0 {
		f.add("%s dhcp4 metric %d", name, m)
	}
	for _, a := range d.Addresses {
		f.add("%s address %s", name, a)
	}
	for _, gw := range []string{d.Gateway4, d.Gateway6} {
		if gw != "" {
			f.route(name, "default", gw, "")
		}
	}
	for _, r := range d.Routes {
		metric := ""
		if r.Metric != 0 {
			metric = fmt.Sprint(r.Metric)
		}
		f.route(name, r.To, r.Via, metric)
	}
	for _, a := range d.Nameservers.Addresses {
		f.add("dns %s", a)
	}
	for _, s := range d.Nameservers.Search {
		f.add("search %s", s)
	}
}

// netplanParts takes what a link is built upon, and its parameters under version 1's names.
func (f facts) netplanParts(name, section string, d netplanDevice) {
	for _, m := range d.Interfaces {
		f.add("%s on %s", name, m)
	}
	if d.ID != nil {
		f.add("%s tag %d", name, *d.ID)
		f.add("%s on %s", name, d.Link)
	}
	table := bondParams
	if section == "bridges" {
		table = bridgeParams
	}
	for key, value := range d.Parameters {
		f.add("%s %s %v", name, orElse(table[key].v1, key), value)
	}
}

package netconfig

import (
	"slices"

	"github.com/vmseed/vmseed/diag"
)

// Encode writes the network in a form. It validates the network first; when the list holds an error, no bytes are
// returned. Warnings name what the form leaves out or some guests lose.
func Encode(f Format, c Config) ([]byte, diag.List) {
	l := c.Validate()
	if l.HasErrors() {
		return nil, l
	}
	c = c.normal()
	var data []byte
	var more diag.List
	var err error
	l = append(l, losses(&c, f)...)
	switch f {
	case V1:
		data, more, err = encodeV1(&c)
	case V2:
		data, more, err = encodeV2(&c)
	case OpenStack:
		data, more, err = encodeOpenStack(&c)
	case ENI:
		data, more, err = encodeENI(&c)
	default:
		l.Errorf(CodeUnknownForm, diag.Range{}, "use one of the forms that Formats lists", "the form %q cannot be written", string(f))
	}
	l = append(l, more...)
	if err != nil {
		l.Errorf(CodeModel, diag.Range{}, "", "the network cannot be written: %v", err)
	}
	if l.HasErrors() {
		return nil, l
	}
	return data, l
}

// EncodeV1 writes network-config version 1, the form that reaches the most guests: addresses, routers and resolvers
// inside subnets, MAC addresses quoted and in lower case.
func EncodeV1(c Config) ([]byte, diag.List) { return Encode(V1, c) }

// EncodeV2 writes network-config version 2. Default routes are 0.0.0.0/0 and gateway6: "to: default" fails outside
// netplan before cloud-init 25.3, and "::/0" becomes "::/64" in interfaces(5) text of 22.4.
func EncodeV2(c Config) ([]byte, diag.List) { return Encode(V2, c) }

// EncodeOpenStack writes OpenStack's network_data.json. Keys beyond nova's schema (name, metric, dns_search,
// dns_nameservers) are cloud-init's.
func EncodeOpenStack(c Config) ([]byte, diag.List) { return Encode(OpenStack, c) }

// EncodeENI writes interfaces(5) text as cloud-init reads it from a config drive and from the NoCloud key network-interfaces: one stanza for
// each address, aliases for the second and further ones.
func EncodeENI(c Config) ([]byte, diag.List) { return Encode(ENI, c) }

// disabled is the document that switches cloud-init's network off.
func disabled() ([]byte, diag.List, error) {
	data, err := newObject().word("config", "disabled").dump()
	return data, nil, err
}

// wanted returns the name a form with compulsory names gives a link, with a diagnostic when that renames a NIC whose
// name was left open, or when there is no usable name.
func wanted(c *Config, l *Link, list *diag.List, f Format) string {
	if name := l.GuestName(); name != "" {
		return name
	}
	taken := slices.ContainsFunc(c.Links, func(o Link) bool { return o.GuestName() == l.ID })
	if taken || badName(l.ID) != "" {
		list.Add(about(l, diag.Error, CodeInexpressible, "name", "give the link a name",
			"%s needs an interface name, and the ID cannot serve as one", f))
		return ""
	}
	list.Add(about(l, diag.Note, CodePartly, "name", "give the link a name if another one is wanted",
		"%s needs an interface name: the NIC is renamed to the ID", f))
	return l.ID
}

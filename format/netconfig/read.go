package netconfig

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

// Release is a release of cloud-init as far as network documents depend on it. The zero Release stands for any: what
// fails in one of the supported releases is then reported.
type Release struct{ Major, Minor int }

// before reports whether the guest may be older than a release.
func (r Release) before(major, minor int) bool {
	return r == Release{} || cmp.Or(cmp.Compare(r.Major, major), cmp.Compare(r.Minor, minor)) < 0
}

// since reports whether the guest may be as new as a release.
func (r Release) since(major, minor int) bool {
	return r == Release{} || !r.before(major, minor)
}

var interfacesLine = regexp.MustCompile(`^(auto|iface|allow-[a-z]+|source|source-directory|mapping)\s+\S`)

// Detect tells which form a network document is in, without checking it. A document that cannot be parsed, or is in
// none of the forms, is Unknown.
func Detect(data []byte) Format {
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if interfacesLine.MatchString(line) {
			return ENI
		}
		break
	}
	root, list := parse("", data)
	if list.HasErrors() || root == nil {
		return Unknown
	}
	_, f := unwrap(root)
	return f
}

// parse reads the one YAML or JSON value of a document; nil without an error means an empty document.
func parse(file string, data []byte) (*yaml.Node, diag.List) {
	if strings.HasPrefix(strings.TrimLeft(string(data), " \t\r\n"), "{") {
		if doc, list := bounded.JSON(file, data, bounded.Limits{}); !list.HasErrors() {
			return doc.Content[0], list
		}
	}
	docs, list := bounded.YAML(file, data, bounded.Limits{})
	if len(docs) == 0 {
		return nil, list
	}
	root := follow(docs[0].Content[0])
	if len(docs) > 1 {
		n := docs[1].Content[0]
		list.Errorf(CodeStructure, diag.At(file, n.Line, n.Column), "keep one document", "the file holds more than one document")
	}
	return root, list
}

// unwrap steps over a top-level network: and tells the form of what it finds.
func unwrap(root *yaml.Node) (*yaml.Node, Format) {
	root = follow(root)
	if inner := lookup(root, "network"); inner != nil && lookup(root, "version") == nil {
		root = follow(inner)
	}
	version, config := lookup(root, "version"), lookup(root, "config")
	switch {
	case config != nil && config.Kind == yaml.ScalarNode && config.Value == "disabled":
		return root, Disabled
	case version != nil && version.Value == "1":
		return root, V1
	case version != nil && version.Value == "2":
		return root, V2
	case version == nil && (isList(lookup(root, "links")) || isList(lookup(root, "networks")) || isList(lookup(root, "services"))):
		return root, OpenStack
	}
	return root, Unknown
}

func isList(n *yaml.Node) bool { return n != nil && n.Kind == yaml.SequenceNode }

// follow resolves an alias.
func follow(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// lookup returns the value of a key, or nil.
func lookup(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return follow(n.Content[i+1])
		}
	}
	return nil
}

// Parse reads a document in any form but interfaces(5) text. Errors are about places that cannot be read; warnings
// with CodeNotHeld name what the model cannot hold.
func Parse(file string, data []byte) (Config, Format, diag.List) {
	r := read(file, data, Release{})
	return r.config.normal(), r.format, r.list
}

// reader walks a document. What concerns the meaning goes to list, what concerns guests to traps.
type reader struct {
	file   string
	guest  Release
	format Format
	config Config
	list   diag.List
	traps  diag.List
}

func read(file string, data []byte, guest Release) *reader {
	r := &reader{file: file, guest: guest}
	if Detect(data) == ENI {
		r.format = ENI
		r.list.Errorf(CodeUnknownForm, diag.At(file, 1, 1), "write network-config version 1 or 2",
			"this is interfaces(5) text, which can be written but not read")
		return r
	}
	root, list := parse(file, data)
	r.list = list
	if list.HasErrors() {
		return r
	}
	if root == nil {
		r.list.Errorf(CodeUnknownForm, diag.At(file, 1, 1), "remove the file or fill it", "the document is empty")
		return r
	}
	root, r.format = unwrap(root)
	switch r.format {
	case Disabled:
		r.config.Disabled = true
	case V1:
		r.v1(root)
	case V2:
		r.v2(root)
	case OpenStack:
		if _, list := bounded.JSON(file, data, bounded.Limits{}); list.HasErrors() {
			r.list = append(r.list, list...)
		}
		r.openStack(root)
	default:
		r.unknown(root)
	}
	return r
}

// unknown says why a document is in no form.
func (r *reader) unknown(root *yaml.Node) {
	version := lookup(root, "version")
	switch {
	case version != nil:
		r.fail(version, CodeUnknownForm, "write version: 1 or version: 2", "the version is neither 1 nor 2, so cloud-init fails on it")
	case lookup(root, "ethernets") != nil || lookup(root, "bonds") != nil || lookup(root, "vlans") != nil || lookup(root, "bridges") != nil:
		r.fail(root, CodeUnknownForm, "add version: 2", "the version is missing, so cloud-init fails on the document")
	case lookup(root, "config") != nil:
		r.fail(root, CodeUnknownForm, "add version: 1", "the version is missing, so cloud-init fails on the document")
	default:
		r.fail(root, CodeUnknownForm, "see vmseed explain "+CodeUnknownForm.String(), "this is no network document that cloud-init reads")
	}
}

func (r *reader) at(n *yaml.Node) diag.Range { return diag.At(r.file, n.Line, n.Column) }

func (r *reader) fail(n *yaml.Node, code diag.Code, remedy, format string, args ...any) {
	r.list.Errorf(code, r.at(n), remedy, format, args...)
}

func (r *reader) notHeld(n *yaml.Node, what string) {
	r.list.Warnf(CodeNotHeld, r.at(n), "leave it out, or pass the document on unchanged", "%s cannot be carried over", what)
}

// trap notes what a guest does to the document. The severity is a warning when only some guests do it.
func (r *reader) trap(n *yaml.Node, severity diag.Severity, code diag.Code, remedy, format string, args ...any) {
	r.traps.Add(diag.Diagnostic{Code: code, Severity: severity, Range: r.at(n), Remedy: remedy, Summary: fmt.Sprintf(format, args...)})
}

// entry is one key with its value.
type entry struct {
	key   string
	node  *yaml.Node // of the key
	value *yaml.Node
}

// entries returns the entries of a mapping; what names it in the complaint about something else.
func (r *reader) entries(n *yaml.Node, what string) []entry {
	n = follow(n)
	if n == nil || n.Kind != yaml.MappingNode {
		if n != nil {
			r.fail(n, CodeStructure, "", "%s is no mapping", what)
		}
		return nil
	}
	var out []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Tag == "!!merge":
			r.fail(key, CodeStructure, "write the keys out", "merge keys are not read here")
		case key.Kind != yaml.ScalarNode:
			r.fail(key, CodeStructure, "use a text", "a key of %s is no text", what)
		default:
			out = append(out, entry{key.Value, key, follow(n.Content[i+1])})
		}
	}
	return out
}

// elements returns the items of a sequence.
func (r *reader) elements(n *yaml.Node, what string) []*yaml.Node {
	n = follow(n)
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.fail(n, CodeStructure, "write a list", "%s is no list", what)
		return nil
	}
	out := make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		out[i] = follow(c)
	}
	return out
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && (n.Value == "" || n.Value == "~" || strings.EqualFold(n.Value, "null"))
}

// plain reports whether a scalar is written without quotes, so that its YAML type depends on its looks.
func plain(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// text reads a scalar as it is written. null is "".
func (r *reader) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode {
		r.fail(n, CodeStructure, "write a text", "%s is no text", what)
		return ""
	}
	if isNull(n) {
		return ""
	}
	return n.Value
}

// number reads a whole number, quoted or not. null is 0.
func (r *reader) number(n *yaml.Node, what string) int {
	if n.Kind == yaml.ScalarNode && isNull(n) {
		return 0
	}
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v < 0 {
		r.fail(n, CodeStructure, "write a decimal number", "%s is no whole number", what)
		return 0
	}
	return v
}

// flag reads a truth value as its author meant it, and notes where cloud-init reads it otherwise. strict is for values
// that cloud-init uses without conversion: any non-empty text is true there.
func (r *reader) flag(n *yaml.Node, what string, strict bool) bool {
	word := strings.ToLower(n.Value)
	on := slices.Contains([]string{"true", "yes", "on", "1", "y"}, word)
	off := slices.Contains([]string{"false", "no", "off", "0", "n"}, word)
	switch {
	case n.Kind != yaml.ScalarNode || !on && !off && !isNull(n):
		r.fail(n, CodeStructure, "write true or false", "%s is neither true nor false", what)
	case strict && off && (!plain(n) || word == "n"):
		r.trap(n, diag.Warning, CodeGuestMisreads, "write false without quotes",
			"the text %q counts as true in guests that do not render with netplan", n.Value)
	}
	return on
}

// texts reads a list of texts, or, as cloud-init does, one text with spaces between the items.
func (r *reader) texts(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		var out []*yaml.Node
		for word := range strings.FieldsSeq(n.Value) {
			out = append(out, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: word, Line: n.Line, Column: n.Column})
		}
		return out
	}
	var out []*yaml.Node
	for _, e := range r.elements(n, what) {
		if e.Kind != yaml.ScalarNode {
			r.fail(e, CodeStructure, "write a text", "an item of %s is no text", what)
			continue
		}
		out = append(out, e)
	}
	return out
}

// addr reads an address.
func (r *reader) addr(n *yaml.Node, what string) netip.Addr {
	s := r.text(n, what)
	if s == "" {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		r.fail(n, CodeAddress, "write an IPv4 or IPv6 address", "%s is no address", what)
	}
	return a
}

// servers reads resolvers and adds those that are not there yet.
func (r *reader) servers(d *DNS, n *yaml.Node, what string) {
	for _, item := range r.texts(n, what) {
		if a := r.addr(item, what); a.IsValid() && !slices.Contains(d.Servers, a) {
			d.Servers = append(d.Servers, a)
		}
	}
}

// search reads search domains and adds those that are not there yet.
func (r *reader) search(d *DNS, n *yaml.Node, what string) {
	for _, item := range r.texts(n, what) {
		if s := strings.TrimSuffix(item.Value, "."); s != "" && !slices.Contains(d.Search, s) {
			d.Search = append(d.Search, s)
		}
	}
}

// sexagesimal is what PyYAML, a YAML 1.1 reader, takes for a whole number in base 60.
var sexagesimal = regexp.MustCompile(`^[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+$`)

// mac reads a MAC address. exact says that cloud-init compares the text with the kernel's lower-case spelling.
func (r *reader) mac(n *yaml.Node, what string, exact bool) string {
	s := r.text(n, what)
	if s == "" {
		return ""
	}
	if plain(n) && sexagesimal.MatchString(s) && r.format != OpenStack {
		value := 0
		for part := range strings.SplitSeq(strings.ReplaceAll(s, "_", ""), ":") {
			digit, _ := strconv.Atoi(part)
			value = value*60 + digit
		}
		r.trap(n, diag.Error, CodeGuestMisreads, "put it into quotes", "cloud-init reads this MAC address as the number %d", value)
	}
	mac, ok := ParseMAC(s)
	if !ok {
		r.fail(n, CodeMAC, "write six octets such as 52:54:00:12:34:56", "%s is no MAC address", what)
		return ""
	}
	if exact && mac != s {
		r.trap(n, diag.Error, CodeGuestFails, "write "+mac,
			"cloud-init does not find a NIC by a MAC address that is not in lower case with colons, and gives up the network")
	}
	return mac
}

// prefixLength reads a netmask: dotted, as leading ones of an IPv6 address, or as a number.
func prefixLength(s string, v4 bool) (int, bool) {
	limit := 128
	if v4 {
		limit = 32
	}
	if n, err := strconv.Atoi(s); err == nil {
		return n, n >= 0 && n <= limit
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Is4() != v4 || a.Zone() != "" {
		return 0, false
	}
	for bits := range limit + 1 {
		if netmask(netip.PrefixFrom(zeroOf(a), bits)) == a.String() {
			return bits, true
		}
	}
	return 0, false
}

// prefix joins an address, which may carry a prefix length, with a netmask beside it. An absent prefix length becomes
// what cloud-init assumes, with a warning, unless host is set: then it is the whole address.
func (r *reader) prefix(address, mask *yaml.Node, what string, host bool) (netip.Prefix, bool) {
	text := r.text(address, what)
	addrText, bitsText, given := strings.Cut(text, "/")
	a, err := netip.ParseAddr(addrText)
	if err != nil || a.Zone() != "" {
		r.fail(address, CodeAddress, "write an address with a prefix length, such as 10.0.0.5/24", "%s is no address", what)
		return netip.Prefix{}, false
	}
	if !given && mask != nil && !isNull(mask) {
		bitsText, given = r.text(mask, "netmask"), true
	}
	bits, ok := prefixLength(bitsText, a.Is4())
	switch {
	case given && !ok:
		r.fail(address, CodeAddress, "write the prefix length as a number", "the prefix length or netmask of %s is wrong", what)
		return netip.Prefix{}, false
	case !given && host:
		bits = a.BitLen()
	case !given:
		bits = 64
		if a.Is4() {
			bits = 24
		}
		r.trap(address, diag.Warning, CodeGuestMisreads, fmt.Sprintf("write %s/%d if that is meant", a, bits),
			"the prefix length is missing: cloud-init assumes /%d", bits)
	}
	return netip.PrefixFrom(a, bits), true
}

// addGateway sets the router of the family of gw, or adds a default route when there is one already.
func (l *Link) addGateway(gw netip.Addr) {
	if !gw.IsValid() {
		return
	}
	slot := &l.Gateway6
	if gw.Is4() {
		slot = &l.Gateway4
	}
	if slot.IsValid() && *slot != gw {
		l.Routes = append(l.Routes, Route{To: netip.PrefixFrom(zeroOf(gw), 0), Via: gw})
		return
	}
	*slot = gw
}

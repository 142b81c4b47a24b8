// Package lint says what a release of cloud-init will reject, ignore or misread in user-data and meta-data, with the
// place of each finding. Its table of keys and values follows cloud-init's own schemas from 22.4 to 26.2; on top come
// the traps that no schema catches.
package lint

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/cloudconfig/parts"
	"github.com/vmseed/vmseed/internal/bounded"
)

// UserData checks user-data or vendor-data of any kind, with everything that is packed into it.
func UserData(origin diag.Origin, data []byte, g Guest) diag.List {
	pieces, l := parts.Unpack(origin, data)
	for _, p := range pieces {
		l = append(l, part(p, g)...)
	}
	return l
}

// part checks one piece by its kind.
func part(p parts.Part, g Guest) diag.List {
	var l diag.List
	at := p.Origin.At(1, 1)
	l = append(l, headers(p)...)
	if p.Archived && (p.Kind == cloudconfig.Include || p.Kind == cloudconfig.IncludeOnce || p.Kind == cloudconfig.Archive ||
		p.Kind == cloudconfig.Gzip) {
		l.Warnf(CodeIgnored, at, "make it a part of a MIME multipart", "cloud-init ignores %s inside an archive", p.Kind.Describe())
		return l
	}
	switch p.Kind {
	case cloudconfig.CloudConfig:
		d, found := cloudconfig.Parse(p.Origin, p.Data)
		l = append(l, found...)
		if d != nil {
			l = append(l, Document(d, g)...)
		}
	case cloudconfig.Jinja:
		l = append(l, template(p, g)...)
	case cloudconfig.Include, cloudconfig.IncludeOnce:
		l.Notef(CodeInclude, at, "", "the guest fetches this from the network, and loses all user-data if it cannot")
	case cloudconfig.Script, cloudconfig.ScriptPerBoot, cloudconfig.ScriptPerInstance, cloudconfig.ScriptPerOnce:
		if !bytes.HasPrefix(p.Data, []byte("#!")) {
			l.Warnf(CodeScript, at, "make #!/bin/sh its first line", "the script has no first line that names its interpreter")
		}
	case cloudconfig.Boothook:
		text := strings.TrimLeft(string(p.Data), " \t\r\n")
		if rest := text[min(len(text), len("#cloud-boothook")):]; strings.HasPrefix(strings.ToLower(text), "#cloud-boothook") {
			text = strings.TrimLeft(rest, " \t\r\n")
		}
		if !strings.HasPrefix(text, "#!") {
			l.Warnf(CodeScript, at, "make #!/bin/sh its second line", "the boothook has no line that names its interpreter")
		}
	case cloudconfig.JSONPatch:
		l = append(l, patch(p)...)
	case cloudconfig.Unknown, cloudconfig.Ignition, cloudconfig.Base64, cloudconfig.Gzip:
		l = append(l, ignored(p)...)
	}
	return l
}

// patchHeader is the first line of a JSON patch, which is no JSON.
const patchHeader = "#cloud-config-jsonp"

// patch checks that a JSON patch is JSON, and a list of operations (RFC 6902).
func patch(p parts.Part) diag.List {
	var l diag.List
	body := bytes.Clone(p.Data)
	if i := bytes.Index(bytes.ToLower(body), []byte(patchHeader)); i >= 0 {
		copy(body[i:], bytes.Repeat([]byte(" "), len(patchHeader)))
	}
	root, found := bounded.JSON("", body, bounded.Limits{})
	if found.HasErrors() {
		return p.Origin.Carry(found)
	}
	root = root.Content[0]
	if cloudconfig.TypeOf(root) != cloudconfig.List {
		l.Errorf(CodeType, p.Origin.At(root.Line, root.Column), "", "a JSON patch is a list of operations, not a %s", cloudconfig.TypeOf(root))
		return l
	}
	for i, op := range items(root) {
		for _, key := range []string{"op", "path"} {
			if !isText(child(op, key)) {
				l.Add(diag.Diagnostic{Code: CodeMissing, Severity: diag.Error, Range: p.Origin.At(op.Line, op.Column),
					Field: indexed("", i), Summary: "the operation has no " + key + ", which is required", Remedy: "add it"})
			}
		}
	}
	return l
}

// headers checks what cloud-init takes from the header of a part.
func headers(p parts.Part) diag.List {
	var l diag.List
	for _, f := range p.Header {
		name := strings.ToLower(f.Name)
		if (name == "merge-type" || name == "x-merge-type") && f.Name != "Merge-Type" && f.Name != "X-Merge-Type" {
			l.Warnf(CodeHeader, p.Origin.At(1, 1), "write it as Merge-Type", "cloud-init does not read the header %s in this spelling", f.Name)
		}
	}
	if p.Kind == cloudconfig.CloudConfig && p.MergeType != "" {
		if _, err := cloudconfig.ParseHow(p.MergeType); err != nil {
			l.Errorf(CodeHow, p.Origin.At(1, 1), "", "cloud-init drops this part: its Merge-Type: %v", err)
		}
	}
	return l
}

// ignored says why a guest does nothing with a text.
func ignored(p parts.Part) diag.List {
	var l diag.List
	at := p.Origin.At(1, 1)
	text := strings.TrimLeft(string(p.Data), " \t\r\n")
	switch {
	case strings.HasPrefix(text, "\ufeff"):
		l.Errorf(CodeIgnored, at, "save the file without it", "the text begins with a byte order mark, so that cloud-init ignores it")
	case p.Kind == cloudconfig.Ignition:
		l.Errorf(CodeIgnored, at, "use the data source ignition for it", "this is an Ignition config, which cloud-init ignores")
	case p.Kind == cloudconfig.Base64:
		l.Errorf(CodeIgnored, at, "decode it first", "this is base64 text, which cloud-init ignores")
	case p.Kind == cloudconfig.Gzip:
		l.Errorf(CodeIgnored, at, "give the part the type application/gzip", "cloud-init does not unpack this gzip data")
	case p.ContentType != "" && p.ContentType != cloudconfig.Unknown.ContentType() && p.ContentType != "text/plain":
		l.Warnf(CodeIgnored, at, "", "cloud-init has no handler for the content type %q", p.ContentType)
	default:
		first, _, _ := strings.Cut(text, "\n")
		first = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(first), " ", ""))
		if strings.HasPrefix(first, "#cloud-config") {
			l.Errorf(CodeIgnored, at, "write #cloud-config without blanks", "the first line is not #cloud-config, so that cloud-init ignores the text")
		} else {
			l.Errorf(CodeIgnored, at, "make #cloud-config, or #! with an interpreter, the first line",
				"the text begins like no kind of user-data, so that cloud-init ignores it")
		}
	}
	return l
}

// template checks a jinja template as far as its expressions let it.
func template(p parts.Part, g Guest) diag.List {
	var l diag.List
	switch kind := cloudconfig.JinjaKind(p.Data); kind {
	case cloudconfig.CloudConfig:
		d, found := cloudconfig.ParseTemplate(p.Origin, p.Data)
		if d != nil {
			return append(found, Document(d, g)...)
		}
		for _, f := range found {
			f.Severity = diag.Warning
			f.Summary = "the template may render to broken YAML: " + f.Summary
			l.Add(f)
		}
	case cloudconfig.Script, cloudconfig.Boothook, cloudconfig.Unknown, cloudconfig.Empty:
	default:
		l.Errorf(CodeJinja, p.Origin.At(2, 1), "render it on this side", "cloud-init does not render templates of %s", kind.Describe())
	}
	return l
}

// Document checks a cloud-config: its keys and values, and the traps.
func Document(d *cloudconfig.Document, g Guest) diag.List {
	var l diag.List
	if d.IsEmpty() {
		l.Warnf(CodeEmpty, d.Origin().At(1, 1), "", "the document is empty; cloud-init drops it")
		return l
	}
	keys, err := keyTable()
	if err != nil { // the table is part of the program, and its test reads it
		l.Errorf(CodeUnknownKey, d.Origin().Whole, "", "vmseed's own table of keys is broken: %v", err)
		return l
	}
	c := checker{doc: d, guest: g, keys: keys, list: &l, done: map[*yaml.Node]bool{}}
	c.traps()
	pairs(d.Root(), c.key)
	c.values(d.Root(), "", "", 0)
	return l
}

// checker collects the findings of one document.
type checker struct {
	doc   *cloudconfig.Document
	guest Guest
	keys  map[string]variants
	list  *diag.List
	done  map[*yaml.Node]bool // values whose type was complained about
}

func (c *checker) add(code diag.Code, s diag.Severity, n *yaml.Node, path, remedy, format string, args ...any) {
	c.list.Add(diag.Diagnostic{Code: code, Severity: s, Range: c.doc.Range(n), Field: path, Summary: fmt.Sprintf(format, args...),
		Remedy: remedy})
}

func (c *checker) warn(code diag.Code, n *yaml.Node, path, remedy, format string, args ...any) {
	c.add(code, diag.Warning, n, path, remedy, format, args...)
}

// key checks one top-level key with its value.
func (c *checker) key(k, v *yaml.Node) {
	if cloudconfig.Opaque(k) {
		return
	}
	if cloudconfig.TypeOf(k) != cloudconfig.String {
		c.warn(CodeUnknownKey, k, "", "put the key into quotes if it is meant as text", "a %s is no key that cloud-init knows", cloudconfig.TypeOf(k))
		return
	}
	shapes, v4 := c.keys[k.Value], c.guest.version()
	s := shapes.at(v4)
	if s == nil {
		c.unknown(k, shapes)
		return
	}
	wrong, old := validator{v4}.value(v, s, k.Value, 0)
	for _, p := range wrong {
		if !c.done[p.node] {
			c.warn(p.code, p.node, p.path, p.remedy, "%s", p.text)
		}
		if p.code == CodeType {
			c.done[p.node] = true
		}
	}
	for _, p := range old {
		c.deprecated(p.node, p.path, "", p.shape.deprecated)
	}
}

// statusTwo is the release since which deprecations make `cloud-init status` exit with 2.
var statusTwo = version{23, 4}

// deprecated notes a form that goes away.
func (c *checker) deprecated(n *yaml.Node, path, remedy string, since version) {
	effect := ""
	if !c.guest.version().before(statusTwo) {
		effect = "; `cloud-init status` exits with 2 because of it"
	}
	c.add(CodeDeprecated, diag.Note, n, path, remedy, "this is deprecated since cloud-init %s%s", since, effect)
}

// elsewhere names the place of keys that are often put into a cloud-config by mistake.
var elsewhere = map[string]string{
	"network": "give it as network-config; user-data cannot configure the network", "instance-id": "put it into meta-data",
	"instance_id": "put it into meta-data as instance-id", "local-hostname": "put it into meta-data, or use hostname",
	"public-keys": "put it into meta-data, or use ssh_authorized_keys", "datasource": "put it into /etc/cloud/cloud.cfg.d of the image",
	"datasource_list": "put it into /etc/cloud/cloud.cfg.d of the image", "name": "put it into an item of users",
	"content": "put it into an item of write_files", "path": "put it into an item of write_files", "sudo": "put it into an item of users",
	"passwd": "put it into an item of users", "ssh-authorized-keys": "did you mean ssh_authorized_keys?",
	"run_cmd": "did you mean runcmd?", "commands": "did you mean runcmd?", "dns": "give it as network-config",
}

// unknown reports a top-level key without a shape in this release.
func (c *checker) unknown(k *yaml.Node, shapes variants) {
	v := c.guest.version()
	if len(shapes) > 0 {
		first, last := shapes[0], shapes[len(shapes)-1]
		switch {
		case first.older:
		case v.before(first.since):
			c.warn(CodeRelease, k, k.Value, "remove it for this guest", "%s does not know this key, which came with cloud-init %s", c.guest, first.since)
		default:
			c.warn(CodeRelease, k, k.Value, "remove it", "%s does not know this key any more; it went with cloud-init %s", c.guest, last.until)
		}
		return
	}
	remedy, ok := elsewhere[k.Value]
	if !ok {
		var names []string
		for name := range c.keys {
			names = append(names, name)
		}
		remedy = suggest(k.Value, names)
	}
	c.warn(CodeUnknownKey, k, k.Value, remedy, "no module of cloud-init reads this key")
}

// Vendor says what of vendor-data a guest does not see because user-data says it otherwise: cloud-init unites mappings,
// and of all else takes that of the user-data whole. Either may be nil. Lists are warned of, as what they ask for is not
// done; that user-data has another scalar is what vendor-data is made for, and noted.
func Vendor(user, vendor *cloudconfig.Document) diag.List {
	var l diag.List
	if user == nil || vendor == nil {
		return l
	}
	if v := user.Get("vendor_data"); v != nil {
		if off := v.Content; len(off) >= 2 {
			if truth, ok := cloudconfig.Truth(off[1]); off[0].Value == "enabled" && ok && !truth {
				l.Warnf(CodeVendor, user.Range(v), "", "the user-data switches vendor-data off")
				return l
			}
		}
	}
	for _, k := range vendor.Keys() {
		if k != "merge_how" && k != "merge_type" {
			hidden(&l, user, vendor, k, user.Get(k), vendor.Get(k))
		}
	}
	return l
}

// hidden adds what one value of user-data hides of the value that vendor-data has at the same path.
func hidden(l *diag.List, user, vendor *cloudconfig.Document, path string, have, want *yaml.Node) {
	switch {
	case have == nil || equal(have, want):
		return
	case have.Kind == yaml.MappingNode && want.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(want.Content); i += 2 {
			for j := 0; j+1 < len(have.Content); j += 2 {
				if have.Content[j].Value == want.Content[i].Value {
					hidden(l, user, vendor, path+"."+want.Content[i].Value, target(have.Content[j+1]), target(want.Content[i+1]))
				}
			}
		}
		return
	}
	d := diag.Diagnostic{Code: CodeVendor, Severity: diag.Note, Range: vendor.Range(want), Field: path,
		Summary: "the user-data says this otherwise, and hides what the vendor-data says"}
	if want.Kind != yaml.ScalarNode {
		d.Severity, d.Remedy = diag.Warning, "write into the user-data what the guest needs of both"
	}
	if at := user.Range(have); !at.IsZero() {
		d = d.With(at, "the user-data has it here")
	}
	l.Add(d)
}

// target follows an alias.
func target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// equal reports whether two nodes say the same.
func equal(a, b *yaml.Node) bool {
	a, b = target(a), target(b)
	return a.Kind == b.Kind && a.Value == b.Value && cloudconfig.TypeOf(a) == cloudconfig.TypeOf(b) && slices.EqualFunc(a.Content, b.Content, equal)
}

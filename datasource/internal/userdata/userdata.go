// Package userdata puts user-data and vendor-data together for every data source that cloud-init reads. It is the one
// place where generated parts, the author's own documents and referenced ones are merged.
//
// The rules, in this order:
//   - One layer and nothing to add to it: its bytes, unchanged.
//   - Layers that are all cloud-config: they are merged as each asks, the generated cloud-config is added so that lists
//     are joined behind the author's and the author's scalars win, and the result is one document.
//   - Else: a MIME multipart message. The author's bytes are parts, unchanged; the generated cloud-config is the last
//     part and says with its Merge-Type that cloud-init shall do the same in the guest. It comes last because a later
//     part without a Merge-Type replaces whole keys of those before it.
//   - Raw user-data, or no multipart wanted: the author's bytes alone, and a diagnostic for each field that is lost.
//
// User-data that is an Ignition config or Butane makes all of it one Ignition config; see package ignition.
package userdata

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/devices"
	"github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
	"github.com/vmseed/vmseed/format/cloudconfig/parts"
	"github.com/vmseed/vmseed/format/mimepart"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// nothing is user-data that says nothing. The header alone would make cloud-init warn of an empty document.
const nothing = cloudconfig.Header + "\n{}\n"

// Expresses lists the fields of a machine that end up in user-data and vendor-data.
func Expresses() machine.FieldSet {
	return machine.NewFieldSet("guest.timezone", "guest.locale", "keyboard", "ntp", "packages", "caCerts",
		"users", "groups.name", "groups.members", "ssh.hostKeys", "ssh.deleteHostKeys", "ssh.genKeyTypes", "ssh.passwordAuth", "ssh.disableRoot",
		"files", "environment", "mounts", "deviceLinks", "bootcmd", "runcmd", "scripts", "phoneHome", "powerState",
		"units", "storage", "userData", "vendorData")
}

// composer holds what the steps share.
type composer struct {
	m    machine.Machine
	o    datasource.Options
	list diag.List
}

// User returns the machine's user-data.
func User(m machine.Machine, o datasource.Options) (secret.Text, diag.List) {
	if ignition.Machine(m) {
		return ignitionConfig(m, o)
	}
	c := composer{m: m, o: o}
	layers := c.layers()
	marked := c.expandMark(layers)
	fields, own := generate(m, !marked, &c.list)
	scripts := c.scripts()
	switch {
	case m.UserData.Raw, o.NoMultipart && !allCloudConfig(layers):
		c.reportLost(Expresses(), marked)
		fields, scripts = nil, nil
	case o.NoMultipart && len(scripts) > 0:
		c.reportLost(machine.NewFieldSet("scripts"), marked)
		scripts = nil
	}
	node, err := cloudconfig.Value(fields)
	if err != nil {
		return c.broken(err), c.list
	}
	generated := cloudconfig.FromNode(node)
	c.checkGenerated(generated)
	out := c.compose(layers, generated, scripts, own)
	return out, c.list
}

// checkGenerated warns of values in the generated part that the guest's release has another schema for.
func (c *composer) checkGenerated(generated *cloudconfig.Document) {
	if generated.IsEmpty() {
		return
	}
	guest, _ := lint.ParseGuest(c.o.Guest)
	for _, d := range lint.Document(generated, guest) {
		if d.Field == "user" && d.Code == lint.CodeType {
			continue // said with the user
		}
		if d.Code == lint.CodeType || d.Code == lint.CodeRelease {
			d.Range = c.m.Places.Find(d.Field)
			c.list.Add(d)
		}
	}
}

// Vendor returns the machine's vendor-data: its own layers, then those of the options' extra ones that are for cloud-init.
// It is empty when there are none, and for a guest of Ignition, which does not read any.
func Vendor(m machine.Machine, o datasource.Options) (secret.Text, diag.List) {
	if ignition.Machine(m) {
		return secret.Text{}, nil
	}
	c := composer{m: m, o: o}
	layers := slices.Concat(m.VendorData, slices.DeleteFunc(slices.Clone(o.Extra), ignition.Recognise))
	for _, x := range m.VendorData {
		c.list = append(c.list, c.check(x)...)
	}
	c.hidden()
	switch len(layers) {
	case 0:
		return secret.Text{}, c.list
	case 1:
		return layers[0].Data, c.list
	}
	return c.multipart(layers, &cloudconfig.Document{}, nil), c.list
}

// hidden says what of the author's vendor-data the guest does not see, because the user-data or what the definition adds
// to it says the same otherwise. Of what hides the same only the first is named.
func (c *composer) hidden() {
	var vendor, users []*cloudconfig.Document
	parse := func(to *[]*cloudconfig.Document, layers []machine.Layer) {
		for _, x := range layers {
			if doc, _ := cloudconfig.Parse(x.Origin, []byte(x.Data.Reveal())); doc != nil && isCloudConfig(x) {
				*to = append(*to, doc)
			}
		}
	}
	if parse(&vendor, c.m.VendorData); len(vendor) == 0 {
		return
	}
	user := composer{m: c.m, o: c.o} // what it finds is told with the user-data
	layers := user.layers()
	marked := user.expandMark(layers)
	parse(&users, layers)
	if !c.m.UserData.Raw && !(c.o.NoMultipart && !allCloudConfig(layers)) {
		// Hashing takes as long as all the rest, and here it does not matter which hash there is.
		user.m.Users = slices.Clone(c.m.Users)
		for i, u := range user.m.Users {
			if !u.Password.IsZero() && u.PasswordHash.IsZero() {
				user.m.Users[i].PasswordHash = secret.New("$6$any$hash")
			}
		}
		fields, _ := generate(user.m, !marked, &user.list)
		if node, err := cloudconfig.Value(fields); err == nil {
			users = append(users, cloudconfig.FromNode(node))
		}
	}
	for _, v := range vendor {
		said := map[string]bool{}
		for _, u := range users {
			for _, d := range lint.Vendor(u, v) {
				if !said[d.Field] {
					c.list.Add(d)
				}
				said[d.Field] = true
			}
		}
	}
}

// layers returns the author's documents that count and lints each. Documents that another replaces are left out, and so
// is all but the last one of raw user-data, which is said.
func (c *composer) layers() []machine.Layer {
	all := c.m.UserData.Layers
	from := 0
	for i, x := range all {
		if x.Merge == machine.MergeReplace {
			from = i
		}
	}
	if last := len(all) - 1; c.m.UserData.Raw && from < last {
		for i := from; i < last; i++ {
			c.lostRaw(fmt.Sprintf("userData.layers[%d]", i))
		}
		from = last
	}
	for _, x := range all[from:] {
		// A script may consist of the mark alone, so that what is expanded later decides its kind.
		if mark := c.m.UserData.MountScriptMark; mark == "" || !strings.HasPrefix(x.Data.Reveal(), mark) {
			c.list = append(c.list, c.check(x)...)
		}
	}
	return slices.Clone(all[from:])
}

// expandMark replaces the mark for the mount script and reports whether some layer had it.
func (c *composer) expandMark(layers []machine.Layer) bool {
	mark, found := c.m.UserData.MountScriptMark, false
	if mark == "" {
		return false
	}
	for i, x := range layers {
		text := x.Data.Reveal()
		if !strings.Contains(text, mark) {
			continue
		}
		found = true
		scripts := slices.DeleteFunc([]string{linkScript(c.m), mountScript(c.m)}, func(s string) bool { return s == "" })
		layers[i].Data = secret.New(strings.ReplaceAll(text, mark, strings.Join(scripts, "\n")))
	}
	return found
}

// isCloudConfig reports whether a layer is a cloud-config. A layer that joins as Virtlet's do needs no header.
func isCloudConfig(x machine.Layer) bool {
	kind := cloudconfig.Recognise([]byte(x.Data.Reveal()))
	return kind == cloudconfig.CloudConfig || x.Merge == machine.MergeVirtlet && (kind == cloudconfig.Unknown || kind == cloudconfig.Empty)
}

// isEmpty reports whether a layer says nothing.
func isEmpty(x machine.Layer) bool {
	return cloudconfig.Recognise([]byte(x.Data.Reveal())) == cloudconfig.Empty
}

func allCloudConfig(layers []machine.Layer) bool {
	return !slices.ContainsFunc(layers, func(x machine.Layer) bool { return !isCloudConfig(x) && !isEmpty(x) })
}

// scripts returns the machine's scripts as parts. They run in the order of their names.
func (c *composer) scripts() []mimepart.Part {
	var out []mimepart.Part
	for _, s := range c.m.Scripts {
		kind := cloudconfig.Script
		switch s.Frequency {
		case "boot":
			kind = cloudconfig.ScriptPerBoot
		case "once":
			kind = cloudconfig.ScriptPerOnce
		}
		out = append(out, mimepart.Part{ContentType: kind.ContentType(), Filename: s.Name, Data: []byte(s.Content.Reveal())})
	}
	return out
}

// reportLost says for each value of the fields that the guest is not told. What the mount script does is not lost.
func (c *composer) reportLost(fields machine.FieldSet, marked bool) {
	kept := machine.NewFieldSet("userData", "vendorData")
	if marked {
		kept = kept.Union(machine.NewFieldSet("mounts", "deviceLinks"))
	}
	for _, use := range machine.Lost(c.m, kept) {
		if fields.Has(use.Field) {
			c.lostRaw(use.Path)
		}
	}
}

func (c *composer) lostRaw(path string) {
	c.list.Add(diag.Diagnostic{Code: CodeLostRaw, Severity: diag.Warning, Range: c.m.Places.Find(path), Field: path,
		Summary: "the guest is not told, because the user-data is passed as it is", Remedy: "do the same in the user-data itself"})
}

// compose follows the rules of the package comment.
func (c *composer) compose(layers []machine.Layer, generated *cloudconfig.Document, scripts []mimepart.Part, own map[string]diag.Range) secret.Text {
	alone := generated.IsEmpty() && len(scripts) == 0
	if !alone || len(layers) > 1 {
		layers = slices.DeleteFunc(layers, isEmpty)
	}
	switch {
	case len(layers) == 0 && alone:
		return secret.New(nothing)
	case len(layers) == 1 && (c.m.UserData.Raw || alone && !c.needsHeader(layers[0]) && !c.rewrites(layers[0])):
		c.look(layers[0], own)
		return layers[0].Data
	case len(scripts) == 0 && allCloudConfig(layers):
		return c.merge(layers, generated, own)
	case c.o.NoMultipart:
		if len(layers) > 1 {
			c.list.Errorf(CodeCompose, c.m.Places.Find("userData"), "let vmseed send a multipart message",
				"%d documents of user-data of different kinds need a multipart message", len(layers))
			return secret.Text{}
		}
		return layers[0].Data
	}
	if !generated.IsEmpty() && len(layers) > 0 {
		// A script with a mark for mounts is written for guests without udev, which may read no MIME either.
		severity := diag.Note
		if c.m.UserData.MountScriptMark != "" {
			severity = diag.Warning
		}
		c.list.Add(diag.Diagnostic{Code: CodeMultipart, Severity: severity, Range: layers[0].Origin.Whole,
			Summary: "the user-data and what the definition adds to it are sent as a MIME multipart message",
			Remedy:  "use --no-multipart for guests such as CirrOS that cannot read it"})
	}
	for _, x := range layers {
		c.look(x, own)
		for _, p := range pieces(x) {
			doc := settings(p)
			if doc == nil || p.Kind != cloudconfig.CloudConfig || generated.IsEmpty() {
				continue
			}
			settled, err := c.settle(doc, generated, func(key string) diag.Range { return doc.Range(doc.Get(key)) })
			if err != nil {
				return c.broken(err)
			}
			generated = settled
		}
	}
	return c.multipart(layers, generated, scripts)
}

// look warns of what a cloud-config that is passed as it is means for the rest of the machine.
func (c *composer) look(x machine.Layer, own map[string]diag.Range) {
	if !isCloudConfig(x) {
		return
	}
	if doc, _ := cloudconfig.Parse(x.Origin, []byte(x.Data.Reveal())); doc != nil {
		if !c.m.UserData.Raw {
			c.samePaths(doc, own)
		}
		c.checkLogin(doc.Root())
	}
}

func (c *composer) needsHeader(x machine.Layer) bool {
	return x.Merge == machine.MergeVirtlet && cloudconfig.Recognise([]byte(x.Data.Reveal())) != cloudconfig.CloudConfig
}

// rewrites reports whether a user's mounts name a device link, which must be rewritten.
func (c *composer) rewrites(x machine.Layer) bool {
	return slices.ContainsFunc(c.m.DeviceLinks, func(l machine.DeviceLink) bool { return strings.Contains(x.Data.Reveal(), l.Path) })
}

// merge makes one cloud-config of the layers and the generated keys.
func (c *composer) merge(layers []machine.Layer, generated *cloudconfig.Document, own map[string]diag.Range) secret.Text {
	doc := &cloudconfig.Document{}
	var parsed []*cloudconfig.Document
	for _, x := range layers {
		next, l := cloudconfig.Parse(x.Origin, []byte(x.Data.Reveal()))
		c.list = append(c.list, l...)
		if next == nil {
			return secret.Text{}
		}
		var merged diag.List
		if x.Merge == machine.MergeVirtlet {
			doc, merged = cloudconfig.MergeVirtlet(doc, next)
		} else {
			doc, merged = cloudconfig.MergeParts(cloudconfig.Part{Document: doc}, cloudconfig.Part{Document: next})
		}
		c.list = append(c.list, merged...)
		c.samePaths(next, own)
		parsed = append(parsed, next)
	}
	root, err := c.join(doc, generated, parsed)
	if err != nil {
		return c.broken(err)
	}
	if err := c.relink(root); err != nil {
		return c.broken(err)
	}
	c.checkLogin(root)
	result := cloudconfig.FromNode(root)
	if result.IsEmpty() {
		return secret.New(nothing)
	}
	out, err := result.Encode()
	if err != nil {
		return c.broken(err)
	}
	return secret.FromBytes(out)
}

func (c *composer) broken(err error) secret.Text {
	c.list.Errorf(CodeCompose, c.m.Places.Find("userData"), "", "the user-data cannot be put together: %v", err)
	return secret.Text{}
}

// samePaths warns of files of the user's that generated ones overwrite.
func (c *composer) samePaths(doc *cloudconfig.Document, own map[string]diag.Range) {
	files := doc.Get("write_files")
	if files == nil || files.Kind != yaml.SequenceNode {
		return
	}
	for _, f := range files.Content {
		file := field(f, "path")
		if file == nil {
			continue
		}
		if place, ok := own[path.Clean(file.Value)]; ok {
			d := diag.Diagnostic{Code: CodeSamePath, Severity: diag.Warning, Range: doc.Range(file),
				Summary: fmt.Sprintf("write_files writes %s, and a generated file of the same path overwrites it", file.Value),
				Remedy:  "remove one of the two"}
			if !place.IsZero() {
				d = d.With(place, "the generated file is asked for here")
			}
			c.list.Add(d)
		}
	}
}

// relink makes the user's mounts of linked devices use the device itself, because mounts are made before the links.
func (c *composer) relink(root *yaml.Node) error {
	mounts := field(root, "mounts")
	if mounts == nil || mounts.Kind != yaml.SequenceNode {
		return nil
	}
	for _, row := range mounts.Content {
		// Merging has written aliases out, so a row belongs to this list alone.
		if row.Kind != yaml.SequenceNode || len(row.Content) == 0 {
			continue
		}
		for _, link := range c.m.DeviceLinks {
			d, ok := devices.Disk(c.m, link.Disk)
			if !ok || row.Content[0].Value != link.Path {
				continue
			}
			name, err := cloudconfig.Value(devices.ByID(d))
			if err != nil {
				return err
			}
			row.Content[0] = name
		}
	}
	return nil
}

// checkLogin warns when the machine's SSH keys are for a default user that the user's list leaves out.
func (c *composer) checkLogin(root *yaml.Node) {
	users := field(root, "users")
	if users == nil || users.Kind != yaml.SequenceNode || len(c.m.SSH.AuthorizedKeys) == 0 {
		return
	}
	named := func(u *yaml.Node) bool {
		name := field(u, "name")
		return u.Value == "default" || name != nil && name.Value == "default"
	}
	rooted := func(u machine.User) bool { return u.Default && u.Name == superuser }
	if slices.ContainsFunc(users.Content, named) || slices.ContainsFunc(c.m.Users, rooted) {
		return
	}
	d := diag.Diagnostic{Code: CodeNoLogin, Severity: diag.Warning, Range: c.m.Places.Find("ssh.authorizedKeys"),
		Summary: "the user-data creates users without the default one, so nobody can log in with these SSH keys",
		Remedy:  "add default to the list of users"}
	if open := c.m.SSH.DisableRoot; open != nil && !*open {
		d.Summary = "the user-data creates users without the default one, so these SSH keys open the account of root alone"
	}
	// That the list has no default user was noted when the document was looked at, and is said once.
	c.list = slices.DeleteFunc(c.list, func(note diag.Diagnostic) bool {
		same := note.Code == lint.CodeDefaultUser && note.Severity == diag.Note
		if same {
			d = d.With(note.Range, "this is the list of users")
		}
		return same
	})
	c.list.Add(d)
}

// field returns the value of a key of a mapping, or nil.
func field(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// multipart makes one message of the layers, the scripts and the generated cloud-config.
func (c *composer) multipart(layers []machine.Layer, generated *cloudconfig.Document, scripts []mimepart.Part) secret.Text {
	var all []mimepart.Part
	for _, x := range layers {
		all = append(all, c.part(x)...)
	}
	all = append(all, scripts...)
	if !generated.IsEmpty() {
		text, err := generated.Encode()
		if err != nil {
			return c.broken(err)
		}
		all = append(all, mimepart.Part{ContentType: cloudconfig.CloudConfig.ContentType(), Filename: "vmseed.cfg",
			MergeType: cloudconfig.AppendHow().String(), Data: text})
	}
	out, err := mimepart.Build(all)
	if err != nil {
		return c.broken(err)
	}
	return secret.FromBytes(out)
}

// rewritten are the header fields of a part that the builder writes itself, with the same meaning.
var rewritten = []string{"content-type", "content-transfer-encoding", "content-disposition", "mime-version", "merge-type"}

func unwritten(header []mimepart.Field) []mimepart.Field {
	return slices.DeleteFunc(slices.Clone(header), func(f mimepart.Field) bool { return slices.Contains(rewritten, strings.ToLower(f.Name)) })
}

// part turns a layer into parts: a MIME message into those that it has, anything else into one.
func (c *composer) part(x machine.Layer) []mimepart.Part {
	data := []byte(x.Data.Reveal())
	kind := cloudconfig.Recognise(data)
	switch {
	case kind == cloudconfig.Empty:
		return nil
	case kind == cloudconfig.MIME:
		inner, l := mimepart.Parse(x.Origin, data)
		c.list = append(c.list, l...)
		for i := range inner {
			inner[i].Header = unwritten(inner[i].Header)
		}
		return inner
	case kind == cloudconfig.Gzip && compressedMessage(x):
		return unwrapped(pieces(x))
	case kind == cloudconfig.Gzip:
		return []mimepart.Part{{ContentType: "application/gzip", Data: data}}
	case isCloudConfig(x):
		return []mimepart.Part{{ContentType: cloudconfig.CloudConfig.ContentType(), Data: data}}
	case forWindows(c.m, x):
		return []mimepart.Part{{ContentType: cloudconfig.Script.ContentType(), Data: data}}
	case kind == cloudconfig.Unknown, kind == cloudconfig.Ignition, kind == cloudconfig.Base64:
		return []mimepart.Part{{ContentType: "text/plain", Data: data}}
	}
	return []mimepart.Part{{ContentType: kind.ContentType(), Data: data}}
}

// compressedMessage reports whether gzip holds a MIME message. A guest takes that apart where it is all of the user-data, and
// not where it is a part.
func compressedMessage(x machine.Layer) bool {
	return slices.ContainsFunc(pieces(x), func(p parts.Part) bool { return !p.Archived && len(p.Header) > 0 })
}

// unwrapped makes parts of those that a guest finds in a wrapping. What it ignores in an archive, it might take outside.
func unwrapped(found []parts.Part) []mimepart.Part {
	var out []mimepart.Part
	for _, p := range found {
		if !p.Archived || p.Kind.ContentType() == p.ContentType {
			out = append(out, mimepart.Part{ContentType: p.ContentType, Filename: p.Filename, MergeType: p.MergeType, Header: unwritten(p.Header), Data: p.Data})
		}
	}
	return out
}

// Package plain reads the files that a guest itself reads: cloud-init's user-data, meta-data, vendor-data and
// network-config, and Ignition configs, also as Butane. They reach the guest byte for byte; only what identifies the machine
// is looked up in meta-data.
package plain

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Frontend reads plain files. It implements frontend.Frontend.
type Frontend struct{}

// New returns the front end.
func New() Frontend { return Frontend{} }

// Name returns "plain".
func (Frontend) Name() string { return "plain" }

// mimeVersion finds the header that makes a text a MIME message, within its header block.
var mimeVersion = regexp.MustCompile(`(?i)(^|\n)mime-version[ \t]*:`)

// Sniff returns Strong for user-data whose first line says what it is: cloud-config, scripts, jinja templates, MIME
// messages and the other kinds that cloud-init tells by their beginning; and for Ignition configs and Butane documents.
func (Frontend) Sniff(head []byte) frontend.Match {
	if bytes.HasPrefix(bytes.TrimSpace(head), []byte("<")) {
		return frontend.No // XML, which need not indent what it holds: a line of it may look like the first one of anything
	}
	if ignconfig.Recognise(head) != ignconfig.None {
		return frontend.Strong
	}
	switch cloudconfig.RecogniseText(head) {
	case cloudconfig.Unknown, cloudconfig.Empty, cloudconfig.Base64, cloudconfig.Ignition:
	default:
		return frontend.Strong
	}
	switch cloudconfig.Recognise(head) {
	case cloudconfig.Gzip:
		return frontend.Strong
	case cloudconfig.MIME:
		// cloud-init looks for the header anywhere in the beginning, but a definition may hold a message.
		block, _, _ := strings.Cut(strings.ReplaceAll(string(head), "\r\n", "\n"), "\n\n")
		if mimeVersion.MatchString(block) {
			return frontend.Strong
		}
	}
	return frontend.No
}

// Read makes one machine of all files. A file without a role is user-data.
func (f Frontend) Read(_ context.Context, src frontend.Source) ([]machine.Machine, diag.List) {
	if len(src.Documents) == 0 {
		return nil, nil
	}
	r := reader{options: src.Options, m: machine.Machine{Places: machine.Places{}}}
	r.m.Places[""] = diag.At(src.Documents[0].File, 1, 1)
	for _, doc := range src.Documents {
		r.add(doc)
	}
	r.identify(src.Documents)
	r.m.Document = machine.Document{Form: f.Name(), Text: secret.FromBytes(main(src.Documents).Data)}
	return []machine.Machine{r.m}, r.list
}

// main returns the document that a machine is called after: the first user-data, else the first of all.
func main(docs []frontend.Document) frontend.Document {
	i := slices.IndexFunc(docs, func(d frontend.Document) bool { return d.Role == frontend.UserData || d.Role == frontend.Definition })
	return docs[max(i, 0)]
}

// reader collects what the files of one machine say.
type reader struct {
	options frontend.Options
	m       machine.Machine
	list    diag.List
	meta    metaData
}

func (r *reader) add(doc frontend.Document) {
	layer := machine.Layer{Name: "file " + doc.File, Data: secret.FromBytes(doc.Data), Origin: diag.File(doc.File)}
	at := diag.At(doc.File, 1, 1)
	switch doc.Role {
	case frontend.Definition, frontend.UserData:
		if doc.Role == frontend.Definition && (Frontend{}).Sniff(doc.Data) == frontend.No {
			r.list.Errorf(CodeRole, at, "give it by a flag such as --user-data", "the first line does not say what this file is")
		}
		if r.isIgnition(doc) {
			r.ignition(doc, layer)
			return
		}
		r.m.Places[fmt.Sprintf("userData.layers[%d]", len(r.m.UserData.Layers))] = at
		r.m.UserData.Layers = append(r.m.UserData.Layers, layer)
	case frontend.VendorData:
		r.m.Places[fmt.Sprintf("vendorData[%d]", len(r.m.VendorData))] = at
		r.m.VendorData = append(r.m.VendorData, layer)
	case frontend.MetaData:
		if len(r.m.MetaData) > 0 {
			r.twice(doc, r.m.Places["metaData[0]"])
			return
		}
		r.m.Places["metaData[0]"] = at
		r.m.MetaData = []machine.Layer{layer}
		r.readMetaData(doc)
	case frontend.NetworkConfig:
		if first, ok := r.m.Places["network.document"]; ok {
			r.twice(doc, first)
			return
		}
		r.m.Places["network.document"] = at
		r.m.Network.Document = layer
	default:
		r.list.Errorf(CodeRole, at, "leave the file out", "nothing is known to do with a file of the role %q", doc.Role)
	}
}

// isIgnition reports whether a file is for Ignition. User-data is when nobody has named a data source of cloud-init for it:
// some platforms hand an Ignition guest its config as user-data.
func (r *reader) isIgnition(doc frontend.Document) bool {
	if doc.Role == frontend.UserData && r.options.DataSource != "" && r.options.DataSource != ignition {
		return false
	}
	return ignconfig.Recognise(doc.Data) != ignconfig.None
}

// ignition is the name of the data source for Ignition guests.
const ignition = "ignition"

func (r *reader) ignition(doc frontend.Document, layer machine.Layer) {
	at := diag.At(doc.File, 1, 1)
	r.m.Places[fmt.Sprintf("ignition[%d]", len(r.m.Ignition))] = at
	r.m.Ignition = append(r.m.Ignition, layer)
	r.m.DataSource, r.m.Guest.OS = ignition, "coreos"
	r.m.Places["dataSource"], r.m.Places["guest.os"] = at, at
	if ignconfig.Variant(doc.Data) == "flatcar" {
		r.m.Guest.IgnitionPlatform = "flatcar"
		r.m.Places["guest.ignitionPlatform"] = at
	}
}

func (r *reader) twice(doc frontend.Document, first diag.Range) {
	r.list.Add(diag.Diagnostic{Code: CodeTwice, Severity: diag.Error, Range: diag.At(doc.File, 1, 1),
		Summary: fmt.Sprintf("this is the second file of %s", doc.Role), Remedy: "remove one of the two"}.
		With(first, "the first one is here"))
}

// hostName is a host name as guests take it: RFC 1123, section 2.1, with underscores.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*$`)

// identify decides who the machine is.
func (r *reader) identify(docs []frontend.Document) {
	o := r.options
	if o.Hostname != "" && (len(o.Hostname) > 253 || !hostName.MatchString(o.Hostname)) {
		r.list.Errorf(CodeHostname, diag.Range{}, "use letters, digits, hyphens, underscores and dots", "the host name of the flag --hostname is none")
		o.Hostname = ""
	}
	if o.DSMode != "" && !slices.Contains([]string{"local", "net", "disabled"}, o.DSMode) {
		r.list.Errorf(CodeDSMode, diag.Range{}, "write local, net or disabled", "the dsmode of the flag --dsmode is unknown")
		o.DSMode = ""
	}
	r.m.Identity.InstanceID = r.meta.instanceID.text
	r.place("identity.instanceID", r.meta.instanceID)
	r.m.Identity.Hostname = r.agree("--hostname", o.Hostname, "local-hostname", r.meta.hostname)
	r.place("identity.hostname", r.meta.hostname)
	r.m.DSMode = r.agree("--dsmode", o.DSMode, "dsmode", r.meta.dsmode)
	r.place("dsmode", r.meta.dsmode)
	for _, candidate := range []string{r.m.Identity.Hostname, r.m.Identity.InstanceID, stem(main(docs).File)} {
		if r.m.Name = objectName(candidate); r.m.Name != "" {
			return
		}
	}
	r.m.Name = "machine"
}

func (r *reader) place(path string, v stated) {
	if v.text != "" {
		r.m.Places[path] = v.at
	}
}

// agree returns what a flag or meta-data says. Both may say it when they say the same.
func (r *reader) agree(flag, wanted, key string, have stated) string {
	switch {
	case wanted == "":
		return have.text
	case have.text != "" && have.text != wanted:
		r.list.Errorf(CodeConflict, have.at, "remove the flag or the key", "the flag %s says something else than %q in meta-data", flag, key)
	}
	return wanted
}

// stem is the name of a file without directories and extensions.
func stem(file string) string {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	name, _, _ := strings.Cut(base, ".")
	return name
}

// objectName makes a name that Kubernetes and file systems take: lower-case letters, digits, hyphens and dots.
func objectName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, s)
	var labels []string
	for label := range strings.SplitSeq(s, ".") {
		if label = strings.Trim(label, "-"); label != "" {
			labels = append(labels, label)
		}
	}
	s = strings.Join(labels, ".")
	return strings.TrimRight(s[:min(len(s), 253)], "-.")
}

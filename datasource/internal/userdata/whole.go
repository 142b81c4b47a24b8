package userdata

import (
	"fmt"
	"slices"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
	"github.com/vmseed/vmseed/format/cloudconfig/parts"
	"github.com/vmseed/vmseed/format/mimepart"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// fillHow merges a cloud-config as cloud-init merges vendor-data: it adds what the user-data leaves open, at every depth.
func fillHow() cloudconfig.How {
	return cloudconfig.How{{Type: "list"}, {Type: "dict", Options: []string{"no_replace"}}, {Type: "str"}}
}

// Whole returns all that User and Vendor return in one document, for guests that read no vendor-data. What Vendor would
// return stands behind the user-data as further parts of a MIME multipart, whose cloud-configs fill in what the user-data
// leaves open. The result is empty when nothing is said. Extra parts are for cloud-init, so Windows gets none.
//
// An Ignition config is whole by itself: it takes the place of all meta-data too, because no other program of its guest
// sets host name, keys and network.
func Whole(m machine.Machine, o datasource.Options) (secret.Text, diag.List) {
	if ignition.Machine(m) {
		return ignition.Compose(m, o)
	}
	c := composer{m: m, o: o}
	user, problems := User(m, o)
	if len(m.UserData.Layers) == 0 && user.Reveal() == nothing {
		user = secret.Text{}
	}
	c.list = problems
	for _, x := range m.VendorData {
		c.list = append(c.list, c.check(x)...)
	}
	c.hidden()
	extra := slices.DeleteFunc(slices.Clone(o.Extra), func(x machine.Layer) bool { return ignition.Recognise(x) || m.Guest.OS == "windows" })
	layers := slices.Concat(m.VendorData, extra)
	if c.vendorOff() {
		layers = extra // the reporter's parts are no vendor-data of the author's
	}
	switch {
	case len(layers) == 0:
		return user, c.list
	case user.IsZero() && len(layers) == 1 && !m.UserData.Raw:
		return layers[0].Data, c.list
	case m.UserData.Raw, o.NoMultipart:
		for i := range m.VendorData {
			c.lostRaw(fmt.Sprintf("vendorData[%d]", i))
		}
		for _, x := range extra {
			c.list.Add(diag.Diagnostic{Code: CodeLostRaw, Severity: diag.Warning, Range: m.Places.Find("userData"), Field: "userData",
				Summary: fmt.Sprintf("the guest does not get %s, because the user-data is passed as it is", x.Name),
				Remedy:  "use a data source that has vendor-data"})
		}
		return user, c.list
	}
	return c.behind(user, layers), c.list
}

// vendorOff reports whether the author's user-data switches vendor-data off, and says so unless that has been said.
func (c *composer) vendorOff() bool {
	for _, x := range c.m.UserData.Layers {
		for _, p := range pieces(x) {
			doc := settings(p)
			if doc == nil || doc.Get("vendor_data") == nil {
				continue
			}
			setting := doc.Get("vendor_data")
			enabled := field(setting, "enabled")
			if enabled == nil {
				continue
			}
			if on, ok := cloudconfig.Truth(enabled); on || !ok {
				continue
			}
			said := slices.ContainsFunc(c.list, func(d diag.Diagnostic) bool { return d.Code == lint.CodeVendor && d.Field == "" })
			if len(c.m.VendorData) > 0 && !said {
				c.list.Warnf(lint.CodeVendor, doc.Range(setting), "", "the user-data switches vendor-data off")
			}
			return true
		}
	}
	return false
}

// behind makes one message of the user-data and of the layers that fill it in.
func (c *composer) behind(user secret.Text, layers []machine.Layer) secret.Text {
	more := c.filling(layers)
	if len(more) == 0 {
		return user
	}
	all := c.part(machine.Layer{Data: user})
	if len(all) > 0 && cloudconfig.Recognise([]byte(user.Reveal())) != cloudconfig.MIME {
		at := c.m.Places.Find("userData")
		if len(c.m.UserData.Layers) > 0 {
			at = c.m.UserData.Layers[0].Origin.Whole
		}
		c.list.Notef(CodeMultipart, at, "use a data source that has vendor-data for guests such as CirrOS that cannot read it",
			"the user-data and what comes behind it are sent as a MIME multipart message")
	}
	out, err := mimepart.Build(append(all, more...))
	if err != nil {
		return c.broken(err)
	}
	return secret.FromBytes(out)
}

// filling makes parts of layers of vendor-data. cloud-init makes one cloud-config of all vendor-data, in which later ones
// replace what earlier ones say, before it looks at what the user-data leaves open. So the cloud-configs are merged here,
// by what they say of merging, which is meant for each other and not for the user-data. Where a template stands between them,
// which only the guest can render, they are several parts, the last one first, because the first to fill in a key wins.
func (c *composer) filling(layers []machine.Layer) []mimepart.Part {
	var filling, others []mimepart.Part
	var configs []cloudconfig.Part
	merge := func() {
		if text := c.folded(configs); len(text) > 0 {
			filling = append(filling, mimepart.Part{ContentType: cloudconfig.CloudConfig.ContentType(), MergeType: fillHow().String(), Data: text})
		}
		configs = nil
	}
	for _, x := range layers {
		found := pieces(x)
		if isCloudConfig(x) {
			found = []parts.Part{{Kind: cloudconfig.CloudConfig, Data: []byte(x.Data.Reveal()), Origin: x.Origin}}
		}
		for _, p := range found {
			doc := settings(p)
			switch {
			case p.Kind == cloudconfig.CloudConfig:
				if doc != nil {
					configs = append(configs, cloudconfig.Part{Document: doc, MergeType: p.MergeType})
				}
				continue
			case p.Kind == cloudconfig.Jinja && cloudconfig.JinjaKind(p.Data) == cloudconfig.CloudConfig:
				merge()
				filling = append(filling, mimepart.Part{ContentType: p.ContentType, Filename: p.Filename, MergeType: fillHow().String(), Data: p.Data})
				continue
			case p.Kind == cloudconfig.Include, p.Kind == cloudconfig.IncludeOnce, p.Kind == cloudconfig.JSONPatch:
				c.list.Warnf(CodeBehind, p.Origin.Whole, "use a data source that has vendor-data",
					"%s stands behind the user-data here, where a cloud-config of it may replace what the user-data says", p.Kind.Describe())
			}
			switch cloudconfig.Recognise([]byte(x.Data.Reveal())) {
			case cloudconfig.MIME, cloudconfig.Gzip, cloudconfig.Archive:
				others = append(others, unwrapped([]parts.Part{p})...)
			default:
				others = append(others, c.part(x)...)
			}
		}
	}
	merge()
	slices.Reverse(filling)
	return append(filling, others...)
}

// folded merges cloud-configs as a guest does. One that stands alone and does not speak of merging stays as it is. What
// the guest would drop was said where the documents were linted.
func (c *composer) folded(configs []cloudconfig.Part) []byte {
	if len(configs) == 0 {
		return nil
	}
	doc := configs[0].Document
	if len(configs) > 1 || configs[0].MergeType != "" || doc.Get("merge_how") != nil || doc.Get("merge_type") != nil {
		merged, _ := cloudconfig.MergeParts(configs...)
		var err error
		if doc, err = merged.Without("merge_how", "merge_type"); err != nil {
			c.broken(err)
			return nil
		}
	}
	if doc.IsEmpty() {
		return nil
	}
	text, err := doc.Encode()
	if err != nil {
		c.broken(err)
	}
	return text
}

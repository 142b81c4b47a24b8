package userdata

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/datasource/internal/metadata"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/cloudconfig/parts"
	"github.com/vmseed/vmseed/machine"
)

// The file that tells a guest of oVirt where its data comes from. A host of oVirt detaches the drive after the first boot,
// and a guest without ds-identify then asks every data source that there is, some of them over the network with long
// waits. There are two sources in the list, because ds-identify takes the only one of a list for given without looking,
// and no None behind them, because cloud-init would start a new instance with it. oVirt's own engine edits cloud.cfg by a
// command in runcmd instead, which is lost when the user has a runcmd.
const (
	sourcesPath = "/etc/cloud/cloud.cfg.d/99_vmseed_datasource.cfg"
	sourcesKey  = "datasource_list"
	sources     = sourcesKey + ": [ NoCloud, ConfigDrive ]\n"
)

// dataSources returns the content of that file, or "" for a machine of another system, one that does not ask for a drive
// (Windows, or no first boot at all), and one that chooses by itself.
func (g *generator) dataSources() string {
	if !metadata.ForOVirt(g.m) || g.m.DataSource != "configdrive" {
		return ""
	}
	if at, own := ownSources(g.m); own {
		g.list.Notef(CodeDataSources, g.place(at), "", "the guest's list of data sources is left to the definition, which speaks of %s", sourcesKey)
		return ""
	}
	return sources
}

// ownSources finds what speaks of the list in a machine, and anything encoded that goes where the list stands.
func ownSources(m machine.Machine) (at string, ok bool) {
	found := false
	look := func(path, text string) {
		if !found && strings.Contains(text, sourcesKey) {
			at, found = path, true
		}
	}
	for _, x := range m.UserData.Layers {
		for _, p := range pieces(x) {
			look("userData.layers", string(p.Data))
			if doc := settings(p); doc != nil && encodedConfig(doc.Get("write_files")) {
				return "userData.layers", true
			}
		}
	}
	for _, f := range m.Files {
		look("files", f.Content.Reveal())
	}
	for _, s := range m.Scripts {
		look("scripts", s.Content.Reveal())
	}
	for _, c := range m.RunCmd {
		look("runcmd", c.Shell+strings.Join(c.Args, " "))
	}
	for _, c := range m.BootCmd {
		look("bootcmd", c.Shell+strings.Join(c.Args, " "))
	}
	return at, found
}

// Fetches reports whether the guest needs its network to read the author's documents: one is an include, or has files that
// come from a URL, as 25.1 has it.
func Fetches(m machine.Machine) bool {
	return slices.ContainsFunc(slices.Concat(m.UserData.Layers, m.VendorData), func(x machine.Layer) bool {
		return slices.ContainsFunc(pieces(x), func(p parts.Part) bool {
			if p.Kind == cloudconfig.Include || p.Kind == cloudconfig.IncludeOnce {
				return !p.Archived
			}
			doc := settings(p)
			return doc != nil && fetched(doc.Get("write_files"))
		})
	})
}

// pieces are the parts of a document as the guest's handlers get them, whatever they are wrapped in. What is wrong with the
// wrapping is said where the document is linted.
func pieces(x machine.Layer) []parts.Part {
	out, _ := parts.Unpack(x.Origin, []byte(x.Data.Reveal()))
	return out
}

// settings is the cloud-config in a part, rendered or not, else nil.
func settings(p parts.Part) *cloudconfig.Document {
	parse := cloudconfig.Parse
	switch {
	case p.Kind == cloudconfig.Jinja && cloudconfig.JinjaKind(p.Data) == cloudconfig.CloudConfig:
		parse = cloudconfig.ParseTemplate
	case p.Kind != cloudconfig.CloudConfig:
		return nil
	}
	doc, _ := parse(p.Origin, p.Data)
	return doc
}

// fetched reports whether a file of a list has a source.
func fetched(files *yaml.Node) bool {
	return files != nil && files.Kind == yaml.SequenceNode &&
		slices.ContainsFunc(files.Content, func(f *yaml.Node) bool { return field(f, "source") != nil })
}

// encodedConfig reports whether a list of files has one below cloud-init's configuration whose content cannot be read.
func encodedConfig(files *yaml.Node) bool {
	if files == nil || files.Kind != yaml.SequenceNode {
		return false
	}
	for _, f := range files.Content {
		name, encoding := field(f, "path"), field(f, "encoding")
		if name != nil && encoding != nil && encoding.Value != "text/plain" && strings.HasPrefix(path.Clean(name.Value), "/etc/cloud/cloud.cfg") {
			return true
		}
	}
	return false
}

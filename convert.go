package vmseed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Forms returns the names of the forms that Convert can write: those of the front ends that write, of the engine's other
// writers, and of data sources whose product is a form of its own.
func (e *Engine) Forms() []string {
	var out []string
	for _, w := range e.writers() {
		out = append(out, w.Name())
	}
	for _, d := range e.DataSources {
		if w, ok := d.(datasource.FormWriter); ok {
			out = append(out, w.Form())
		}
	}
	return out
}

func (e *Engine) writers() []frontend.FormWriter {
	var out []frontend.FormWriter
	for _, f := range e.Frontends {
		if w, ok := f.(frontend.FormWriter); ok {
			out = append(out, w)
		}
	}
	return append(out, e.Writers...)
}

// Convert writes a machine in a form. What the form has no words for is in the diagnostics. The text holds the machine's
// secrets.
func (e *Engine) Convert(m machine.Machine, form string, o RenderOptions) ([]byte, diag.List) {
	var l diag.List
	asked := o.DataSource != "" && o.DataSource != m.DataSource || o.IgnitionPlatform != "" || m.Identity.Revision != 0
	if o.DataSource != "" {
		m.DataSource = o.DataSource
	}
	if o.IgnitionPlatform != "" {
		m.Guest.IgnitionPlatform = o.IgnitionPlatform
	}
	writers := e.writers()
	if i := slices.IndexFunc(writers, func(w frontend.FormWriter) bool { return w.Name() == form }); i >= 0 {
		switch c, ok := writers[i].(frontend.Carrier); {
		case ok && m.Document.Form != form:
			m, l = e.flatten(m, form, c.Carries(), o)
			if !l.HasErrors() && !e.SeveralIn(form) && c.Carries().Has("hardware.smbios.product") {
				m, l = e.served(m, o, l)
			}
			if l.HasErrors() {
				return nil, l
			}
		case ok && asked:
			l.Warnf(CodeNotWritten, m.Places.Find("dataSource"), "change the definition",
				"a definition that stays of the form %s keeps what it says: another data source, platform or revision is not written", form)
		}
		if e.SeveralIn(form) {
			m = renamed(m, form, &l)
		}
		text, problems := writers[i].Write(m)
		return text, append(l, problems...)
	}
	for _, d := range e.DataSources {
		if w, ok := d.(datasource.FormWriter); ok && w.Form() == form {
			l = notGuest(m, form, w.Carries())
			m, problems := e.Place(m, machine.Facts{})
			l = append(l, problems...)
			text, problems := w.WriteForm(m, o.Options)
			return text, append(l, problems...)
		}
	}
	l.Errorf(CodeUnknownPlugin, m.Places.Find(""), "choose another form", "%v form %q; there are: %s", ErrUnknown, form, strings.Join(e.Forms(), ", "))
	return nil, l
}

// renamed gives a machine a name for a form that names machines as Kubernetes does. What is made of the name is stated
// beside it, so that the guest stays the same.
func renamed(m machine.Machine, form string, l *diag.List) machine.Machine {
	if kubeobject.ValidName(m.Name) {
		return m
	}
	placed, _ := machine.Place(m, machine.Facts{})
	m.Identity.UUID, m.Identity.InstanceID = placed.Identity.UUID, placed.Identity.InstanceID
	m.Network.NICs = slices.Clone(m.Network.NICs)
	for i := range m.Network.NICs {
		m.Network.NICs[i].MAC = placed.Network.NICs[i].MAC
	}
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' {
			return c
		}
		return '-'
	}, strings.ToLower(m.Name))
	name = strings.Trim(name[:min(len(name), 63)], "-.")
	if !kubeobject.ValidName(name) { // such as of dots between dashes
		name = strings.Trim(strings.NewReplacer(".", "-").Replace(name), "-")
	}
	if name == "" {
		name = "vm-" + m.Identity.UUID[:8]
	}
	l.Warnf(CodeRenamed, m.Places.Find("name"), "", "the form %s does not take the name %q, so the machine is called %s", form, m.Name, name)
	m.Name = name
	return m
}

// notGuest warns of what a machine states and a form that describes guests does not carry. Hardware, which such a form
// never says, is mentioned once; what the guest agent sets is the guest's own.
func notGuest(m machine.Machine, form string, carries machine.FieldSet) diag.List {
	var excused []machine.Field
	for _, f := range machine.HardwareFields().Fields() {
		if !strings.HasPrefix(string(f), "agentUsers.") {
			excused = append(excused, f)
		}
	}
	hardware := machine.NewFieldSet(excused...)
	l := notWritten(m, form, carries.Union(hardware))
	for i, x := range m.Media {
		if x.Kind == "sysprep" { // which is all that a guest with Windows is told
			l.Warnf(CodeNotWritten, m.Places.Find(fmt.Sprintf("media[%d]", i)), "", "the form %s has no place for the medium %q, by which the guest is set up", form, x.Name)
		}
	}
	if slices.ContainsFunc(machine.Used(m), func(u machine.Use) bool {
		return hardware.Has(u.Field) && (strings.HasPrefix(u.Path, "disks") || strings.HasPrefix(u.Path, "hardware") || strings.HasPrefix(u.Path, "media") || strings.HasPrefix(u.Path, "shares"))
	}) {
		l.Notef(CodeNotWritten, m.Places.Find(""), "", "the form %s describes the guest alone, so disks, memory and other hardware are not part of it", form)
	}
	for i, x := range m.Media {
		l.Warnf(CodeNotWritten, m.Places.Find(fmt.Sprintf("media[%d]", i)), "choose another form, or bring the files into the guest by its image",
			"the form %s has no place for the files of the volume %q, so the guest goes without them", form, x.Name)
	}
	return l
}

// served gives a machine whose seed is fetched over HTTP the board by which its guest knows where to ask: its UUID, its
// serial number and its product are those of the seed, for a form that is a board for some hypervisor.
func (e *Engine) served(m machine.Machine, o RenderOptions, l diag.List) (machine.Machine, diag.List) {
	s, problems := e.Render(m, o)
	if len(s.Trees) == 0 || s.Trees[0].Name == "ignition" { // whose config the firmware has as well
		return m, l
	}
	for _, d := range problems {
		if d.Severity == diag.Error {
			l.Add(d)
		}
	}
	if s.Trees[0].Name == "nocloud" {
		m.DataSource = "nocloud-net"
	}
	places := map[string]struct {
		path string
		at   *string
	}{
		"1 uuid":    {"identity.uuid", &m.Identity.UUID},
		"1 serial":  {"identity.serial", &m.Identity.Serial},
		"1 product": {"hardware.smbios.product", &m.Hardware.SMBIOS.Product},
	}
	for _, row := range s.Firmware.SMBIOS {
		x, ok := places[fmt.Sprint(row.Type, " ", row.Field)]
		if !ok {
			l.Errorf(CodeNotWritten, m.Places.Find("dataSource"), "choose another data source", "the guest needs the SMBIOS string type=%d,%s, which vmseed cannot convert", row.Type, row.Field)
			continue
		}
		value := strings.ReplaceAll(row.Value, seed.Base, "http://169.254.169.254/")
		if x.path != "identity.uuid" && *x.at != "" && *x.at != value {
			l.Warnf(CodeNotWritten, m.Places.Find(x.path), "", "the guest finds its metadata by this SMBIOS string, so it is %s instead", value)
		}
		*x.at = value
	}
	return m, l
}

// SeveralIn reports whether machines in a form can stand in one file, between lines of three dashes.
func (e *Engine) SeveralIn(form string) bool {
	return slices.ContainsFunc(e.Frontends, func(f frontend.Frontend) bool {
		_, writes := f.(frontend.FormWriter)
		return writes && f.Name() == form
	})
}

// flatten renders a machine and returns one that states the product instead of the fields that it was made of, as far as
// a form does not carry those.
func (e *Engine) flatten(m machine.Machine, form string, carries machine.FieldSet, o RenderOptions) (machine.Machine, diag.List) {
	m, l := e.Place(m, machine.Facts{})
	if l.HasErrors() {
		return m, l
	}
	o = o.overHTTP(m)
	if o.dataSource(m) == machine.NoDataSource {
		return m, append(l, notWritten(m, form, carries)...)
	}
	ds, err := find("data source", e.DataSources, o.dataSource(m))
	if err != nil {
		l.Errorf(CodeUnknownPlugin, m.Places.Find("dataSource"), "choose another data source", "%v", err)
		return m, l
	}
	// A form that cannot say how documents are merged has room for one of each kind.
	if carries.Has("userData.layers.merge") {
		return m, append(l, notWritten(m, form, carries)...)
	}
	l = append(l, moved(&m, form, ds, carries)...)
	s, problems := e.Render(m, o)
	if l = append(l, problems...); l.HasErrors() {
		return m, l
	}
	product, ok := documents(m, s)
	if !ok {
		l.Errorf(CodeUnknownPlugin, m.Places.Find("dataSource"), "choose another data source", "what the data source %s makes has no place in the form %s", ds.Name(), form)
		return m, l
	}
	rendered := datasource.Expresses(ds, m, o.Options)
	fields := []machine.Field{"ssh.authorizedKeys"} // which may stand in an Ignition config
	for _, u := range machine.Lost(m, carries, machine.ControlFields()) {
		if f := widest(u.Field, carries); rendered.Has(u.Field) && !slices.Contains(fields, f) {
			fields = append(fields, f)
		}
	}
	within := false
	for _, f := range fields {
		switch e.whereIs(f, m, s, o) {
		case inDocuments:
			within = true
			machine.Clear(&product, f)
		case nowhere:
			if !carries.Has(f) {
				machine.Clear(&product, f)
			}
		}
	}
	if within {
		l.Notef(CodeFlattened, m.Places.Find(""), "", "what the form %s has no words for stands in its user-data, as %s renders it", form, ds.Name())
	}
	return product, append(l, notWritten(product, form, carries)...)
}

// moved changes a machine for a form whose system builds another board and leaves blank disks blank: the guest makes the
// file systems itself, and a script that names PCI addresses of the old board is left out.
func moved(m *machine.Machine, form string, ds datasource.DataSource, carries machine.FieldSet) (l diag.List) {
	storage := ds.Expresses().Has("storage.disks") && ds.Expresses().Has("storage.filesystems") && m.Guest.OS != "windows"
	m.Disks, m.Storage.Disks, m.Storage.Filesystems = slices.Clone(m.Disks), slices.Clone(m.Storage.Disks), slices.Clone(m.Storage.Filesystems)
	root := max(slices.IndexFunc(m.Disks, func(d machine.Disk) bool { return d.Root }), 0)
	for i, d := range m.Disks {
		kind := d.Source.Filesystem
		if !d.Source.Blank || kind == "" || carries.Has("disks.source.filesystem") || !storage ||
			slices.ContainsFunc(m.Storage.Disks, func(x machine.DiskLayout) bool { return x.Disk == d.Name }) {
			continue
		}
		m.Disks[i].Source.Filesystem = ""
		// A guest that keeps its system would not make a file system that is gone again.
		m.Disks[i].Ephemeral = d.Ephemeral && m.Disks[root].Ephemeral
		m.Storage.Disks = append(m.Storage.Disks, machine.DiskLayout{Disk: d.Name, Partitions: []machine.Partition{{Number: 1}}})
		m.Storage.Filesystems = append(m.Storage.Filesystems, machine.Filesystem{Disk: d.Name, Partition: 1, Type: kind})
		l.Notef(CodeFlattened, m.Places.Find(fmt.Sprintf("disks[%d].source", i)), "", "the guest itself makes the partition and the %s on the disk %q at its first boot", kind, d.Name)
	}
	if carries.Has("userData.mountScripts") {
		return l
	}
	if m.UserData.MountScripts {
		m.UserData.MountScripts = false
		if len(m.Mounts) > 0 {
			l.Warnf(CodeNotWritten, m.Places.Find("mounts[0]"), "call mount -a where the user-data calls it",
				"/etc/cloud/mount-volumes.sh names PCI addresses, which the form %s does not keep, so it is left out; the mounts stand in the user-data", form)
		}
	}
	if mark := m.UserData.MountScriptMark; mark != "" && len(m.Mounts)+len(m.DeviceLinks) > 0 {
		for i, x := range m.UserData.Layers {
			if strings.Contains(x.Data.Reveal(), mark) {
				l.Warnf(CodeNotWritten, m.Places.Find(fmt.Sprintf("userData.layers[%d]", i)), "name the disks below /dev/disk/by-id instead",
					"the script names PCI addresses in the place of %s, which the form %s does not keep", mark, form)
			}
		}
	}
	return l
}

// widest returns the outermost group of fields around f of which a form carries nothing, so that it is asked for once.
func widest(f machine.Field, carries machine.FieldSet) machine.Field {
	top, _, _ := strings.Cut(string(f), ".")
	if slices.ContainsFunc(carries.Union(machine.ControlFields()).Fields(), func(c machine.Field) bool {
		return string(c) == top || strings.HasPrefix(string(c), top+".")
	}) {
		return f
	}
	return machine.Field(top)
}

// The places of a seed in which a field can show.
const (
	nowhere = iota
	inDocuments
	inMetaData
)

// whereIs finds out where a field of a machine shows in its seed, by rendering the machine without it. What shows in
// meta-data alone has no place in a form that leaves those to its system.
func (e *Engine) whereIs(f machine.Field, m machine.Machine, s seed.Seed, o RenderOptions) int {
	with, _ := documents(m, s)
	machine.Clear(&m, f)
	other, l := e.Render(m, o)
	without, _ := documents(m, other)
	switch {
	case l.HasErrors() || !slices.EqualFunc(stated(with), stated(without), secret.Text.Equal):
		return inDocuments
	case slices.EqualFunc(contents(s), contents(other), secret.Text.Equal):
		return nowhere
	}
	return inMetaData
}

// stated are the documents of a flattened machine.
func stated(m machine.Machine) []secret.Text {
	var out []secret.Text
	for _, layers := range [][]machine.Layer{m.UserData.Layers, m.VendorData, m.Ignition, {m.Network.Document}} {
		for _, x := range layers {
			out = append(out, x.Data)
		}
		out = append(out, secret.Text{})
	}
	return out
}

// contents are all that the guest reads in a seed, and how it may.
func contents(s seed.Seed) []secret.Text {
	out := []secret.Text{secret.New(fmt.Sprint(s.Identity, s.Firmware.SMBIOS, s.KernelArgs, s.Seal))}
	for _, t := range s.Trees {
		out = append(out, secret.New(fmt.Sprint(t.Tokens, t.HopLimit)))
	}
	for _, v := range s.Volumes {
		for _, f := range v.Files {
			out = append(out, f.Content)
		}
	}
	for _, f := range s.Firmware.FwCfg {
		out = append(out, f.Content)
	}
	return out
}

// notWritten warns of what a machine states and a form does not carry.
func notWritten(m machine.Machine, form string, carries machine.FieldSet) diag.List {
	var l diag.List
	for _, u := range machine.Lost(m, carries, machine.ControlFields()) {
		remedy := ""
		if u.Field == "disks.source.filesystem" {
			remedy = "the disk is blank, so partition it and make the file system in the guest before it is mounted"
		}
		l.Add(diag.Diagnostic{Code: CodeNotWritten, Severity: diag.Warning, Range: m.Places.Find(u.Path), Field: u.Path,
			Summary: fmt.Sprintf("the form %s cannot say this", form), Remedy: remedy})
	}
	return l
}

// documents puts the documents of a seed in the place of the layers that they were made of. It returns false for a seed
// that has none of the known ones.
func documents(m machine.Machine, s seed.Seed) (machine.Machine, bool) {
	layer := func(v seed.Volume, paths ...string) []machine.Layer {
		for _, path := range paths {
			if text, ok := v.File(path); ok && !text.IsZero() {
				return []machine.Layer{{Name: "rendered " + path, Data: text}}
			}
		}
		return nil
	}
	layers := m.UserData.Layers
	m.Ignition = nil
	for _, x := range s.Firmware.FwCfg {
		m.Ignition = []machine.Layer{{Name: "rendered " + x.Name, Data: x.Content}}
	}
	m.UserData, m.VendorData, m.Network.Document, m.Network.Mode = machine.UserData{}, nil, machine.Layer{}, ""
	i := slices.IndexFunc(s.Volumes, func(v seed.Volume) bool { return v.Name == "" && seed.Layout(v) != "" })
	if i < 0 {
		return m, len(m.Ignition) > 0
	}
	v := s.Volumes[i]
	m.DataSource = seed.Layout(v)
	m.UserData = machine.UserData{Layers: layer(v, "user-data", "openstack/latest/user_data")}
	if made := m.UserData.Layers; len(made) == 1 && len(layers) == 1 && made[0].Data.Equal(layers[0].Data) {
		made[0].Origin = layers[0].Origin // it passes as its author wrote it
	}
	m.VendorData = layer(v, "vendor-data")
	if text, ok := v.File("openstack/latest/vendor_data.json"); ok {
		m.VendorData = []machine.Layer{{Name: "rendered vendor-data", Data: unwrapped(text)}}
	}
	if net := layer(v, "network-config", "openstack/latest/network_data.json"); net != nil {
		m.Network.Document = net[0]
	}
	return m, true
}

// unwrapped takes vendor-data out of the object in which a config drive holds it.
func unwrapped(text secret.Text) secret.Text {
	var object map[string]string
	if err := json.Unmarshal([]byte(text.Reveal()), &object); err != nil || object["cloud-init"] == "" {
		return text
	}
	return secret.New(object["cloud-init"])
}

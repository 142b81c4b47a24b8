package vmseed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/diag"
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
	if o.DataSource != "" {
		m.DataSource = o.DataSource
	}
	writers := e.writers()
	if i := slices.IndexFunc(writers, func(w frontend.FormWriter) bool { return w.Name() == form }); i >= 0 {
		if c, ok := writers[i].(frontend.Carrier); ok && m.Document.Form != form {
			m, l = e.flatten(m, form, c.Carries(), o)
			if l.HasErrors() {
				return nil, l
			}
		}
		text, problems := writers[i].Write(m)
		return text, append(l, problems...)
	}
	for _, d := range e.DataSources {
		if w, ok := d.(datasource.FormWriter); ok && w.Form() == form {
			l = notWritten(m, form, w.Carries().Union(machine.HardwareFields()))
			m, problems := e.Place(m, machine.Facts{})
			l = append(l, problems...)
			text, problems := w.WriteForm(m, o.Options)
			return text, append(l, problems...)
		}
	}
	l.Errorf(CodeUnknownPlugin, m.Places.Find(""), "choose another form", "%v form %q; there are: %s", ErrUnknown, form, strings.Join(e.Forms(), ", "))
	return nil, l
}

// flatten renders a machine and returns one that states the product instead of the fields that it was made of, as far as
// a form does not carry those.
func (e *Engine) flatten(m machine.Machine, form string, carries machine.FieldSet, o RenderOptions) (machine.Machine, diag.List) {
	m, l := e.Place(m, machine.Facts{})
	ds, err := find("data source", e.DataSources, o.dataSource(m))
	if err != nil {
		l.Errorf(CodeUnknownPlugin, m.Places.Find("dataSource"), "choose another data source", "%v", err)
		return m, l
	}
	rendered := ds.Expresses()
	var fields []machine.Field
	for _, u := range machine.Lost(m, carries, machine.ControlFields()) {
		if rendered.Has(u.Field) {
			fields = append(fields, u.Field)
		}
	}
	if len(fields) > 0 {
		s, problems := e.Render(m, o)
		l = append(l, problems...)
		if l.HasErrors() {
			return m, l
		}
		for _, f := range fields {
			machine.Clear(&m, f)
		}
		m = documents(m, s)
		l.Notef(CodeFlattened, m.Places.Find(""), "", "what the form %s has no words for stands in its user-data, as %s renders it", form, ds.Name())
	}
	return m, append(l, notWritten(m, form, carries)...)
}

// notWritten warns of what a machine states and a form does not carry.
func notWritten(m machine.Machine, form string, carries machine.FieldSet) diag.List {
	var l diag.List
	for _, u := range machine.Lost(m, carries, machine.ControlFields()) {
		l.Add(diag.Diagnostic{Code: CodeNotWritten, Severity: diag.Warning, Range: m.Places.Find(u.Path), Field: u.Path,
			Summary: fmt.Sprintf("the form %s cannot say this", form)})
	}
	return l
}

// documents puts the documents of a seed in the place of the layers that they were made of.
func documents(m machine.Machine, s seed.Seed) machine.Machine {
	layer := func(v seed.Volume, paths ...string) []machine.Layer {
		for _, path := range paths {
			if text, ok := v.File(path); ok && !text.IsZero() {
				return []machine.Layer{{Name: "rendered " + path, Data: text}}
			}
		}
		return nil
	}
	m.Ignition = nil
	for _, x := range s.Firmware.FwCfg {
		m.Ignition = []machine.Layer{{Name: "rendered " + x.Name, Data: x.Content}}
	}
	if len(s.Volumes) == 0 || seed.Layout(s.Volumes[0]) == "" {
		m.UserData = machine.UserData{}
		return m
	}
	v := s.Volumes[0]
	m.UserData = machine.UserData{Layers: layer(v, "user-data", "openstack/latest/user_data")}
	m.VendorData = layer(v, "vendor-data")
	if text, ok := v.File("openstack/latest/vendor_data.json"); ok {
		m.VendorData = []machine.Layer{{Name: "rendered vendor-data", Data: unwrapped(text)}}
	}
	m.Network.Document, m.Network.Mode = machine.Layer{}, ""
	if net := layer(v, "network-config", "openstack/latest/network_data.json"); net != nil {
		m.Network.Document = net[0]
	}
	return m
}

// unwrapped takes vendor-data out of the object in which a config drive holds it.
func unwrapped(text secret.Text) secret.Text {
	var object map[string]string
	if err := json.Unmarshal([]byte(text.Reveal()), &object); err != nil || object["cloud-init"] == "" {
		return text
	}
	return secret.New(object["cloud-init"])
}

package ignition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/datasource/internal/translate"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/cloudconfig/parts"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// authors returns the author's configs in the order in which they are merged: those of the user-data, then those of the
// machine. What the user-data says otherwise becomes part of the machine. Raw reports that the only config is to be passed
// as it is.
func (c *composer) authors() (out []ignconfig.Config, raw bool) {
	user := kept(c.m.UserData.Layers)
	if n := len(user); n > 0 && c.m.UserData.Raw && Recognise(user[n-1]) {
		for range user[:n-1] {
			c.lostLayer("userData.layers")
		}
		for range kept(c.m.Ignition) {
			c.lostLayer("ignition")
		}
		return c.read(user[n-1], c.o.Guest), true
	}
	for _, x := range user {
		out = append(out, c.layer(x)...)
	}
	for _, x := range kept(c.m.Ignition) {
		out = append(out, c.read(x, c.o.Guest)...)
	}
	return out, false
}

func (c *composer) lostLayer(path string) {
	c.list.Add(diag.Diagnostic{Code: CodeLost, Severity: diag.Warning, Range: c.m.Places.Find(path), Field: path,
		Summary: "this config is left out, because another is passed as it is", Remedy: "remove one of the two"})
}

// kept leaves out the layers that another replaces, and the ones that say nothing.
func kept(layers []machine.Layer) []machine.Layer {
	for i, x := range slices.Backward(layers) {
		if x.Merge == machine.MergeReplace {
			layers = layers[i:]
			break
		}
	}
	return slices.DeleteFunc(slices.Clone(layers), func(x machine.Layer) bool { return strings.TrimSpace(x.Data.Reveal()) == "" })
}

// read reads a config of Ignition or Butane.
func (c *composer) read(x machine.Layer, guest string) []ignconfig.Config {
	data := c.versioned(x)
	config, l := ignconfig.Read(x.Origin, data)
	c.list = append(c.list, l...)
	if config.IsZero() {
		if !l.HasErrors() {
			c.list.Errorf(CodeKind, x.Origin.Whole, "give a config of Ignition or Butane", "this is no config of Ignition")
		}
		return nil
	}
	if g, err := ignconfig.ParseGuest(guest); err == nil {
		c.list = append(c.list, ignconfig.Lint(x.Origin, data, g)...)
	}
	return []ignconfig.Config{config}
}

// layer takes over a layer of user-data: configs are returned, anything else is added to the machine.
func (c *composer) layer(x machine.Layer) []ignconfig.Config {
	if Recognise(x) {
		return c.read(x, c.o.Guest)
	}
	data := []byte(c.withoutMark(x.Data.Reveal()))
	if x.Merge == machine.MergeVirtlet && cloudconfig.Recognise(data) == cloudconfig.Unknown {
		c.cloudConfig(x)
		return nil
	}
	var out []ignconfig.Config
	pieces, l := parts.Unpack(x.Origin, data)
	c.list = append(c.list, l...)
	for _, p := range pieces {
		piece := machine.Layer{Name: x.Name, Data: secret.FromBytes(p.Data), Origin: p.Origin, Merge: x.Merge}
		switch {
		case Recognise(piece):
			out = append(out, c.read(piece, c.o.Guest)...)
		case p.Kind == cloudconfig.CloudConfig:
			c.cloudConfig(piece)
		case p.Kind == cloudconfig.Script, p.Kind == cloudconfig.ScriptPerBoot, p.Kind == cloudconfig.ScriptPerInstance,
			p.Kind == cloudconfig.ScriptPerOnce, p.Kind == cloudconfig.Boothook:
			c.script(p)
		case p.Kind == cloudconfig.Empty:
		default:
			c.list.Errorf(CodeKind, p.Origin.At(1, 1), c.reader.remedy,
				"%s guest does not understand user-data of the type %s", c.reader.guest, p.ContentType)
		}
	}
	return out
}

// withoutMark removes the mark that stands for mounts from a script: units mount and link the disks, so nothing is left
// for the script to do. A script may begin with the mark.
func (c *composer) withoutMark(text string) string {
	mark := c.m.UserData.MountScriptMark
	if mark == "" {
		return text
	}
	if strings.HasPrefix(text, mark) {
		text = "#!/bin/sh\n" + text[len(mark):]
	}
	return strings.ReplaceAll(text, mark, "")
}

// cloudConfig adds what a cloud-config says to the machine. What the machine can hold and an Ignition config cannot is said
// here, because nobody else knows that it was there.
func (c *composer) cloudConfig(x machine.Layer) {
	m, l := translate.CloudConfig(x, c.m)
	c.list = append(c.list, l...)
	told := machine.Lost(c.m, c.reader.expresses)
	for _, use := range machine.Lost(m, c.reader.expresses, machine.HardwareFields(), machine.ControlFields()) {
		if slices.Contains(told, use) {
			continue
		}
		c.list.Add(diag.Diagnostic{Code: CodeNoWords, Severity: diag.Warning, Range: m.Places.Find(use.Path), Field: use.Path,
			Summary: c.reader.seed + " cannot tell the guest this", Remedy: "do it by a script or in the image"})
	}
	c.m = m
}

// script adds a script of the user-data to those of the machine. Boothooks run at every boot, as they do under
// cloud-init.
func (c *composer) script(p parts.Part) {
	text := string(p.Data)
	if p.Kind == cloudconfig.Boothook && strings.HasPrefix(text, "#cloud-boothook") {
		_, text, _ = strings.Cut(text, "\n")
	}
	s := machine.Script{Name: strings.ReplaceAll(p.Filename, "/", "_"), Content: secret.New(text)}
	if s.Name == "" {
		c.parts++
		s.Name = fmt.Sprintf("part-%03d", c.parts)
	}
	switch p.Kind {
	case cloudconfig.ScriptPerBoot, cloudconfig.Boothook:
		s.Frequency = "boot"
	case cloudconfig.ScriptPerOnce:
		s.Frequency = "once"
	}
	c.m.Scripts = append(slices.Clone(c.m.Scripts), s)
}

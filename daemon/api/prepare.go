package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// native is the form that a machine is kept in when a request says more about it than its documents do.
const native = "native"

// maxDocuments bounds the documents of a request.
const maxDocuments = 100

// purpose is what documents are prepared for.
type purpose int

const (
	// forKeeps: the documents are stored, one set for each machine.
	forKeeps purpose = iota
	// forShow: the documents are rendered, all machines together.
	forShow
)

// prepared are documents as the daemon takes them.
type prepared struct {
	// machines are the documents of each machine.
	machines [][]daemon.Document
	// rewritten are machines as they were read, by the names of documents that are not the ones which the client sent.
	rewritten map[string]rewriting
	// said is what there was to say about documents to which something was added, which moved what is in them.
	said diag.List
}

// inputs are documents as the engine takes them.
func inputs(documents []client.Document) ([]vmseed.Input, error) {
	if len(documents) == 0 {
		return nil, bad("the member documents is missing or empty")
	}
	if len(documents) > maxDocuments {
		return nil, bad("%d documents are more than %d", len(documents), maxDocuments)
	}
	out := make([]vmseed.Input, len(documents))
	for i, d := range documents {
		role := frontend.Role(d.Role)
		if !slices.Contains([]frontend.Role{frontend.Definition, frontend.UserData, frontend.MetaData, frontend.VendorData, frontend.NetworkConfig}, role) {
			return nil, bad("the role of a document is user-data, meta-data, vendor-data or network-config, or it has none")
		}
		out[i] = vmseed.Input{File: d.Name, Role: role, Data: []byte(d.Text.Reveal())}
		if out[i].File == "" {
			out[i].File = fmt.Sprintf("document %d", i+1)
		}
	}
	return out, nil
}

// load reads the machines of documents, and picks the one that the settings name.
func (a *api) load(ctx context.Context, documents []client.Document, s client.Settings) ([]machine.Machine, diag.List, error) {
	in, err := inputs(documents)
	if err != nil {
		return nil, nil, err
	}
	if s.Memory < 0 || s.CPUs < 0 {
		return nil, nil, bad("memory and cpus are not below 0")
	}
	var stated []machine.Field
	if s.Memory > 0 {
		stated = append(stated, "hardware.memory")
	}
	if s.CPUs > 0 {
		stated = append(stated, "hardware.cpus")
	}
	machines, l := a.options.Engine.Load(ctx, in, vmseed.LoadOptions{Options: frontend.Options{DataSource: s.DataSource, Stated: machine.NewFieldSet(stated...)}})
	l = daemon.Worded(l)
	if l.HasErrors() || s.Pick == "" {
		return machines, l, nil
	}
	var have []string
	var picked []machine.Machine
	for _, m := range machines {
		full := m.Namespace + "/" + m.Name
		have = append(have, full)
		if s.Pick == m.Name || s.Pick == full {
			picked = append(picked, m)
		}
	}
	switch len(picked) {
	case 0:
		return nil, l, bad("the documents hold no machine %q; they have %s", s.Pick, strings.Join(have, ", "))
	case 1:
		return picked, l, nil
	}
	return nil, l, bad("several machines are called %q; pick NAMESPACE/NAME: %s", s.Pick, strings.Join(have, ", "))
}

// prepare makes what the daemon takes of what a client sent. Documents of one machine stay as they are when the request
// says nothing about it beside them; else each machine is written in the native form. The list has what was said of documents
// that the daemon does not get to see.
func (a *api) prepare(ctx context.Context, documents []client.Document, s client.Settings, p purpose) (prepared, diag.List, error) {
	machines, l, err := a.load(ctx, documents, s)
	if err != nil || l.HasErrors() {
		return prepared{}, l, err
	}
	out := prepared{rewritten: map[string]rewriting{}}
	if own, ok := a.ovirt(documents, s); ok && p == forKeeps && len(machines) == 1 {
		out.machines, out.said = [][]daemon.Document{own}, l
		return out, nil, nil
	}
	if !rewrites(documents, s, p) && (len(machines) == 1 || p == forShow) {
		own := make([]daemon.Document, len(documents))
		in, _ := inputs(documents)
		for i, d := range documents {
			own[i] = daemon.Document{Name: in[i].File, Text: d.Text}
		}
		out.machines = [][]daemon.Document{own}
		return out, nil, nil
	}
	var set [][]daemon.Document
	for _, m := range machines {
		change(&m, s, p)
		text, problems := a.options.Engine.Convert(m, native, vmseed.RenderOptions{})
		if l = append(l, daemon.Worded(problems)...); problems.HasErrors() {
			return prepared{}, l, nil
		}
		name := m.Namespace + "/" + m.Name + ".yaml"
		out.rewritten[name] = a.rewriting(ctx, m, name, text)
		set = append(set, []daemon.Document{{Name: name, Text: secret.FromBytes(text)}})
	}
	if p == forShow {
		set = [][]daemon.Document{slices.Concat(set...)}
	}
	out.machines = set
	return out, l, nil
}

// ovirt makes what is kept of a request whose only document is a VM of oVirt's, and that says no more beside it than how large
// the VM is: the document with that size and with its passwords hashed, or nothing new when it is so already. So the VM stays one
// that oVirt's API shows and changes. Windows takes no hash of Linux's; the daemon seals what it keeps.
func (a *api) ovirt(documents []client.Document, s client.Settings) ([]daemon.Document, bool) {
	others := s
	others.Memory, others.CPUs, others.Pick = 0, 0, ""
	if len(documents) != 1 || rewrites(documents, others, forKeeps) {
		return nil, false
	}
	in, _ := inputs(documents)
	sent := ovirt.VMOf(in[0].File, in[0].Data)
	if !sent.Exists() {
		return nil, false
	}
	vm, hashes := sent, error(nil)
	if s.Memory > 0 || s.CPUs > 0 {
		vm = ovirt.WithSize(vm, s.Memory, s.CPUs)
	}
	if ovirt.KindOf(vm) != ovirt.Sysprep {
		owner := rand.Text() // the VM has no id yet
		vm = ovirt.HashPasswords(vm, func(user string, clear secret.Text) secret.Text {
			hash, err := a.daemon.PasswordHash(owner, user, clear)
			hashes = errors.Join(hashes, err)
			return hash
		})
	}
	text := in[0].Data
	if !vm.Equal(sent) {
		var err error
		if text, err = vm.XML(); errors.Join(err, hashes) != nil {
			return nil, false
		}
	}
	return []daemon.Document{{Name: in[0].File, Text: secret.FromBytes(text)}}, true
}

// rewrites reports whether a request says what its documents cannot hold as they are.
func rewrites(documents []client.Document, s client.Settings, p purpose) bool {
	return slices.ContainsFunc(documents, func(d client.Document) bool { return d.Role != "" }) || s.Pick != "" || s.Image != "" ||
		s.IgnitionPlatform != "" || s.Guest != "" || s.Memory != 0 || s.CPUs != 0 || p == forKeeps && s.DataSource != "" ||
		p == forShow && (s.Name != "" || s.Namespace != "")
}

// change changes a machine as the settings say.
func change(m *machine.Machine, s client.Settings, p purpose) {
	set := func(field *string, value string) {
		if value != "" {
			*field = value
		}
	}
	set(&m.DataSource, s.DataSource)
	set(&m.Guest.IgnitionPlatform, s.IgnitionPlatform)
	set(&m.Guest.Release, s.Guest)
	if p == forShow {
		set(&m.Name, s.Name)
		set(&m.Namespace, s.Namespace)
	}
	if s.Memory != 0 {
		m.Hardware.Memory = machine.Bytes(s.Memory)
	}
	if s.CPUs != 0 {
		m.Hardware.CPUs, m.Hardware.Sockets, m.Hardware.Cores, m.Hardware.Threads = s.CPUs, 0, 0, 0
	}
	if s.Image == "" {
		return
	}
	m.Disks = slices.Clone(m.Disks)
	i := slices.IndexFunc(m.Disks, func(d machine.Disk) bool { return d.Root })
	if i < 0 {
		m.Disks = slices.Insert(m.Disks, 0, machine.Disk{Name: "root", Root: true})
		i = 0
	}
	m.Disks[i].Source = machine.DiskSource{Image: s.Image}
}

// one prepares documents that have to hold one machine.
func (a *api) one(ctx context.Context, documents []client.Document) (prepared, error) {
	p, l, err := a.prepare(ctx, documents, client.Settings{}, forKeeps)
	switch {
	case err != nil:
		return p, err
	case l.HasErrors():
		return p, l
	case len(p.machines) != 1:
		return p, bad("the documents hold %d machines, and one is wanted", len(p.machines))
	}
	return p, nil
}

// placed gives the diagnostics of an error their places in what the client sent.
func (p prepared) placed(err error) error {
	var l diag.List
	if !errors.As(err, &l) {
		return err
	}
	return p.place(l)
}

// place carries diagnostics about documents that were rewritten over to what the client sent.
func (p prepared) place(l diag.List) diag.List {
	out := slices.Clone(l)
	for i, d := range out {
		if w, ok := p.rewritten[d.Range.File]; ok {
			out[i].Range, out[i].Related = w.sent(d), nil
		}
		for _, x := range p.said {
			if x.Code == d.Code && x.Field == d.Field && x.Summary == d.Summary {
				out[i].Range, out[i].Related = x.Range, x.Related
				break
			}
		}
	}
	return out
}

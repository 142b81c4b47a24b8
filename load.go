package vmseed

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
)

// Input is a file of the user's, or what stands for one.
type Input struct {
	// File is its name for messages.
	File string
	// Role is what the user says the file is for; empty means that its content decides.
	Role frontend.Role
	Data []byte
}

// LoadOptions change how input is read.
type LoadOptions struct {
	frontend.Options
	// Resolver finds objects that the input does not hold. It may be nil.
	Resolver frontend.Resolver
}

// sniffed is how much of a document front ends see when they are asked whether it is theirs.
const sniffed = 64 << 10

// Load reads machines out of the input. All files are one input: Secrets, ConfigMaps and claims in it serve the machines
// in it, and multi-document files are taken apart.
func (e *Engine) Load(ctx context.Context, inputs []Input, o LoadOptions) ([]machine.Machine, diag.List) {
	s := sorter{engine: e, documents: make([][]frontend.Document, len(e.Frontends))}
	for _, in := range inputs {
		s.take(in)
	}
	l := s.list
	objects, problems := kubeobject.NewManifest(s.objects)
	l = append(l, problems...)
	if l.HasErrors() {
		return nil, l
	}
	if l = append(l, s.others()...); l.HasErrors() {
		return nil, l
	}
	resolver := chain{first: objects, next: o.Resolver}
	var out []machine.Machine
	for i, f := range e.Frontends {
		if len(s.documents[i]) == 0 {
			continue
		}
		machines, problems := f.Read(ctx, frontend.Source{Documents: s.documents[i], Resolver: resolver, Options: o.Options})
		l = append(l, problems...)
		for _, m := range machines {
			if m.Namespace == "" {
				m.Namespace = "default"
			}
			out = append(out, m)
		}
	}
	if len(out) == 0 && !l.HasErrors() {
		file := ""
		if len(inputs) > 0 {
			file = inputs[0].File
		}
		l.Errorf(CodeNoMachine, diag.Range{File: file}, "give a file with a VM definition as well", "the input holds no machine")
	}
	return out, append(l, duplicates(out)...)
}

func duplicates(machines []machine.Machine) diag.List {
	var l diag.List
	seen := map[string]machine.Machine{}
	for _, m := range machines {
		id := m.Namespace + "/" + m.Name
		if first, ok := seen[id]; ok {
			l.Add(diag.Diagnostic{Code: CodeDuplicateMachine, Severity: diag.Error, Range: m.Places.Find("name"),
				Summary: fmt.Sprintf("two machines are called %s", id), Remedy: "rename one of them"}.
				With(first.Places.Find("name"), "the first one is here"))
		}
		seen[id] = m
	}
	return l
}

// sorter hands documents to the front ends whose they are.
type sorter struct {
	engine    *Engine
	documents [][]frontend.Document // by front end
	objects   []kubeobject.Object
	// strangers are documents that no front end knows.
	strangers []tree.Value
	list      diag.List
}

// others says what becomes of documents that no front end knows. Beside a machine, objects of Kubernetes such as a Service
// are what manifests hold as well; anything else is an error.
func (s *sorter) others() diag.List {
	var l diag.List
	known := slices.ContainsFunc(s.documents, func(d []frontend.Document) bool { return len(d) > 0 })
	for _, v := range s.strangers {
		var unheard diag.List
		kind, version := v.Get("kind").Loose(&unheard), v.Get("apiVersion").Loose(&unheard)
		if known && v.Kind() == tree.Map && kind != "" && version != "" && v.Get("metadata").Kind() == tree.Map {
			l.Notef(CodeNotRead, v.Range(), "", "the %s (%s) concerns no machine, so it is not read", kind, version)
			continue
		}
		l.Errorf(CodeUnknownForm, v.Range(), "user-data begins with #cloud-config or #!; other plain files are given by flags such as --network-config",
			"this document is of none of the forms %s", strings.Join(Names(s.engine.Frontends), ", "))
	}
	return l
}

func (s *sorter) take(in Input) {
	whole := frontend.Document{File: in.File, Role: in.Role, Data: in.Data}
	if in.Role != frontend.Definition {
		s.plain(whole)
		return
	}
	// Front ends for plain files see a file as one document before it is taken apart as YAML: a script is none.
	for i, f := range s.engine.Frontends {
		if _, ok := f.(frontend.RoleReader); ok && f.Sniff(head(in.Data)) == frontend.Strong {
			s.documents[i] = append(s.documents[i], whole)
			return
		}
	}
	values, problems := element.Documents(in.File, in.Data, bounded.Limits{})
	if problems.HasErrors() {
		if template := cloudconfig.TemplateMark(string(in.Data)); template != "" {
			problems = diag.List{{Code: CodeTemplate, Severity: diag.Error, Range: problems[0].Range,
				Summary: "this is " + template + " that nobody has rendered", Remedy: "run it through its template engine first"}}
		}
		s.list = append(s.list, problems...)
		return
	}
	if len(values) == 0 {
		s.list.Errorf(CodeNoMachine, diag.At(in.File, 1, 1), "give a file with a VM definition", "the file is empty")
	}
	objects, rest, problems := kubeobject.Read(values)
	s.list = append(s.list, problems...)
	s.objects = append(s.objects, objects...)
	lines := bytes.SplitAfter(in.Data, []byte("\n"))
	for _, v := range rest {
		s.definition(frontend.Document{File: in.File, Data: in.Data, Tree: v}, text(lines, v, values))
	}
}

// plain hands a file with a role to the front end that reads such files.
func (s *sorter) plain(d frontend.Document) {
	for i, f := range s.engine.Frontends {
		if _, ok := f.(frontend.RoleReader); ok {
			s.documents[i] = append(s.documents[i], d)
			return
		}
	}
	s.list.Errorf(CodeUnknownForm, diag.Range{File: d.File}, "", "no front end reads %s files", d.Role)
}

func (s *sorter) definition(d frontend.Document, text []byte) {
	best, at := frontend.No, -1
	var same []string
	for i, f := range s.engine.Frontends {
		match := f.Sniff(head(text))
		switch {
		case match > best:
			best, at, same = match, i, []string{f.Name()}
		case match == best && match != frontend.No:
			same = append(same, f.Name())
		}
	}
	switch {
	case at < 0:
		s.strangers = append(s.strangers, d.Tree)
	case len(same) > 1 && best == frontend.Strong:
		s.list.Errorf(CodeUnknownForm, d.Tree.Range(), "remove what belongs to one of them",
			"this document claims to be of several forms: %s", strings.Join(same, ", "))
	default:
		s.documents[at] = append(s.documents[at], d)
	}
}

func head(data []byte) []byte { return data[:min(len(data), sniffed)] }

// text returns the part of a file, given as its lines, from the first line of a document to that of the next one. A document inside a List
// object has the text of the List.
func text(lines [][]byte, v tree.Value, documents []tree.Value) []byte {
	from, to := v.Range().Start.Line, 0
	for _, d := range documents {
		if start := d.Range().Start.Line; start > from {
			to = start
			break
		}
	}
	if to == 0 || to > len(lines) {
		to = len(lines) + 1
	}
	return bytes.Join(lines[min(from-1, len(lines)):to-1], nil)
}

// chain asks one resolver after the other.
type chain struct {
	first *kubeobject.Manifest
	next  frontend.Resolver
}

// Resolve returns the object of the input, or that of the next resolver.
func (c chain) Resolve(ctx context.Context, ref kubeobject.Ref) (kubeobject.Object, error) {
	o, err := c.first.Resolve(ctx, ref)
	if err == nil || c.next == nil {
		return o, err
	}
	return c.next.Resolve(ctx, ref)
}

package daemon

import (
	"context"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// Rendering is what a guest would read.
type Rendering struct {
	// Machine is placed.
	Machine machine.Machine
	Seed    seed.Seed
}

// RenderOptions change what is rendered.
type RenderOptions struct {
	// Template is the id of the template whose defaults apply; empty means none.
	Template string
	// DataSource overrides the one that the documents ask for.
	DataSource string
	// Generation is the revision of the instance id.
	Generation int
	// Machine is the id of a VM for which the documents are rendered: with its names, its id and its template, and with a
	// revision that Generation is added to.
	Machine string
}

// Render returns what the guests of all machines in the documents would read. Nothing is stored. The renderings hold the
// guests' secrets. With an error among the diagnostics there are none.
func (d *Daemon) Render(ctx context.Context, documents []Document, o RenderOptions) ([]Rendering, diag.List) {
	machines, l := d.read(ctx, documents)
	if l.HasErrors() {
		return nil, l
	}
	out := make([]Rendering, 0, len(machines))
	for _, m := range machines {
		l = append(l, d.host.check(&m)...)
		own := owned{namespace: m.Namespace, name: m.Name, template: o.Template}
		if _, s, err := d.find(o.Machine); err == nil {
			own = s.owned()
		}
		own.generation += o.Generation
		placed, problems := d.place(m, own)
		l = append(l, problems...)
		s, problems := d.options.Engine.Render(placed, vmseed.RenderOptions{DataSource: o.DataSource})
		l = append(l, problems...)
		out = append(out, Rendering{Machine: placed, Seed: s})
	}
	if l.HasErrors() {
		return nil, l
	}
	return out, l
}

// Check says what is wrong with documents, or will not reach the guest.
func (d *Daemon) Check(ctx context.Context, documents []Document, o RenderOptions) diag.List {
	_, l := d.Render(ctx, documents, o)
	return l
}

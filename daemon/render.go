package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Rendering is what a guest would read.
type Rendering struct {
	// Machine is placed.
	Machine machine.Machine
	Seed    seed.Seed
	// Copy, of a run that is over, stands for both: what its guest was given, with all that is secret masked, as the JSON of a
	// client.Seed.
	Copy []byte
}

// RenderOptions change what is rendered.
type RenderOptions struct {
	// Template is the id of the template whose defaults apply; empty means none.
	Template string
	// DataSource overrides the one that the documents ask for.
	DataSource string
	// Generation is the revision of the instance id.
	Generation int
	// Delivery is how the guest would get the seed; empty means the VM's way. One that does not fit is an error.
	Delivery string
	// Compare means that the data source is one to look at beside the machine's own, whether the delivery fits it or not.
	Compare bool
	// Run renders what a run adds as well: what makes the guest report how its first boot goes.
	Run bool
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
		s, problems := d.render(placed, o)
		l = append(l, problems...)
		out = append(out, Rendering{Machine: placed, Seed: s})
	}
	if l.HasErrors() {
		return nil, l
	}
	return out, l
}

// render renders a placed machine. In the preview of a run, the URL to which a guest reports is signed when the VM has run before:
// the key is drawn when it gets its directory.
func (d *Daemon) render(m machine.Machine, o RenderOptions) (seed.Seed, diag.List) {
	way := o.Delivery
	if _, s, err := d.find(o.Machine); err == nil && way == "" {
		way = s.Delivery
	}
	options := vmseed.RenderOptions{DataSource: o.DataSource}
	options.HTTP = way == "metadata"
	var out seed.Seed
	var l diag.List
	if o.Run {
		out, l, _ = d.launcher.Render(m, options, func() (key secret.Text, _ error) {
			if _, s, err := d.find(o.Machine); err == nil {
				key, _ = supervisor.OpenReportKey(d.dir(s))
			}
			return key, nil
		})
	} else {
		out, l = d.options.Engine.Render(m, options)
	}
	l = Worded(l)
	if !l.HasErrors() && (!o.Compare || out.DataSource == cmp.Or(m.DataSource, "nocloud")) {
		l = append(l, d.fits(way, m, out)...)
	}
	return out, l
}

// fits complains when the guest of a machine cannot get its seed in a way.
func (d *Daemon) fits(way string, m machine.Machine, s seed.Seed) diag.List {
	if err := checkDelivery(way); err != nil {
		var l diag.List
		errors.As(err, &l)
		return l
	}
	return unfit(m, d.launcher.Fits(way, m, s))
}

// unfit is the diagnostic of an error about the way in which the guest of a machine was to get its seed. Other errors have none.
func unfit(m machine.Machine, err error) (l diag.List) {
	var unfit *boot.UnfitError
	if errors.As(err, &unfit) {
		l.Add(diag.Diagnostic{Code: CodeDelivery, Severity: diag.Error, Range: m.Places.Find("dataSource"), Field: "delivery",
			Summary: fmt.Sprintf("the delivery %s does not fit: %s", unfit.Way, unfit.Reason), Remedy: unfit.Remedy})
	}
	return Worded(l)
}

// RunsFirstBoot reports whether a start of a VM that asks for first boot runs it, with a machine that Render has placed for that VM.
func (d *Daemon) RunsFirstBoot(id string, placed machine.Machine) (bool, error) {
	_, s, err := d.find(id)
	if err != nil || placed.DataSource == machine.NoDataSource {
		return false, err
	}
	content, l := d.content(placed)
	if l.HasErrors() {
		return false, nil
	}
	generation, _ := s.generation(StartOptions{Initialize: true}, content)
	return !s.Initialized || generation != s.Generation, nil
}

// Check says what is wrong with documents, or will not reach the guest.
func (d *Daemon) Check(ctx context.Context, documents []Document, o RenderOptions) diag.List {
	_, l := d.Render(ctx, documents, o)
	return l
}

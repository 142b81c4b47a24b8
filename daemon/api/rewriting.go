package api

import (
	"context"
	"strings"
	"sync"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// rewriting is a machine that was written in the native form because a request says more about it than its documents do. What
// is said of the result has places that the client has never seen.
type rewriting struct {
	// machine is as it was read from what the client sent.
	machine machine.Machine
	// again is the machine as it is read from what was written. It is made when there is something to say.
	again func() machine.Machine
}

func (a *api) rewriting(ctx context.Context, m machine.Machine, name string, text []byte) rewriting {
	return rewriting{machine: m, again: sync.OnceValue(func() machine.Machine {
		machines, _ := a.options.Engine.Load(ctx, []vmseed.Input{{File: name, Data: text}}, vmseed.LoadOptions{})
		if len(machines) != 1 {
			return machine.Machine{}
		}
		return machines[0]
	})}
}

// sent returns where a remark about what was written stands in what the client sent: in the same line of the same user-data where
// it is about a line of that, else at its field.
func (w rewriting) sent(d diag.Diagnostic) diag.Range {
	if d.Range.Start.Line > 0 {
		written := layers(w.again())
		for i, group := range layers(w.machine) {
			for j := 0; j < len(group) && len(group) == len(written[i]); j++ {
				if r, ok := within(written[i][j].Origin, d.Range); ok {
					return group[j].Origin.Range(r)
				}
			}
		}
	}
	return w.machine.Places.Find(strings.TrimPrefix(strings.TrimPrefix(d.Field, "spec."), "metadata."))
}

// layers are the texts of a machine that a guest reads and that are written as they are, by what they are for.
func layers(m machine.Machine) [][]machine.Layer {
	return [][]machine.Layer{m.UserData.Layers, m.VendorData, m.MetaData, m.Ignition, {m.Network.Document}}
}

// within returns the range of a text for a range of the document that the text stands in line by line: what Origin.Range does, back.
func within(o diag.Origin, r diag.Range) (diag.Range, bool) {
	var out diag.Range
	for i, first := range o.Lines {
		at := func(p diag.Pos) diag.Pos { return diag.Pos{Line: i + 1, Column: p.Column - first.Column + 1} }
		if first.Line == r.Start.Line && first.Column <= r.Start.Column {
			out.Start = at(r.Start)
		}
		if first.Line == r.End.Line && first.Column <= r.End.Column {
			out.End = at(r.End)
		}
	}
	return out, out.Start.Line > 0
}

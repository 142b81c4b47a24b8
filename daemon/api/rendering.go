package api

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/daemon/mask"
	"github.com/vmseed/vmseed/secret"
)

// maxFiles is how much of all files together an answer holds, in bytes.
const maxFiles = 64 << 20

// render says what guests would read. Nothing is stored.
func (a *api) render(w http.ResponseWriter, r *http.Request) error {
	var q client.RenderRequest
	if err := read(w, r, &q, false); err != nil {
		return err
	}
	out, err := a.rendered(r, q, "")
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, out)
}

// check is render without the files.
func (a *api) check(w http.ResponseWriter, r *http.Request) error {
	var q client.RenderRequest
	if err := read(w, r, &q, false); err != nil {
		return err
	}
	out, err := a.rendered(r, q, "")
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, client.CheckResult{Diagnostics: out.Diagnostics})
}

// renderMachine says what the guest of a machine would read at its next start, or with documents for one run at that.
func (a *api) renderMachine(w http.ResponseWriter, r *http.Request) error {
	var q client.RenderRequest
	if err := read(w, r, &q, true); err != nil {
		return err
	}
	m, err := a.daemon.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	if len(q.Documents) == 0 {
		for _, d := range m.Documents {
			q.Documents = append(q.Documents, client.Document{Name: d.Name, Text: d.Text})
		}
	}
	q.Namespace, q.Name, q.Template = "", "", ""
	out, err := a.rendered(r, q, m.ID)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, out)
}

// given says what the guest of a machine was given at its last start.
func (a *api) given(w http.ResponseWriter, r *http.Request) error {
	reveal, err := flag(r, "reveal")
	if err != nil {
		return err
	}
	g, err := a.daemon.Given(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	out := client.RenderResult{Seeds: make([]client.Seed, 1), Diagnostics: []client.Diagnostic{}}
	if g.Copy != nil {
		out.MaskedOnly = true
		err = json.Unmarshal(g.Copy, &out.Seeds[0])
	} else {
		v := mask.View{Secrets: mask.Of(g.Machine), Reveal: reveal, Room: maxFiles}
		out.Seeds[0] = v.Seed(g.Seed)
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, out)
}

// run says what the last run of a machine was started with.
func (a *api) run(w http.ResponseWriter, r *http.Request) error {
	reveal, err := flag(r, "reveal")
	if err != nil {
		return err
	}
	ran, err := a.daemon.Ran(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	out := client.RunResult{Documents: []client.Document{}, Own: ran.Own, MaskedOnly: ran.Copy}
	secrets := mask.Of(ran.Machine)
	for _, d := range ran.Documents {
		if !reveal && !ran.Copy {
			text, _ := secrets.Text(d.Text.Reveal())
			d.Text = secret.New(text)
		}
		out.Documents = append(out.Documents, client.Document{Name: d.Name, Text: d.Text})
	}
	return answer(w, http.StatusOK, out)
}

// rendered renders documents for each of the data sources, for a machine that there is if one is named.
func (a *api) rendered(r *http.Request, q client.RenderRequest, machine string) (client.RenderResult, error) {
	out := client.RenderResult{Seeds: []client.Seed{}, Diagnostics: []client.Diagnostic{}}
	template, err := a.template(q.Template)
	if err != nil {
		return out, err
	}
	sources := q.DataSources
	if len(sources) == 0 {
		sources = []string{q.DataSource}
	}
	if have := vmseed.Names(a.options.Engine.DataSources); len(sources) > len(have) {
		return out, bad("there are %d data sources, not %d", len(have), len(sources))
	}
	p, l, err := a.prepare(r.Context(), q.Documents, q.Settings, forShow)
	if err != nil {
		return out, err
	}
	room := maxFiles
	for _, source := range sources {
		if l.HasErrors() {
			break
		}
		o := daemon.RenderOptions{Template: template, DataSource: source, Generation: q.Generation, Machine: machine, Run: q.Run, Delivery: q.Delivery, Compare: len(q.DataSources) > 0}
		renderings, problems := a.daemon.Render(r.Context(), p.machines[0], o)
		l = append(l, p.place(problems)...)
		if machine != "" && out.FirstBoot == nil && len(renderings) > 0 {
			first, err := a.daemon.RunsFirstBoot(machine, renderings[0].Machine)
			if err != nil {
				return out, err
			}
			out.FirstBoot = &first
		}
		for _, x := range renderings {
			v := mask.View{Secrets: mask.Of(x.Machine), Reveal: q.Reveal, Room: room}
			out.Seeds = append(out.Seeds, v.Seed(x.Seed))
			room = v.Room
		}
	}
	l = l.Sorted()
	if l.HasErrors() {
		out.Seeds, out.FirstBoot = []client.Seed{}, nil
	}
	out.Diagnostics = client.Diagnostics(l)
	return out, nil
}

// convert writes documents in another form.
func (a *api) convert(w http.ResponseWriter, r *http.Request) error {
	var q client.ConvertRequest
	if err := read(w, r, &q, false); err != nil {
		return err
	}
	if forms := a.options.Engine.Forms(); !slices.Contains(forms, q.To) {
		return bad("the member to is one of %q", forms)
	}
	out := client.ConvertResult{Documents: []client.Document{}}
	machines, l, err := a.load(r.Context(), q.Documents, q.Settings)
	if err != nil {
		return err
	}
	for _, m := range machines {
		if l.HasErrors() {
			break
		}
		change(&m, q.Settings, forShow)
		text, problems := a.options.Engine.Convert(m, q.To, vmseed.RenderOptions{})
		l = append(l, daemon.Worded(problems)...)
		out.Documents = append(out.Documents, client.Document{Name: m.Namespace + "/" + m.Name, Text: secret.FromBytes(text)})
	}
	if l.HasErrors() {
		out.Documents = []client.Document{}
	}
	out.Diagnostics = client.Diagnostics(l.Sorted())
	return answer(w, http.StatusOK, out)
}

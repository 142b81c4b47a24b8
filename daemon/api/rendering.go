package api

import (
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

const (
	// maxFile is how much of a file an answer holds, maxFiles of all files together, in bytes.
	maxFile  = 4 << 20
	maxFiles = 64 << 20
)

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
	budget := maxFiles
	v := view{reveal: reveal, secrets: secretsOf(g.Machine), budget: &budget}
	return answer(w, http.StatusOK, client.RenderResult{Seeds: []client.Seed{v.seed(g.Seed)}, Diagnostics: []client.Diagnostic{}})
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
	budget := maxFiles
	for _, source := range sources {
		if l.HasErrors() {
			break
		}
		o := daemon.RenderOptions{Template: template, DataSource: source, Generation: q.Generation, Machine: machine, Run: q.Run, Delivery: q.Delivery}
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
			v := view{reveal: q.Reveal, secrets: secretsOf(x.Machine), budget: &budget}
			out.Seeds = append(out.Seeds, v.seed(x.Seed))
		}
	}
	l = l.Sorted()
	if l.HasErrors() {
		out.Seeds, out.FirstBoot = []client.Seed{}, nil
	}
	out.Diagnostics = client.Diagnostics(l)
	return out, nil
}

// view shows the files of a machine's seed.
type view struct {
	reveal  bool
	secrets []string
	// budget is how many bytes there is room for.
	budget *int
}

func (v view) seed(s seed.Seed) client.Seed {
	out := client.Seed{Namespace: s.Machine.Namespace, Name: s.Machine.Name, DataSource: s.DataSource, InstanceID: s.Identity.InstanceID,
		UUID: s.Identity.UUID, Hostname: s.Identity.Hostname, KernelArgs: s.KernelArgs, Seal: s.Seal}
	for _, x := range s.Volumes {
		volume := client.Volume{Name: x.Name, Label: x.Label, Format: x.Format, Image: x.Path, Files: []client.File{}}
		for _, f := range x.Files {
			volume.Files = append(volume.Files, v.file(f.Path, fmt.Sprintf("%04o", orDefault(f.Mode)), f.Content))
		}
		out.Volumes = append(out.Volumes, volume)
	}
	for _, t := range s.Trees {
		tree := client.Tree{Name: t.Name, Roots: t.Roots, Tokens: string(t.Tokens), HopLimit: t.HopLimit, Files: []client.File{}}
		for _, b := range t.Blobs {
			f := v.file(b.Path, "", b.Content)
			f.ContentType, f.Sealable = b.ContentType, b.Sealable
			tree.Files = append(tree.Files, f)
		}
		out.Trees = append(out.Trees, tree)
	}
	for _, f := range s.Firmware.FwCfg {
		out.Firmware = append(out.Firmware, v.file(f.Name, "", f.Content))
	}
	for _, c := range s.Firmware.Credentials {
		out.Credentials = append(out.Credentials, v.file(c.Name, "", c.Content))
	}
	for _, x := range s.Firmware.SMBIOS {
		out.SMBIOS = append(out.SMBIOS, fmt.Sprintf("type %d %s=%s", x.Type, x.Field, x.Value))
	}
	return out
}

// orDefault is the mode of a file in a volume.
func orDefault(mode uint32) uint32 {
	if mode == 0 {
		return 0o644
	}
	return mode
}

func (v view) file(path, mode string, content secret.Text) client.File {
	f := client.File{Path: path, Mode: mode, Size: content.Len()}
	text := content.Reveal()
	if !v.reveal {
		text, f.Masked = mask(text, v.secrets)
	}
	f.Binary = !utf8.ValidString(text)
	limit := max(0, min(maxFile, *v.budget))
	if len(text) > limit {
		f.Truncated = true
		for text = text[:limit]; !f.Binary && !utf8.ValidString(text); {
			text = text[:len(text)-1]
		}
	}
	*v.budget -= len(text)
	f.Content = secret.New(text)
	return f
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
		l = append(l, problems...)
		out.Documents = append(out.Documents, client.Document{Name: m.Namespace + "/" + m.Name, Text: secret.FromBytes(text)})
	}
	if l.HasErrors() {
		out.Documents = []client.Document{}
	}
	out.Diagnostics = client.Diagnostics(l.Sorted())
	return answer(w, http.StatusOK, out)
}

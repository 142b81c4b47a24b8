package api

import (
	"cmp"
	"errors"
	"net/http"
	"path/filepath"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/client"
)

// template returns the id of a template that a request names by its id or its name.
func (a *api) template(idOrName string) (string, error) {
	if idOrName == "" {
		return "", nil
	}
	t, err := a.daemon.Template(idOrName)
	var missing *daemon.NotFoundError
	if errors.As(err, &missing) {
		t, err = a.daemon.TemplateByName(idOrName)
	}
	return t.ID, err
}

func showTemplate(t daemon.Template) client.Template {
	return client.Template{ID: t.ID, Name: t.Name, Description: t.Description, Status: string(t.Status), Reason: t.Reason, Disk: t.Disk,
		Guest: cmp.Or(t.Defaults.Release, t.Defaults.OS), Login: t.Defaults.Login, Created: t.Created}
}

func each[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i, x := range in {
		out[i] = f(x)
	}
	return out
}

func (a *api) listTemplates(w http.ResponseWriter, _ *http.Request) error {
	return list(w, each(a.daemon.Templates(), showTemplate))
}

func (a *api) getTemplate(w http.ResponseWriter, r *http.Request) error {
	t, err := a.daemon.Template(r.PathValue("id"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, showTemplate(t))
}

func (a *api) removeTemplate(w http.ResponseWriter, r *http.Request) error {
	if err := a.daemon.RemoveTemplate(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return done(w)
}

func (a *api) listDomains(w http.ResponseWriter, _ *http.Request) error {
	return list(w, each(a.daemon.StorageDomains(), func(d daemon.StorageDomain) client.StorageDomain {
		return client.StorageDomain{ID: d.ID, Name: d.Name, Type: string(d.Type)}
	}))
}

func (a *api) listImages(w http.ResponseWriter, _ *http.Request) error {
	var out []client.Image
	for _, domain := range a.daemon.StorageDomains() {
		images, err := a.daemon.Images(domain.ID)
		if err != nil {
			return err
		}
		for _, x := range images {
			image := client.Image{ID: x.ID, Name: x.Name, Description: x.Description, Domain: domain.ID, File: filepath.Base(x.File), Format: x.Format,
				Size: x.Size, VirtualSize: x.VirtualSize}
			if !x.Outside {
				image.Path = x.File
			}
			if len(x.Problems) > 0 {
				image.Problems = client.Diagnostics(x.Problems)
			}
			out = append(out, image)
		}
	}
	return list(w, out)
}

func (a *api) importImage(w http.ResponseWriter, r *http.Request) error {
	var q client.ImportRequest
	if err := read(w, r, &q, false); err != nil {
		return err
	}
	if q.Image == "" {
		return bad("the member image is missing")
	}
	i, err := a.daemon.Import(r.Context(), daemon.ImportRequest{Image: q.Image, Target: cmp.Or(q.Target, "data"), AsTemplate: !q.Disk, Name: q.Name})
	if err != nil {
		return err
	}
	w.Header().Set("Location", client.Prefix+"/jobs/"+i.Job)
	return answer(w, http.StatusAccepted, client.Import{Job: i.Job, Template: i.Template, Disk: i.Disk})
}

func (a *api) listDisks(w http.ResponseWriter, _ *http.Request) error {
	return list(w, each(a.daemon.Disks(), func(d daemon.Disk) client.Disk {
		return client.Disk{ID: d.ID, Name: d.Name, Domain: d.Domain, Status: string(d.Status), Reason: d.Reason, Format: d.Format, Size: d.Size,
			Used: d.Used, Machine: d.Machine, Template: d.Template, Created: d.Created}
	}))
}

func (a *api) removeDisk(w http.ResponseWriter, r *http.Request) error {
	if err := a.daemon.RemoveDisk(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return done(w)
}

func showJob(j daemon.Job) client.Job {
	return client.Job{ID: j.ID, Description: j.Description, Status: string(j.Status), Error: j.Error, Object: j.Object, Started: j.Started, Ended: j.Ended}
}

func (a *api) listJobs(w http.ResponseWriter, _ *http.Request) error {
	return list(w, each(a.daemon.Jobs(), showJob))
}

func (a *api) getJob(w http.ResponseWriter, r *http.Request) error {
	j, err := a.daemon.Job(r.PathValue("id"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, showJob(j))
}

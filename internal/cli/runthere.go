package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/report"
)

// runHere are the flags of run for VMs of this host: what a daemon decides by itself, or has no way to take.
var runHere = []string{"pull", "volume", "seed", "delivery", "arch", "firmware", "tpm", "accel", "net", "ssh-port", "kernel", "initrd", "append", "dry-run"}

// runThere has a daemon keep a machine and start it, and follows it as if it ran here.
func (a *app) runThere(ctx context.Context, f *runFlags, args []string, failOn report.FailOn) error {
	t, r, err := a.request(ctx, &f.inputFlags, args)
	if err != nil {
		return err
	}
	memory, err := f.bytes()
	if err != nil {
		return err
	}
	r.Memory, r.CPUs = int64(memory), f.cpus
	p := a.progress(f.name)
	defer p.end()
	name, err := t.rehearse(ctx, r)
	if err != nil {
		return err
	}
	p.name = name
	if !f.replace {
		if err := t.vacant(ctx, name); err != nil {
			return err
		}
	}
	if f.image != "" {
		if err := t.image(ctx, f.image, &r.Settings, p); err != nil {
			return err
		}
	}
	if f.replace {
		// An old VM is not removed for one that cannot take its place, and the template has its say in that.
		if _, err := t.rehearse(ctx, r); err != nil {
			return err
		}
		old, err := t.client.Find(ctx, name)
		if err == nil {
			err = t.client.Remove(ctx, old.ID, true)
		}
		if err != nil && !client.IsNotFound(err) {
			return t.trouble(err)
		}
	}
	p.phase("boot", name)
	result, err := t.client.Create(ctx, client.CreateRequest{Documents: r.Documents, Settings: r.Settings, Start: true})
	if client.IsConflict(err) {
		return usagef(existing, err)
	}
	l, err := t.remarks(err)
	if err := errors.Join(err, a.failed(append(l, client.List(result.Diagnostics)...), false)); err != nil {
		return err
	}
	if len(result.Machines) != 1 {
		return &exitError{exitEnvironment, fmt.Errorf("the daemon made %d VMs of one", len(result.Machines))}
	}
	m := result.Machines[0]
	return a.follow(ctx, remoteVM{t, m.ID, supervisor.Plan{Namespace: m.Namespace, Name: m.Name, UUID: m.ID}}, p, f, failOn)
}

// existing adds to the error about a name that is taken what to do.
const existing = "%w; start it with vmseed start, or replace it with --replace"

// vacant holds that no VM has a name yet, before anything is fetched for one that cannot have it.
func (t there) vacant(ctx context.Context, name string) error {
	m, err := t.client.Find(ctx, name)
	switch {
	case client.IsNotFound(err):
		return nil
	case err != nil:
		return t.trouble(err)
	}
	return usagef(existing, fmt.Errorf("there is a VM called %s/%s already", m.Namespace, m.Name))
}

// rehearse holds that the documents make one machine that can be rendered, and returns its name. Warnings come again when
// it is made.
func (t there) rehearse(ctx context.Context, r client.RenderRequest) (string, error) {
	result, err := t.client.Render(ctx, r)
	l, err := t.remarks(err)
	if err != nil {
		return "", err
	}
	if l = append(l, client.List(result.Diagnostics)...); l.HasErrors() {
		return "", t.app.failed(l, false)
	}
	var have []string
	for _, s := range result.Seeds {
		have = append(have, s.Namespace+"/"+s.Name)
	}
	if len(have) != 1 {
		return "", usagef("run boots one machine, the input has %s; pick one with --name", strings.Join(have, ", "))
	}
	return have[0], nil
}

// image finds what a user calls an image: a template of the daemon, a file of its image repository, which is made a
// template then, or else what the daemon fetches by itself.
func (t there) image(ctx context.Context, name string, s *client.Settings, p *progress) error {
	templates, err := t.client.Templates(ctx)
	if err != nil {
		return t.trouble(err)
	}
	for _, x := range templates {
		if x.ID == name || x.Name == name {
			s.Template = x.ID
			return nil
		}
	}
	images, err := t.client.Images(ctx)
	if err != nil {
		return t.trouble(err)
	}
	for _, x := range images {
		if x.ID != name && x.Name != name && x.File != name {
			continue
		}
		p.phase("image", "importing "+x.Name)
		job, err := t.client.Import(ctx, client.ImportRequest{Image: x.ID, Name: x.Name})
		if err != nil {
			l, err := t.remarks(err)
			return errors.Join(err, t.app.failed(l, false))
		}
		s.Template = job.Template
		return t.finish(ctx, job.Job)
	}
	s.Image = name
	return nil
}

// jobPause is the time between looks at a job.
const jobPause = 300 * time.Millisecond

// finish waits for the end of a job.
func (t there) finish(ctx context.Context, id string) error {
	for {
		job, err := t.client.Job(ctx, id)
		switch {
		case err != nil:
			return t.trouble(err)
		case job.Status == "failed":
			return &exitError{exitEnvironment, fmt.Errorf("%s: %s", job.Description, job.Error)}
		case job.Status != "started":
			return nil
		}
		select {
		case <-time.After(jobPause):
		case <-ctx.Done():
			return interrupted()
		}
	}
}

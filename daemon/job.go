package daemon

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/daemon/store"
)

// JobStatus is how far a job is.
type JobStatus string

// The statuses of jobs, in oVirt's words (type JobStatus).
const (
	JobStarted  JobStatus = "started"
	JobFinished JobStatus = "finished"
	JobFailed   JobStatus = "failed"
)

// Job is something that goes on after the call which asked for it has returned.
type Job struct {
	ID          string    `json:"id"`
	Description string    `json:"description"`
	Status      JobStatus `json:"status"`
	// Object is the id of the VM, template or disk that it is about.
	Object  string    `json:"object"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Error is why it failed.
	Error       string `json:"error,omitempty"`
	Correlation string `json:"correlation,omitempty"`
}

// keptJobs is how many jobs are kept that have ended.
const keptJobs = 1000

func newJob(ctx context.Context, description, object string) Job {
	return Job{ID: newID(), Description: description, Status: JobStarted, Object: object, Started: time.Now().UTC(), Correlation: origin(ctx).Correlation}
}

// Jobs returns the jobs that are kept, newest first: all that have not ended, and the last ones that have.
func (d *Daemon) Jobs() []Job {
	d.mutex.RLock()
	out := slices.Collect(maps.Values(d.jobs))
	d.mutex.RUnlock()
	slices.SortFunc(out, func(a, b Job) int { return cmp.Or(b.Started.Compare(a.Started), strings.Compare(a.ID, b.ID)) })
	return out
}

// Job returns a job.
func (d *Daemon) Job(id string) (Job, error) {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	j, ok := d.jobs[strings.ToLower(id)]
	if !ok {
		return Job{}, &NotFoundError{Kind: "job", ID: id}
	}
	return j, nil
}

// forgetJobs removes the oldest jobs that have ended, once there are many more than are kept.
func (d *Daemon) forgetJobs(ctx context.Context) {
	d.mutex.RLock()
	enough := len(d.jobs) < keptJobs+keptJobs/10
	d.mutex.RUnlock()
	if enough {
		return
	}
	ended := slices.DeleteFunc(d.Jobs(), func(j Job) bool { return j.Status == JobStarted })
	var records []changer
	for _, j := range ended[min(len(ended), keptJobs):] {
		records = append(records, gone{Kind: store.Job, ID: j.ID})
	}
	if len(records) == 0 {
		return
	}
	_ = d.commit(ctx, nil, func() {
		for _, r := range records {
			d.keep(r)
		}
	}, records...)
}

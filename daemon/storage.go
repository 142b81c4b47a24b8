package daemon

import (
	"context"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// BlankTemplate is the id of the template Blank, which every daemon has.
const BlankTemplate = "00000000-0000-0000-0000-000000000000"

// ImageRepository is the name of the storage domain whose images can be imported.
const ImageRepository = "ovirt-image-repository"

// Place is an object that every daemon has and that has nothing but a name: the data centre and the cluster Default.
type Place struct {
	ID, Name, Description string
}

// DataCenter returns the only data centre.
func (d *Daemon) DataCenter() Place { return Place{} }

// Cluster returns the only cluster.
func (d *Daemon) Cluster() Place { return Place{} }

// DomainType says what a storage domain holds.
type DomainType string

// The types of storage domains, in oVirt's words (type StorageDomainType).
const (
	ImageDomain DomainType = "image"
	DataDomain  DomainType = "data"
)

// StorageDomain is a directory of this host.
type StorageDomain struct {
	ID, Name string
	Type     DomainType
	Dir      string
}

// StorageDomains returns the image repository and the data domains, by name.
func (d *Daemon) StorageDomains() []StorageDomain { return nil }

// StorageDomain finds one by its id or its name.
func (d *Daemon) StorageDomain(idOrName string) (StorageDomain, error) {
	return StorageDomain{}, errUnfinished
}

// Image is a file of the image repository.
type Image struct {
	// ID is made of domain and file name, so it is the same as long as the file has its name.
	ID string
	// Name is the one in the file's sidecar, else the file name.
	Name, Description string
	// File is its absolute path.
	File string
	// Format is raw or qcow2; Size the bytes of the file, VirtualSize those of the disk in it.
	Format            string
	Size, VirtualSize int64
	// Defaults are what the sidecar says about VMs that are made from it.
	Defaults Defaults
	// Problems are what is wrong with the sidecar or the image. With an error among them it cannot be imported.
	Problems diag.List
}

// Defaults are what VMs have whose documents do not say otherwise.
type Defaults struct {
	// OS, Release and IgnitionPlatform are those of machine.Guest; Login is the user whom people log in as.
	OS               string `json:"os,omitempty"`
	Release          string `json:"release,omitempty"`
	IgnitionPlatform string `json:"ignitionPlatform,omitempty"`
	Login            string `json:"login,omitempty"`
	// Boot is a kernel to start instead of the boot loader of the disk; its paths are absolute.
	Boot machine.Boot `json:"boot,omitzero"`
	// Memory, CPUs and Firmware are those of machine.Hardware.
	Memory   machine.Bytes `json:"memory,omitempty"`
	CPUs     int           `json:"cpus,omitempty"`
	Firmware string        `json:"firmware,omitempty"`
	// NICs is how many a VM has at least.
	NICs int `json:"nics,omitempty"`
}

// Images returns the images of a storage domain, by file name. Data domains have none.
func (d *Daemon) Images(domain string) ([]Image, error) { return nil, errUnfinished }

// TemplateStatus is how far a template is.
type TemplateStatus string

// The statuses of templates and disks, in oVirt's words (types TemplateStatus and DiskStatus).
const (
	Locked  TemplateStatus = "locked"
	OK      TemplateStatus = "ok"
	Illegal TemplateStatus = "illegal"
)

// Template is what VMs are made from.
type Template struct {
	ID, Name, Description string
	Status                TemplateStatus
	// Reason is why it is illegal.
	Reason string
	// Documents belong to the API that made the template; the daemon keeps them and does not read them.
	Documents []Document
	// Disk is the id of the disk on which those of its VMs are overlays; Blank has none.
	Disk     string
	Defaults Defaults
	Created  time.Time
}

// Templates returns the templates: Blank, then the others in the order of their creation.
func (d *Daemon) Templates() []Template { return nil }

// Template finds one by its id.
func (d *Daemon) Template(id string) (Template, error) { return Template{}, errUnfinished }

// TemplateByName finds one by its name, in any case of its letters.
func (d *Daemon) TemplateByName(name string) (Template, error) { return Template{}, errUnfinished }

// UpdateTemplate changes a template's name, description and documents. Blank does not change.
func (d *Daemon) UpdateTemplate(ctx context.Context, id string, change func(*Template) error) (Template, error) {
	return Template{}, errUnfinished
}

// RemoveTemplate removes a template and its disk. One that VMs are made from is a *ConflictError.
func (d *Daemon) RemoveTemplate(ctx context.Context, id string) error { return errUnfinished }

// Disk is a disk image that the daemon made.
type Disk struct {
	ID, Name string
	// Domain is the id of the storage domain where it is; File its path.
	Domain, File string
	Status       TemplateStatus
	// Reason is why it is illegal.
	Reason string
	// Format is qcow2; Base the file that it is an overlay on.
	Format, Base string
	// Size is the one that the guest sees; Used is what the file takes.
	Size, Used int64
	// Machine or Template is the id of the one that it belongs to; both are empty for a disk of its own.
	Machine, Template string
	Created           time.Time
}

// Disks returns the disks in the order of their creation.
func (d *Daemon) Disks() []Disk { return nil }

// Disk returns a disk.
func (d *Daemon) Disk(id string) (Disk, error) { return Disk{}, errUnfinished }

// RemoveDisk removes a disk that belongs to nothing; one that something needs is a *ConflictError.
func (d *Daemon) RemoveDisk(ctx context.Context, id string) error { return errUnfinished }

// ImportRequest asks for an image to be made a template or a disk.
type ImportRequest struct {
	// Image is the id of an image, Target the id or name of the data domain that the disk goes to.
	Image, Target string
	// AsTemplate makes a template of it.
	AsTemplate bool
	// Name is that of the template or the disk. Empty means GlanceTemplate- or GlanceDisk- and some letters, as oVirt has it.
	Name string
	// Documents are the template's.
	Documents []Document
}

// Import is an import that is under way: template (if one was asked for) and disk are there, and locked until the job ends.
type Import struct {
	Job, Template, Disk string
}

// Import makes an image a template or a disk: an overlay on the image's file, which is not copied and must stay. It returns at
// once; the import goes on over a crash of the daemon.
func (d *Daemon) Import(ctx context.Context, r ImportRequest) (Import, error) {
	return Import{}, errUnfinished
}

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

// Jobs returns the jobs that are kept, newest first: all that have not ended, and the last ones that have.
func (d *Daemon) Jobs() []Job { return nil }

// Job returns a job.
func (d *Daemon) Job(id string) (Job, error) { return Job{}, errUnfinished }

package client

import (
	"encoding/json"
	"time"

	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
)

// Machine is a VM of the daemon.
type Machine struct {
	// ID is the VM's UUID.
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Status is one of oVirt's words: image_locked, down, wait_for_launch, powering_up, up, paused, powering_down,
	// reboot_in_progress, not_responding. Reason is why, where that is worth a sentence.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Template is the id of the template that the VM was made from, Disks those of its disks.
	Template string   `json:"template,omitempty"`
	Disks    []string `json:"disks,omitempty"`
	// Delivery is how the guest gets its seed, where that is not auto.
	Delivery string    `json:"delivery,omitempty"`
	Created  time.Time `json:"created"`
	// Started and Ended are when the last run began and ended.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Initialized means that a first boot ended with the guest's own word, which is FirstBoot.
	Initialized bool       `json:"initialized"`
	FirstBoot   *FirstBoot `json:"firstBoot,omitempty"`
	// FirstBootRunning means that the current run sets its guest up, whatever Initialized says of before.
	FirstBootRunning bool `json:"firstBootRunning,omitempty"`
	// PostedPassword is what the guest has posted to OpenStack's metadata service: its administrator's password, encrypted
	// with the machine's first SSH key, in base64.
	PostedPassword string `json:"postedPassword,omitempty"`
	// Addresses are the IP addresses that the running guest has reported.
	Addresses []string `json:"addresses,omitempty"`
	// Progress is the last thing that the guest said, while it boots.
	Progress *Progress `json:"progress,omitempty"`
	// SSHPort is a port of 127.0.0.1 on the daemon's host.
	SSHPort int `json:"sshPort,omitempty"`
	// Login is the user whom people log in as, by what the guest was set up with the last time or else by the documents, where
	// these or the template tell.
	Login string `json:"login,omitempty"`
	// RunOnce means that this run has documents of its own.
	RunOnce bool `json:"runOnce,omitempty"`
	// Revision changes with the definition and its settings, and with nothing else; it is the machine's entity tag as well.
	Revision string `json:"revision"`
	// Generation counts how often first boot was asked to run again.
	Generation int `json:"generation,omitempty"`
	// Jobs are the ids of jobs about the VM that have not ended.
	Jobs []string `json:"jobs,omitempty"`
}

// Progress is how far a boot is.
type Progress struct {
	Stage  report.Stage `json:"stage"`
	Module string       `json:"module,omitempty"`
	Time   time.Time    `json:"time"`
}

// FirstBoot is the guest's final word on a first boot, and the verdict on it.
type FirstBoot struct {
	report.Event
	// OK is false for a failure, for the Reasons.
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons,omitempty"`
}

// Document is a file with a definition, or a part of one.
type Document struct {
	// Name is what diagnostics call it.
	Name string
	// Role is what a plain file is for: user-data, meta-data, vendor-data or network-config. Empty means that the content
	// tells.
	Role string
	// Text is the document, which may hold secrets.
	Text secret.Text
}

// wireDocument is how a Document travels: there its text is meant to be read.
type wireDocument struct {
	Name string `json:"name,omitempty"`
	Role string `json:"role,omitempty"`
	Text string `json:"text"`
}

// MarshalJSON writes the document with its text.
func (d Document) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireDocument{d.Name, d.Role, d.Text.Reveal()})
}

// UnmarshalJSON reads a document.
func (d *Document) UnmarshalJSON(data []byte) error {
	var w wireDocument
	err := json.Unmarshal(data, &w)
	*d = Document{Name: w.Name, Role: w.Role, Text: secret.New(w.Text)}
	return err
}

// Filter picks machines. Empty fields pick all.
type Filter struct {
	Namespace, Name, Status string
	// Text is looked for in names, addresses and ids, in any case of its letters.
	Text string
	// Limit bounds the answer, After is the id of the machine that it begins behind.
	Limit int
	After string
}

// Settings are what a request states beside the documents. Empty fields leave it to them.
type Settings struct {
	// Pick is the [NAMESPACE/]NAME of the machine to take when the documents hold several.
	Pick string `json:"pick,omitempty"`
	// Namespace and Name are the machine's.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Template is the id or the name of the template to make the machine from.
	Template string `json:"template,omitempty"`
	// Image is the guest image of the root disk, on the daemon's host or as URL: as image of the native form.
	Image string `json:"image,omitempty"`
	// DataSource and IgnitionPlatform are what the image's agent reads.
	DataSource       string `json:"dataSource,omitempty"`
	IgnitionPlatform string `json:"ignitionPlatform,omitempty"`
	// Guest is the release that reads the seed, such as debian-12.
	Guest string `json:"guest,omitempty"`
	// Memory is in bytes.
	Memory int64 `json:"memory,omitempty"`
	CPUs   int   `json:"cpus,omitempty"`
	// Delivery is how the guest gets its seed: one of Version.Deliveries. Empty means auto.
	Delivery string `json:"delivery,omitempty"`
}

// CreateRequest asks for machines.
type CreateRequest struct {
	Documents []Document `json:"documents"`
	Settings
	// ID is the UUID that the machine gets; it is for documents with one machine.
	ID string `json:"id,omitempty"`
	// Start starts them.
	Start bool `json:"start,omitempty"`
}

// CreateResult is what became of a CreateRequest.
type CreateResult struct {
	Machines    []Machine    `json:"machines"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// UpdateRequest changes a machine for its next start. Absent members stay as they are.
type UpdateRequest struct {
	Name      string     `json:"name,omitempty"`
	Documents []Document `json:"documents,omitempty"`
	Delivery  string     `json:"delivery,omitempty"`
	// Revision is the one that the change was made of, when nothing else is to be changed; see IsStale. It travels as If-Match.
	Revision string `json:"-"`
}

// StartRequest starts a machine.
type StartRequest struct {
	// Documents are the whole definition for this run alone.
	Documents []Document `json:"documents,omitempty"`
	// Initialize means that documents whose first-boot data differ from what the guest took last run first boot again.
	Initialize bool `json:"initialize,omitempty"`
	// NewGeneration runs first boot again in any case.
	NewGeneration bool `json:"newGeneration,omitempty"`
	// NoSeed starts without a seed.
	NoSeed bool `json:"noSeed,omitempty"`
	// Volatile ends the run-once with a reboot.
	Volatile bool `json:"volatile,omitempty"`
	// Delivery is how the guest of this run gets its seed; empty means the machine's way.
	Delivery string `json:"delivery,omitempty"`
}

// GraceRequest is the body of shutdown and reboot.
type GraceRequest struct {
	// Grace is how many seconds the guest may take before it is cut off; 0 means as long as it likes.
	Grace float64 `json:"grace,omitempty"`
}

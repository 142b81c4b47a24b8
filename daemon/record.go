package daemon

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/vmseed/vmseed/daemon/store"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
)

// The records of the store. They are JSON of types of their own, because a secret.Text has no encoded form: here is the place
// where documents are written out, into a store that seals them.

type documentRecord struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func toRecords(documents []Document) []documentRecord {
	var out []documentRecord
	for _, d := range documents {
		out = append(out, documentRecord{Name: d.Name, Text: d.Text.Reveal()})
	}
	return out
}

func fromRecords(records []documentRecord) []Document {
	var out []Document
	for _, r := range records {
		out = append(out, Document{Name: r.Name, Text: secret.New(r.Text)})
	}
	return out
}

// machineRecord is a VM and its run.
type machineRecord struct {
	ID                 string           `json:"id"`
	Namespace          string           `json:"namespace"`
	Name               string           `json:"name"`
	Documents          []documentRecord `json:"documents"`
	FirstBootDocuments []documentRecord `json:"firstBootDocuments,omitempty"`
	Template           string           `json:"template,omitempty"`
	Delivery           string           `json:"delivery,omitempty"`
	Disks              []string         `json:"disks,omitempty"`
	Created            time.Time        `json:"created"`
	Status             Status           `json:"status"`
	Reason             string           `json:"reason,omitempty"`
	Initialized        bool             `json:"initialized,omitempty"`
	FirstBoot          *report.Event    `json:"firstBoot,omitempty"`
	Started            time.Time        `json:"started,omitzero"`
	Ended              time.Time        `json:"ended,omitzero"`
	PostedPassword     string           `json:"postedPassword,omitempty"`
	RunOnce            bool             `json:"runOnce,omitempty"`
	RunDocuments       []documentRecord `json:"runDocuments,omitempty"`
	StartedDocuments   []documentRecord `json:"startedDocuments,omitempty"`
	NextRun            bool             `json:"nextRun,omitempty"`
	Login              string           `json:"login,omitempty"`
	Revision           int              `json:"revision,omitempty"`
	Generation         int              `json:"generation,omitempty"`
	Jobs               []string         `json:"jobs,omitempty"`
	Run                run              `json:"run,omitzero"`
	Said               said             `json:"said,omitzero"`
}

// run is what the daemon must know of a VM's current or last run, beyond what it shows.
type run struct {
	// Sequence is the number of the last event of the supervisor that was taken in.
	Sequence int `json:"sequence,omitempty"`
	// Told counts the events that the guest caused; a guest that never stops talking is not listened to for ever.
	Told int `json:"told,omitempty"`
	// Seeded means that the run has a seed, so that the guest is expected to say how its boot went.
	Seeded bool `json:"seeded,omitempty"`
	// AnswerFile means that the run has no seed because the guest is told by media of its own, such as an answer file. Then the
	// guest agent's answer is all the word that there is on its first boot.
	AnswerFile bool `json:"answerFile,omitempty"`
	// FirstBoot means that the run was started for one.
	FirstBoot bool `json:"firstBoot,omitempty"`
	// Ready means that the guest said so, or that nobody waits for it any more.
	Ready bool `json:"ready,omitempty"`
	// Greeted means that the guest agent has answered.
	Greeted bool `json:"greeted,omitempty"`
	// Stage is the last stage that the guest reported.
	Stage report.Stage `json:"stage,omitempty"`
	// Addresses are those that the guest reported of this run.
	Addresses []string `json:"addresses,omitempty"`
	// Content is the keyed hash of the first-boot content that the VM's generation was started with.
	Content string `json:"content,omitempty"`
	// Before is what the VM was set up with until now, while it is not known that the guest of this run came to run.
	Before *setup `json:"before,omitempty"`
	// Volatile and Again are for Reboot: whether the run-once ends with it, and that the VM shall be started again.
	Volatile bool `json:"volatile,omitempty"`
	Again    bool `json:"again,omitempty"`
	// Delivery is how the guest of this run got its seed, where that was asked for the run.
	Delivery string `json:"delivery,omitempty"`
	// Kept means that there is a copy of what the guest of this run was given or, while there is a Before, that of the last one.
	Kept bool `json:"kept,omitempty"`
	// Grace is how long a guest may take that was asked to shut down; 0 means that it is not asked.
	Grace time.Duration `json:"grace,omitempty"`
	// Removing means that Remove has begun; KeepDisks is its option.
	Removing  bool `json:"removing,omitempty"`
	KeepDisks bool `json:"keepDisks,omitempty"`
}

// said are the remarks that a VM's documents got the last time, by the texts of their events: those of the definition when it
// was taken in, and those of the last start. What was said is not said again.
type said struct {
	Definition []string `json:"definition,omitempty"`
	Start      []string `json:"start,omitempty"`
}

// setup is the generation of a VM's first boot, and the Content and the Login that it stands for.
type setup struct {
	Generation int    `json:"generation"`
	Content    string `json:"content"`
	Login      string `json:"login,omitempty"`
}

// state is a VM as it is at one moment. A state that was published is never written to.
type state struct {
	Machine
	run  run
	said said
	// started are the documents that the current run was started with, when the VM's have been changed since: what its guest
	// was given is still attached, and what is secret in it is told by them.
	started []Document
}

// change makes the change of the store that writes the state.
func (s *state) change() (store.Change, error) {
	m := s.Machine
	text, err := json.Marshal(machineRecord{ID: m.ID, Namespace: m.Namespace, Name: m.Name, Documents: toRecords(m.Documents),
		FirstBootDocuments: toRecords(m.FirstBootDocuments), Template: m.Template, Delivery: m.Delivery, Disks: m.Disks, Created: m.Created, Status: m.Status,
		Reason: m.Reason, Initialized: m.Initialized, FirstBoot: m.FirstBoot, Started: m.Started, Ended: m.Ended, RunOnce: m.RunOnce,
		PostedPassword: m.PostedPassword, RunDocuments: toRecords(m.RunDocuments), StartedDocuments: toRecords(s.started), NextRun: m.NextRun, Login: m.Login, Revision: m.Revision,
		Generation: m.Generation, Jobs: m.Jobs, Run: s.run, Said: s.said})
	return store.Change{Kind: store.VM, ID: m.ID, Value: text}, err
}

func readState(text []byte) (*state, error) {
	var r machineRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("a machine of the store: %w", err)
	}
	return &state{run: r.Run, said: r.Said, started: fromRecords(r.StartedDocuments), Machine: Machine{ID: r.ID, Namespace: r.Namespace, Name: r.Name, Documents: fromRecords(r.Documents),
		FirstBootDocuments: fromRecords(r.FirstBootDocuments), Template: r.Template, Delivery: r.Delivery, Disks: r.Disks, Created: r.Created, Status: r.Status,
		Reason: r.Reason, Initialized: r.Initialized, FirstBoot: r.FirstBoot, Started: r.Started, Ended: r.Ended, RunOnce: r.RunOnce,
		PostedPassword: r.PostedPassword, RunDocuments: fromRecords(r.RunDocuments), NextRun: r.NextRun, Login: r.Login, Revision: r.Revision,
		Generation: r.Generation, Jobs: r.Jobs}}, nil
}

type templateRecord struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Status      TemplateStatus   `json:"status"`
	Reason      string           `json:"reason,omitempty"`
	Documents   []documentRecord `json:"documents,omitempty"`
	Disk        string           `json:"disk,omitempty"`
	Defaults    Defaults         `json:"defaults,omitzero"`
	Created     time.Time        `json:"created"`
}

func (t Template) change() (store.Change, error) {
	text, err := json.Marshal(templateRecord{ID: t.ID, Name: t.Name, Description: t.Description, Status: t.Status, Reason: t.Reason,
		Documents: toRecords(t.Documents), Disk: t.Disk, Defaults: t.Defaults, Created: t.Created})
	return store.Change{Kind: store.Template, ID: t.ID, Value: text}, err
}

func readTemplate(text []byte) (Template, error) {
	var r templateRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return Template{}, fmt.Errorf("a template of the store: %w", err)
	}
	return Template{ID: r.ID, Name: r.Name, Description: r.Description, Status: r.Status, Reason: r.Reason, Documents: fromRecords(r.Documents),
		Disk: r.Disk, Defaults: r.Defaults, Created: r.Created}, nil
}

// diskRecord is a disk; Source is the format of its base.
type diskRecord struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	Domain     string         `json:"domain"`
	File       string         `json:"file"`
	Status     TemplateStatus `json:"status"`
	Reason     string         `json:"reason,omitempty"`
	Base       string         `json:"base"`
	BaseFormat string         `json:"baseFormat"`
	Size       int64          `json:"size"`
	Machine    string         `json:"machine,omitempty"`
	Template   string         `json:"template,omitempty"`
	Created    time.Time      `json:"created"`
	// Removing means that its file is being removed.
	Removing bool `json:"removing,omitempty"`
}

func (d diskRecord) change() (store.Change, error) {
	text, err := json.Marshal(d)
	return store.Change{Kind: store.Disk, ID: d.ID, Value: text}, err
}

func (j Job) change() (store.Change, error) {
	text, err := json.Marshal(j)
	return store.Change{Kind: store.Job, ID: j.ID, Value: text}, err
}

package client

import (
	"time"

	"github.com/vmseed/vmseed/report"
)

// Template is what machines are made from.
type Template struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Status is locked, ok or illegal, for the Reason.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Disk is the id of the disk on which those of its machines are overlays.
	Disk    string    `json:"disk,omitempty"`
	Guest   string    `json:"guest,omitempty"`
	Login   string    `json:"login,omitempty"`
	Created time.Time `json:"created,omitzero"`
}

// Disk is a disk image that the daemon made.
type Disk struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain string `json:"domain"`
	// Status is locked, ok or illegal, for the Reason.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	Format string `json:"format"`
	// Size is the one that the guest sees, Used what the file takes, both in bytes.
	Size int64 `json:"size"`
	Used int64 `json:"used"`
	// Machine or Template is the id of its owner.
	Machine  string    `json:"machine,omitempty"`
	Template string    `json:"template,omitempty"`
	Created  time.Time `json:"created,omitzero"`
}

// StorageDomain is a directory of the daemon's host.
type StorageDomain struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Type is image or data.
	Type string `json:"type"`
}

// Image is a file that can be imported.
type Image struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Domain is the id of the storage domain.
	Domain string `json:"domain"`
	// File is the name of the file in the domain's directory, Path the whole path on the daemon's host, for documents. There is no
	// Path of a link that leads out of the domain: it can be imported only.
	File   string `json:"file"`
	Path   string `json:"path,omitempty"`
	Format string `json:"format"`
	// Size is that of the file, VirtualSize that of the disk in it, both in bytes.
	Size        int64        `json:"size"`
	VirtualSize int64        `json:"virtualSize,omitempty"`
	Problems    []Diagnostic `json:"problems,omitempty"`
}

// ImportRequest makes an image a template, or a disk.
type ImportRequest struct {
	// Image is the id of the image, Target the id or name of the data domain that the disk goes to; empty means data.
	Image  string `json:"image"`
	Target string `json:"target,omitempty"`
	// Disk makes a disk instead of a template.
	Disk bool   `json:"disk,omitempty"`
	Name string `json:"name,omitempty"`
}

// Import is an import that goes on: what it makes is locked until the job ends.
type Import struct {
	Job      string `json:"job"`
	Template string `json:"template,omitempty"`
	Disk     string `json:"disk"`
}

// Job is something that goes on after the request that asked for it.
type Job struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	// Status is started, finished or failed, for the reason in Error.
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
	// Object is the id of what the job is about.
	Object  string    `json:"object,omitempty"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
}

// Event is something that happened.
type Event struct {
	// ID counts the events from 1.
	ID   uint64    `json:"id"`
	Time time.Time `json:"time"`
	// Kind is one of machine.added, machine.changed, machine.removed, machine.status, machine.report, machine.note,
	// template.added, template.changed, template.removed, disk.added, disk.removed and daemon.note.
	Kind string `json:"kind"`
	// Severity is normal, warning or error.
	Severity string `json:"severity"`
	// Object is the id of the machine, template or disk, Name its name at that time.
	Object string `json:"object,omitempty"`
	Name   string `json:"name,omitempty"`
	Text   string `json:"text"`
	// Status is the machine's new one.
	Status string `json:"status,omitempty"`
	// Report is what the guest said.
	Report *report.Event `json:"report,omitempty"`
	// Code and Place are those of a diagnostic.
	Code  string `json:"code,omitempty"`
	Place string `json:"place,omitempty"`
	// Actor is who asked for it, Correlation what the asker called the request.
	Actor       string `json:"actor,omitempty"`
	Correlation string `json:"correlation,omitempty"`
}

// Version is what runs there.
type Version struct {
	// Version is that of the daemon, API that of its API.
	Version string `json:"version"`
	API     string `json:"api"`
	// Deliveries are how guests of the daemon can get their seeds.
	Deliveries []string `json:"deliveries"`
	// Forms can be read, Targets be converted to.
	Forms       []string `json:"forms"`
	Targets     []string `json:"targets"`
	DataSources []string `json:"dataSources"`
}

// Session is a login.
type Session struct {
	User string `json:"user"`
	// Idle is when it ends if nobody uses it, Expires when it ends in any case.
	Idle    time.Time `json:"idle"`
	Expires time.Time `json:"expires"`
}

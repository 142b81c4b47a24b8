// Package report carries the guest's own word about its first boot: which stage runs, what failed, and that it is done.
//
// The guest speaks through a virtio-serial port, so it needs no network: Reporter makes the part of the seed that does
// so. Where there is no such part, Console reads the same off the serial console, as far as it shows there. Judge says
// whether a first boot is a success.
package report

import "time"

// Stage is how far the first boot of a guest has come.
type Stage string

// The stages of a first boot, in order. Done and Failed are final.
const (
	Booting Stage = "booting"
	Local   Stage = "init-local"
	Init    Stage = "init-network"
	Config  Stage = "modules-config"
	Final   Stage = "modules-final"
	Done    Stage = "done"
	Failed  Stage = "failed"
)

// Ended reports whether the stage is a final one.
func (s Stage) Ended() bool { return s == Done || s == Failed }

// Source is where an event is from.
type Source string

// The sources of events.
const (
	// Agent is the reporter inside the guest.
	Agent Source = "agent"
	// HTTP is what the guest posts to its URL: cloud-init's own events, or the check-in of a guest of Ignition.
	HTTP Source = "http"
	// Systemd is what the guest's systemd tells its hypervisor.
	Systemd Source = "systemd"
	// SerialConsole is what the guest's console shows, which is less: errors are seen only where they are printed.
	SerialConsole Source = "console"
)

// Event is one thing that the guest said.
type Event struct {
	// Machine is namespace/name.
	Machine string `json:"machine"`
	// Source is where the event is from.
	Source Source    `json:"source,omitempty"`
	Stage  Stage     `json:"stage"`
	Module string    `json:"module,omitempty"`
	Error  string    `json:"error,omitempty"`
	Time   time.Time `json:"time"`
	// Boot identifies the boot of the guest that the event belongs to: the kernel's boot id.
	Boot string `json:"boot,omitempty"`
	// Modules are the parts of stages that have ended since the event before, in the order of their ends.
	Modules []Module `json:"modules,omitempty"`
	// Uptime is for how many seconds the guest's kernel had run when it said this; 0 means that it does not say.
	Uptime float64 `json:"uptime,omitempty"`
	// Result is the guest's final word, with the event of a final stage only.
	Result *Result `json:"result,omitempty"`
}

// Module is a part of a stage of cloud-init that has ended: one of its modules, or something else that the stage does, such as
// search-NoCloud.
type Module struct {
	Stage Stage  `json:"stage"`
	Name  string `json:"module"`
	// Start is when it began, in seconds since the start of the guest's kernel; Seconds is how long it took.
	Start   float64 `json:"start"`
	Seconds float64 `json:"seconds"`
	Outcome Outcome `json:"outcome"`
}

// Result is how the first boot ended.
type Result struct {
	// Instance is the instance id that the guest's agent works for.
	Instance string `json:"instance,omitempty"`
	// FirstBoot is false when the guest booted again and had nothing to set up.
	FirstBoot bool `json:"firstBoot"`
	// DataSource is what the guest's agent calls the data source that it used.
	DataSource string `json:"dataSource,omitempty"`
	Agent      string `json:"agent,omitempty"`
	Hostname   string `json:"hostname,omitempty"`
	// Errors stopped a stage; Warnings are recoverable errors, which a user asked for something that was not done
	// mostly means; Deprecations are harmless.
	Errors       []string `json:"errors,omitempty"`
	Warnings     []string `json:"warnings,omitempty"`
	Deprecations []string `json:"deprecations,omitempty"`
	// HostKeys are the guest's public SSH host keys.
	HostKeys []string `json:"hostKeys,omitempty"`
	// Addresses are the guest's IP addresses.
	Addresses []string `json:"addresses,omitempty"`
	// Mounts are the guest's mounted block devices and shares.
	Mounts []Mount `json:"mounts,omitempty"`
	// Seconds is how long each stage took.
	Seconds map[Stage]float64 `json:"seconds,omitempty"`
}

// Mount is a mounted file system of the guest.
type Mount struct {
	Device string `json:"device"`
	Path   string `json:"path"`
	Type   string `json:"type"`
}

// Package report carries the guest's own word about its first boot: which stage runs, what failed, and that it is done.
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

// Event is one thing that the guest said.
type Event struct {
	// Machine is namespace/name.
	Machine string    `json:"machine"`
	Stage   Stage     `json:"stage"`
	Module  string    `json:"module,omitempty"`
	Error   string    `json:"error,omitempty"`
	Time    time.Time `json:"time"`
	// Result is the guest's final word, with the event of a final stage only.
	Result *Result `json:"result,omitempty"`
}

// Result is how the first boot ended.
type Result struct {
	// DataSource is what the guest's agent calls the data source that it used.
	DataSource string `json:"dataSource,omitempty"`
	Agent      string `json:"agent,omitempty"`
	// Errors stopped a stage; Warnings are recoverable errors, which a user asked for something that was not done
	// mostly means; Deprecations are harmless.
	Errors       []string `json:"errors,omitempty"`
	Warnings     []string `json:"warnings,omitempty"`
	Deprecations []string `json:"deprecations,omitempty"`
	// HostKeys are the guest's public SSH host keys.
	HostKeys []string `json:"hostKeys,omitempty"`
	// Addresses are the guest's IP addresses.
	Addresses []string `json:"addresses,omitempty"`
	// Seconds is how long each stage took.
	Seconds map[Stage]float64 `json:"seconds,omitempty"`
}

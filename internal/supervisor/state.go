package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/report"
)

// Status is what a VM is doing.
type Status string

// The statuses. Stopped and Failed are those of a VM that does not run: the first ended as asked by its guest or its
// user, the second did not.
const (
	Created  Status = "created"
	Starting Status = "starting"
	Running  Status = "running"
	Paused   Status = "paused"
	Stopped  Status = "stopped"
	Failed   Status = "failed"
)

// Alive reports whether QEMU should be running.
func (s Status) Alive() bool { return s == Starting || s == Running || s == Paused }

// State is what is known of a VM.
type State struct {
	Status Status `json:"status"`
	// Reason says why the VM ended, or what is wrong.
	Reason string `json:"reason,omitempty"`
	// Accel is the accelerator that the VM runs on.
	Accel string `json:"accel,omitempty"`
	// PID is QEMU's, Supervisor that of its supervisor.
	PID        int `json:"pid,omitempty"`
	Supervisor int `json:"supervisor,omitempty"`
	// SSHPort is the port on 127.0.0.1 that leads to the guest's SSH server; 0 means that there is none.
	SSHPort int        `json:"sshPort,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
	// FirstBoot is the guest's last final word on its first boot.
	FirstBoot *report.Event `json:"firstBoot,omitempty"`
	// Credentials is how far those have come that the guest agent sets; nil means that there are none.
	Credentials *Condition `json:"credentials,omitempty"`
	// CID is the guest's number among the machines that speak by virtio sockets; 0 means that it has none.
	CID uint32 `json:"cid,omitempty"`
	// Password is what the guest has posted to OpenStack's metadata service; nil means that there is none.
	Password *Password `json:"password,omitempty"`
}

// Password is the password of the guest's administrator as cloudbase-init posts it: encrypted with the machine's first
// SSH key, in base64.
type Password struct {
	// Instance is the instance id of the guest that posted it; of a daemon's VM it is that which the VM has.
	Instance  string `json:"instance,omitempty"`
	Encrypted string `json:"encrypted"`
}

// Condition is whether something that was asked for is so.
type Condition struct {
	// Type is the name of the condition, such as AccessCredentialsSynchronized.
	Type   string `json:"type"`
	Status bool   `json:"status"`
	// Message says why it is not so.
	Message string `json:"message,omitempty"`
}

// loadState reads the state in a VM's directory. A VM that was never started has none.
func loadState(dir string) (State, error) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return State{Status: Created}, nil
	}
	if err != nil {
		return State{}, err
	}
	var s State
	if err := json.Unmarshal(text, &s); err != nil {
		return State{}, fmt.Errorf("%s: %w", filepath.Join(dir, stateFile), err)
	}
	return s, nil
}

func (s State) save(dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(dir, stateFile), append(text, '\n'))
}

// Event is one thing that happened to a VM. Exactly one of Status, Note, Report and Condition is set.
type Event struct {
	// Sequence counts the events of a VM from 1.
	Sequence int       `json:"seq"`
	Time     time.Time `json:"time"`
	// Status is a new status, with the reason.
	Status Status `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Note is something that a user should know, such as the change to another accelerator.
	Note      string        `json:"note,omitempty"`
	Report    *report.Event `json:"report,omitempty"`
	Condition *Condition    `json:"condition,omitempty"`
	// Password is what the guest has posted, beside a Note that says so.
	Password *Password `json:"password,omitempty"`
}

package supervisor

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/vmnet"
)

// Names of files in a VM's state directory. QEMU runs with that directory as its own and makes the sockets by their bare
// names, because the path of a Unix socket must be short.
const (
	planFile  = "plan.json"
	stateFile = "state.json"
	eventFile = "events.jsonl"
	lockFile  = "lock"
	// SerialLog is what the guest wrote to its serial console; the older part is in SerialLog + ".1".
	SerialLog = "serial.log"
	// QEMULog is what QEMU itself said, SupervisorLog what the supervisor did.
	QEMULog       = "qemu.log"
	SupervisorLog = "supervisor.log"
	// The sockets that QEMU listens on.
	MonitorSocket = "qmp.sock"
	SerialSocket  = "serial.sock"
	ReportSocket  = "report.sock"
	// AgentSocket is that of the port on which the guest's QEMU guest agent listens.
	AgentSocket = "agent.sock"
	// TPMSocket is that of the helper which emulates the TPM.
	TPMSocket = "tpm.sock"
	// controlSocket is the supervisor's own.
	controlSocket = "control.sock"
	// reportKeyFile is the key of the URLs at which the guest reports by HTTP; intakeFile is how far it has come there.
	reportKeyFile = "report.key"
	intakeFile    = "intake.json"
)

// The versions of plans. There is a new one when an older supervisor could not carry out a plan, and a plan has the
// lowest that does: an older supervisor leaves the guest of a servedPlan without its metadata service, and starts none of a
// tappedPlan.
const (
	planVersion = 1
	servedPlan  = 2
	tappedPlan  = 3
)

// Plan is everything that is needed to start a VM and to find it again. It holds no secret: those are in files of mode
// 0600 that the arguments name.
type Plan struct {
	Version   int    `json:"version"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UUID      string `json:"uuid"`
	// Detached lets QEMU outlive its supervisor.
	Detached bool `json:"detached"`
	// Program is QEMU; Attempts are tried in order until the guest makes progress.
	Program  string    `json:"program"`
	Attempts []Attempt `json:"attempts"`
	Helpers  []Helper  `json:"helpers,omitempty"`
	// NICs are those whose network the supervisor provides.
	NICs []NIC `json:"nics,omitempty"`
	// Taps are those that are plugged into tap devices of the host.
	Taps []Tap `json:"taps,omitempty"`
	SSH  SSH   `json:"ssh"`
	// Metadata is what the guest fetches by HTTP; nil means nothing.
	Metadata *Metadata `json:"metadata,omitempty"`
	// LinksDown are the devices whose cable is not plugged in.
	LinksDown []string `json:"linksDown,omitempty"`
	// Silence is how long a guest may go without a sign of life while there is another attempt; 0 means a minute.
	Silence time.Duration `json:"silence,omitempty"`
	// Fresh are files that are removed before each start, because their contents belong to one run.
	Fresh []string `json:"fresh,omitempty"`
	// Once are arguments of the guest's kernel that are for its first boot alone. When the guest says that it went well,
	// they are taken out of the plan, and later starts go without.
	Once []string `json:"once,omitempty"`
	// Notify gives the guest's systemd a channel to report on, where the host can.
	Notify bool `json:"notify,omitempty"`
	// Plain means that systemd sets the guest up by itself, from credentials, so nothing else is waited for.
	Plain bool `json:"plain,omitempty"`
	// Login is the guest's user whom people log in as; it is empty when that is not known.
	Login string `json:"login,omitempty"`
	// StopGrace is how long the definition lets the guest take to shut down; 0 means that it does not say.
	StopGrace time.Duration `json:"stopGrace,omitempty"`
}

// Attempt is one way to start QEMU.
type Attempt struct {
	Accel string   `json:"accel"`
	Args  []string `json:"args"`
}

// Helper is a program that QEMU needs beside it. It is started first and ends when QEMU does.
type Helper struct {
	Name    string   `json:"name"`
	Program string   `json:"program"`
	Args    []string `json:"args"`
	// Socket appears when the helper is ready.
	Socket string `json:"socket"`
}

// NIC is a network interface with a network in the supervisor.
type NIC struct {
	Name   string `json:"name"`
	Socket string `json:"socket"`
	// Network is what the guest finds there.
	Network vmnet.Config `json:"network"`
}

// Metadata is what the supervisor serves to its guest by HTTP, on the networks of all NICs.
type Metadata struct {
	// File holds the answers. delivery/metadata wrote it.
	File string `json:"file"`
	// Listen is the address, inside the guest's networks.
	Listen netip.AddrPort `json:"listen"`
	// Instance is the instance id for whose first boot the guest may report by HTTP; see ReportKey.
	Instance string `json:"instance,omitempty"`
	// Seal withdraws what the guest needs for its first boot alone, when that has gone well.
	Seal bool `json:"seal,omitempty"`
}

// SSH is how the host reaches the guest's SSH server.
type SSH struct {
	// Port is that on 127.0.0.1; 0 means that the supervisor picks one.
	Port int `json:"port,omitempty"`
	// NIC is the number of the NIC that carries it, or -1 where QEMU forwards by itself.
	NIC int `json:"nic"`
	// Guest is the guest's address where a tap device carries it; the host has a route to it, or not.
	Guest netip.Addr `json:"guest,omitzero"`
	// None means that the guest has no network.
	None bool `json:"none,omitempty"`
}

// Later is the plan for the starts after the first boot.
func (p Plan) Later() Plan {
	attempts := slices.Clone(p.Attempts)
	for i, a := range attempts {
		attempts[i].Args = slices.Clone(a.Args)
		at := slices.Index(a.Args, "-append") + 1
		if at == 0 || at == len(a.Args) {
			continue
		}
		words := slices.DeleteFunc(strings.Split(a.Args[at], " "), func(w string) bool { return slices.Contains(p.Once, w) })
		attempts[i].Args[at] = strings.Join(words, " ")
	}
	p.Attempts, p.Once = attempts, nil
	return p
}

// Save writes the plan into a VM's state directory.
func (p Plan) Save(dir string) error {
	p.Version = planVersion
	if p.Metadata != nil {
		p.Version = servedPlan
	}
	if len(p.Taps) > 0 {
		p.Version = tappedPlan
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(dir, planFile), append(text, '\n'))
}

// LoadPlan reads the plan in a VM's state directory.
func LoadPlan(dir string) (Plan, error) {
	var p Plan
	text, err := os.ReadFile(filepath.Join(dir, planFile))
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("%s: %w", filepath.Join(dir, planFile), err)
	}
	if p.Version < planVersion || p.Version > tappedPlan || len(p.Attempts) == 0 {
		return p, fmt.Errorf("%s was written by another version of vmseed (plan version %d)", filepath.Join(dir, planFile), p.Version)
	}
	return p, nil
}

package podnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

// The phases of a pod's networks. Only in the last one a VM may use them.
const (
	// adding: the plugins are at work; some may have been asked.
	adding = "adding"
	// plugging: the plugins are done, and what they made is being turned into wires.
	plugging = "plugging"
	// ready: the attachment is complete.
	ready = "ready"
	// removing: the plugins are asked to give everything back.
	removing = "removing"
)

// record is what is known of a pod's networks. It is written before what it describes is done.
type record struct {
	UID        string     `json:"uid"`
	Namespace  string     `json:"namespace"`
	Name       string     `json:"name"`
	Phase      string     `json:"phase"`
	Netns      string     `json:"netns"`
	Networks   []network  `json:"networks"`
	Wires      []wire     `json:"wires,omitempty"`
	Attachment Attachment `json:"attachment"`
}

// network is a network that the pod is added to, with everything that is needed to remove it again.
type network struct {
	// Label is as the annotation has it; the cluster's network has none.
	Label        string          `json:"label,omitempty"`
	Interface    string          `json:"interface"`
	Conf         json.RawMessage `json:"conf"`
	Args         [][2]string     `json:"args"`
	Capabilities map[string]any  `json:"capabilities,omitempty"`
	DefaultRoute []netip.Addr    `json:"defaultRoute,omitempty"`
}

// wire is an interface of the pod that is joined with a tap.
type wire struct {
	// Network is the index of the network that the interface belongs to.
	Network int `json:"network"`
	// Interface is the plugin's interface, MAC the one that it had at first and the guest has now.
	Interface string         `json:"interface"`
	MAC       string         `json:"mac"`
	MTU       int            `json:"mtu"`
	Addrs     []netip.Prefix `json:"addresses,omitempty"`
	Bridge    string         `json:"bridge"`
	Tap       string         `json:"tap"`
	// Neighbours are the link's permanent ones, which the guest cannot have found out.
	Neighbours []neighbour `json:"neighbours,omitempty"`
}

// neighbour is an address on the link whose MAC nobody there tells.
type neighbour struct {
	Addr netip.Addr `json:"address"`
	MAC  string     `json:"mac"`
}

// records are the records in a directory, one file for each pod.
type records string

func (r records) file(uid string) string { return filepath.Join(string(r), uid+".json") }

// read returns a record, or nil when there is none.
func (r records) read(uid string) (*record, error) {
	text, err := os.ReadFile(r.file(uid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out record
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", r.file(uid), err)
	}
	return &out, nil
}

func (r records) write(one *record) error {
	text, err := json.MarshalIndent(one, "", "\t")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(r.file(one.UID), append(text, '\n'))
}

func (r records) remove(uid string) error {
	if err := os.Remove(r.file(uid)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// list returns the UIDs in order.
func (r records) list() ([]string, error) {
	entries, err := os.ReadDir(string(r))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if uid, ok := strings.CutSuffix(e.Name(), ".json"); ok && !atomicfile.IsTemporary(e.Name()) {
			out = append(out, uid)
		}
	}
	slices.Sort(out)
	return out, nil
}

// lock waits until nobody else works on a pod, in this process or another, and keeps others out until unlock is called.
// The file goes with the lock unless somebody waits for it, who then finds that it is not the pod's any more.
func (r records) lock(uid string) (unlock func(), err error) {
	path := filepath.Join(string(r), uid+".lock")
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, atomicfile.FileMode)
		if err != nil {
			return nil, err
		}
		if err := atomicfile.Lock(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		held, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(path); err == nil && os.SameFile(held, there) {
			return func() {
				os.Remove(path) // while it is locked, so that it cannot be somebody else's
				f.Close()
			}, nil
		}
		f.Close()
	}
}

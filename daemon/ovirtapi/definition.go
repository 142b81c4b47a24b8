package ovirtapi

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/secret"
)

// documentName is what diagnostics call the document of a VM that was made through this API.
const documentName = "vm.xml"

// What a VM has whose template and request do not say otherwise; an engine has the same.
const (
	defaultMemory = 1 << 30
	// maxNameLength is the length that a name may have (engine option VmNameLength and the column of the name).
	maxNameLength = 255
)

var nameSyntax = regexp.MustCompile(`^[\p{L}0-9._-]+$`)

// checkName looks at the name that a request gives to an object.
func checkName(kind, name string, mayBeEmpty bool) *fault {
	switch {
	case name == "" && mayBeEmpty:
		return nil
	case name == "":
		return incomplete(kind, "add", "name")
	case len(name) > maxNameLength || !nameSyntax.MatchString(name):
		return badValue(fmt.Sprintf("%s name: only letters, digits, '-', '_' and '.' are allowed, and at most %d bytes", kind, maxNameLength))
	}
	return nil
}

// serverMembers are the members of VMs and templates that say what the server knows: clients send them back, and they
// are not part of a definition.
func serverMembers() []string {
	return []string{"actions", "link", "id", "href", "status", "status_detail", "stop_reason", "start_time", "stop_time", "creation_time", "creation_status",
		"run_once", "host", "fqdn", "next_run_configuration_exists", "original_template", "instance_type", "statistics", "reported_devices",
		"sessions", "applications", "snapshots", "disk_attachments", "graphics_consoles", "permissions", "tags", "version", "has_illegal_images",
		"guest_operating_system", "guest_time_zone", "data_center", "katello_errata", "affinity_labels", "numa_nodes", "host_devices", "watchdogs", "floppies"}
}

// flagMember reads a boolean member.
func flagMember(e element.Element, name string, otherwise bool) (bool, *fault) {
	c := e.Child(name)
	if !c.Exists() {
		return otherwise, nil
	}
	text := strings.TrimSpace(c.Text)
	if value, known := parseFlag(text); known && text != "" {
		return value, nil
	}
	return false, badValue(fmt.Sprintf("%s: %s: %q is not a boolean; use true or false", c.Place, name, text))
}

// countMember refuses a number that is none; a member that is not there is fine.
func countMember(e element.Element, path string, least int64) *fault {
	c := e.Get(path)
	if !c.Exists() {
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(c.Text), 10, 64)
	if err != nil || n < least {
		return badValue(fmt.Sprintf("%s: %s: %q is not a number from %d on", c.Place, strings.ReplaceAll(path, "/", "."), strings.TrimSpace(c.Text), least))
	}
	return nil
}

// checkHardware looks at the numbers of a VM or template, which the SDKs could not read back otherwise.
func checkHardware(e element.Element) *fault {
	for path, least := range hardwareNumbers() {
		if bad := countMember(e, path, least); bad != nil {
			return bad
		}
	}
	return nil
}

func hardwareNumbers() map[string]int64 {
	return map[string]int64{"memory": 1 << 20, "memory_policy/guaranteed": 0, "memory_policy/max": 0, "cpu/topology/cores": 1,
		"cpu/topology/sockets": 1, "cpu/topology/threads": 1, "cpu_shares": 0, "io/threads": 0}
}

// withHardware states the hardware of a VM or template: what it says itself, else what the image or the template says, else an
// engine's defaults. So a VM keeps its size whatever becomes of the image's description.
func withHardware(e element.Element, d daemon.Defaults) element.Element {
	memory := int64(d.Memory)
	if memory == 0 {
		memory = defaultMemory
	}
	e = withDefaults(e, element.Int("memory", memory))
	cpus := int64(max(d.CPUs, 1))
	topology := e.Get("cpu/topology")
	if topology.Exists() {
		cpus = 1
	}
	cpu := within(within(e, "cpu").Child("cpu"), "topology", element.Int("cores", cpus), element.Int("sockets", 1), element.Int("threads", 1))
	e = e.With(cpu)
	e = within(e, "os", element.Text("type", osType(d.OS)))
	if d.Firmware == "uefi" {
		e = within(e, "bios", element.Text("type", "q35_ovmf"))
	}
	if !e.Child("nics").Exists() && d.NICs > 0 {
		nics := element.List("nics")
		for n := range d.NICs {
			nics = nics.Append(element.New("nic", element.Text("name", "nic"+strconv.Itoa(n+1))))
		}
		e = e.Append(nics)
	}
	return e
}

// within gives the child of a name the members that it does not have. The child is made when it is not there.
func within(e element.Element, name string, members ...element.Element) element.Element {
	child := e.Child(name)
	if !child.Exists() {
		child = element.New(name)
	}
	return e.With(withDefaults(child, members...))
}

// completed adds to the hardware of a VM or template what clients read and what needs no place in its definition.
func completed(e element.Element) element.Element {
	memory, _ := strconv.ParseInt(strings.TrimSpace(e.Child("memory").Text), 10, 64)
	e = within(e, "cpu", element.Text("architecture", architecture()))
	return within(e, "memory_policy", element.Bool("ballooning", false), element.Int("guaranteed", memory), element.Int("max", 4*memory))
}

// osType is the type of operating system for a guest of machine.Guest's kinds.
func osType(os string) string {
	switch os {
	case "coreos":
		return "rhcos_x64"
	case "windows":
		return "windows_2022"
	}
	return "other"
}

// definitions are the documents of VMs and templates as elements, made once for each version of a document.
type definitions struct {
	mu   sync.Mutex
	list map[string]definition
}

type definition struct {
	text string
	root element.Element
}

// of gives the element of an object's document. It is absent when the document is none of oVirt's.
func (c *definitions) of(id string, documents []daemon.Document, root string) element.Element {
	if len(documents) != 1 {
		return element.Element{}
	}
	text := documents[0].Text.Reveal()
	return c.made(id, text, func() element.Element {
		if element.IsXML([]byte(text)) {
			if e, list := element.ParseXML(documents[0].Name, []byte(text), bounded.Limits{}); !list.HasErrors() && e.Name == root {
				return e
			}
		}
		if root == "vm" {
			return ovirt.VMOf(documents[0].Name, []byte(text))
		}
		return element.Element{}
	})
}

// made gives what was made of a text, which is made when the object had another one the last time.
func (c *definitions) made(id, text string, make func() element.Element) element.Element {
	c.mu.Lock()
	known, found := c.list[id]
	c.mu.Unlock()
	if found && known.text == text {
		return known.root
	}
	root := make()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = map[string]definition{}
	}
	c.list[id] = definition{text, root}
	return root
}

// sweep drops objects that are gone, once there are more of them than of others.
func (c *definitions) sweep(machines []daemon.Machine, templates int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) <= 2*(len(machines)+templates) {
		return
	}
	kept := make(map[string]definition, len(machines))
	for _, m := range machines {
		if known, found := c.list[m.ID]; found {
			kept[m.ID] = known
		}
	}
	c.list = kept
}

// vm is a VM with its definition in oVirt's words.
type vm struct {
	daemon.Machine
	// doc is the VM's element. A VM whose documents are of another form has one that says what this API can say about it.
	doc element.Element
	// foreign means that doc is not what the daemon keeps.
	foreign bool
}

func (a *API) vm(id string) (vm, error) {
	m, err := a.d.Get(id)
	if err != nil {
		return vm{}, err
	}
	return a.asVM(m), nil
}

func (a *API) asVM(m daemon.Machine) vm {
	doc := a.parsed.of(m.ID, m.Documents, "vm")
	if isWhole(doc) {
		return vm{Machine: m, doc: doc}
	}
	var text strings.Builder
	for _, d := range m.Documents {
		text.WriteString(d.Text.Reveal())
		text.WriteByte(0)
	}
	foreign := !doc.Exists()
	if foreign {
		doc = element.New("vm")
	}
	doc = a.parsed.made(m.ID+"/described", text.String(), func() element.Element { return a.described(m.ID, doc, foreign) })
	return vm{Machine: m, doc: doc, foreign: foreign}
}

// isWhole reports whether a definition says what this API states in the definition of every VM that it makes. Those that came as
// files of oVirt's do not.
func isWhole(doc element.Element) bool {
	return doc.Child("memory").Exists() && doc.Get("cpu/topology").Exists() && doc.Get("os/type").Exists() && doc.Child("nics").Exists() &&
		!slices.ContainsFunc(doc.Child("nics").Children, func(nic element.Element) bool {
			return nic.Attr("id") == "" || strings.TrimSpace(nic.Get("mac/address").Text) == ""
		})
}

// described adds to a definition what can be said in oVirt's words about the machine that a VM's documents make. Of one in another
// form that is the hardware alone, so it names the form for whoever takes the VM elsewhere.
func (a *API) described(id string, doc element.Element, foreign bool) element.Element {
	m, _, err := a.d.Placed(context.Background(), id)
	if foreign {
		doc = doc.Append(element.List("custom_properties", element.New("custom_property",
			element.Text("name", ovirt.FormProperty), element.Text("value", cmp.Or(m.Document.Form, "unknown")))))
	}
	if err != nil {
		return withHardware(doc, daemon.Defaults{})
	}
	h := m.Hardware
	if h.Sockets+h.Cores+h.Threads > 0 {
		doc = within(doc, "cpu", element.New("topology", element.Int("cores", int64(max(h.Cores, 1))),
			element.Int("sockets", int64(max(h.Sockets, 1))), element.Int("threads", int64(max(h.Threads, 1)))))
	}
	// The first NICs of a machine are those of its definition, in their order.
	nics := element.List("nics")
	stated := doc.Get("nics").All("nic")
	for i, n := range m.Network.NICs {
		nic := element.New("nic")
		if i < len(stated) {
			nic = stated[i]
		} else if len(stated) > 0 {
			break
		}
		nic = set(nic, element.Text("name", n.Name), element.New("mac", element.Text("address", n.MAC)))
		if nic.Attr("id") == "" {
			nic = nic.WithAttr("id", own("nic", id+"/"+n.Name))
		}
		nics = nics.Append(nic)
	}
	return withHardware(doc.With(nics), daemon.Defaults{OS: m.Guest.OS, Memory: h.Memory, CPUs: h.CPUs, Firmware: h.Firmware})
}

func (a *API) vms(*request) ([]vm, error) {
	machines := a.d.List()
	list := make([]vm, len(machines))
	for i, m := range machines {
		list[i] = a.asVM(m)
	}
	a.parsed.sweep(machines, len(a.d.Templates()))
	return list, nil
}

// displayName is the VM's name among all VMs. This API knows no name spaces.
func (v vm) displayName() string {
	if v.Namespace == "" || v.Namespace == "default" {
		return v.Name
	}
	return v.Namespace + "/" + v.Name
}

// vmDocuments are what the daemon keeps for a VM: the document with its passwords hashed. Windows takes no hash of Linux's, so
// that the document of a VM that is set up by sysprep has no password, and another one with them in clear is kept until setup
// has taken it.
func (a *API) vmDocuments(id string, doc element.Element) (kept, first []daemon.Document, err error) {
	safe := ovirt.Mask(doc)
	if ovirt.KindOf(doc) != ovirt.Sysprep {
		if safe, err = a.hashed(id, doc); err != nil {
			return nil, nil, err
		}
	} else if !safe.Equal(doc) {
		if first, err = document(doc); err != nil {
			return nil, nil, err
		}
	}
	kept, err = document(safe)
	return kept, first, err
}

func document(e element.Element) ([]daemon.Document, error) {
	data, err := e.XML()
	if err != nil {
		return nil, badValue(err.Error())
	}
	return []daemon.Document{{Name: documentName, Text: secret.FromBytes(data)}}, nil
}

// mac derives the MAC of a NIC in the range from which an engine gives them out (56:6f), by the VM and the NIC, and by how
// many were taken already.
func (a *API) mac(vmID, nicID string) string {
	taken := a.macs()
	for n := 0; ; n++ {
		id := strings.ReplaceAll(own("mac", fmt.Sprintf("%s/%s/%d", vmID, nicID, n)), "-", "")
		mac := net.HardwareAddr{0x56, 0x6f}.String()
		for i := range 4 {
			mac += ":" + id[2*i:2*i+2]
		}
		if !slices.Contains(taken, mac) {
			return mac
		}
	}
}

// macs are the MACs of all VMs.
func (a *API) macs() []string {
	var list []string
	for _, m := range a.d.List() {
		for _, nic := range a.asVM(m).doc.Get("nics").All("nic") {
			list = append(list, strings.ToLower(strings.TrimSpace(nic.Get("mac/address").Text)))
		}
	}
	return list
}

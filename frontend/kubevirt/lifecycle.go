package kubevirt

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// runStrategies say of each run strategy whether the machine runs, and what happens when it has ended. A strategy that
// waits to be asked says nothing about the first.
var runStrategies = map[string]struct {
	running bool
	waits   bool
	restart string
}{
	"Always":         {running: true, restart: "Always"},
	"RerunOnFailure": {running: true, restart: "OnFailure"},
	"Once":           {running: true, restart: "Never"},
	"Manual":         {waits: true, restart: "Never"},
	"Halted":         {running: false},
	"WaitAsReceiver": {waits: true},
}

// virtualMachine reads what a VirtualMachine has beside the template of its instance.
func (r *reader) virtualMachine() {
	if !r.vm.Want(&r.list, tree.Map) {
		return
	}
	r.sort(r.vm, vmFields)
	template := r.vm.Get("template")
	if !template.Exists() || template.Kind() == tree.Null {
		r.refuse(template, CodeNotVM, "give it spec.template with the spec of an instance", "missing virtual machine template.")
	} else if template.Want(&r.list, tree.Map) {
		r.sort(template, templateFields)
		if !r.spec.Exists() {
			template.Errorf(&r.list, CodeNotVM, "give it spec.template.spec", "the template of the machine has no spec")
		}
	}
	r.runStrategy()
	r.instanceType(r.vm.Get("instancetype"))
	if preference := r.vm.Get("preference"); preference.Want(&r.list, tree.Map) {
		r.list.Add(diag.Diagnostic{Code: CodeInstanceType, Severity: diag.Warning, Range: preference.Span(), Field: preference.Path(),
			Summary: "vmseed applies no preferences", Remedy: "state in the machine what they prefer, such as the buses of disks"})
		preference.Consume()
	}
	r.dataVolumeTemplates(r.vm.Get("dataVolumeTemplates"))
}

func (r *reader) runStrategy() {
	running, strategy := r.vm.Get("running"), r.vm.Get("runStrategy")
	name := ""
	switch {
	case strategy.Exists() && strategy.Kind() != tree.Null:
		name = strategy.Str(&r.list)
		if _, ok := runStrategies[name]; !ok {
			r.refuse(strategy, CodeRunStrategy, "the strategies are Always, Halted, Manual, Once and RerunOnFailure", "Invalid RunStrategy (%s)", name)
			running.Consume()
			return
		}
		if running.Exists() && running.Kind() != tree.Null {
			running.Bool(&r.list)
			r.refuse(running, CodeRunStrategy, "remove spec.running", "Running and RunStrategy are mutually exclusive. Note that Running is deprecated, please use RunStrategy instead")
		}
	case running.Exists() && running.Kind() != tree.Null:
		name = "Halted"
		if running.Bool(&r.list) {
			name = "Always"
		}
		r.note(running, CodeRunStrategy, "spec.running is deprecated, please use spec.runStrategy instead.")
		strategy = running
	default:
		r.refuse(strategy, CodeRunStrategy, "write \"runStrategy: Always\"", "RunStrategy must be specified")
		return
	}
	how := runStrategies[name]
	if !how.waits {
		r.m.Running = &how.running
		r.at(strategy.Range(), "running")
	}
	r.m.RestartPolicy = how.restart
	r.at(strategy.Range(), "restartPolicy")
	if name == "WaitAsReceiver" {
		strategy.Warnf(&r.list, CodeRunStrategy, "use Always or Halted", "the machine waits for a migration to arrive, which vmseed does not do")
	}
}

// lifecycle reads what is left of the spec that concerns an instance as a whole.
func (r *reader) lifecycle() {
	grace := r.spec.Get("terminationGracePeriodSeconds")
	r.m.StopGrace = time.Duration(grace.Int(&r.list, 0, 1<<31)) * time.Second
	r.at(grace.Range(), "stopGrace")
	arch := r.spec.Get("architecture")
	if text := arch.Str(&r.list); text != "" {
		if known := []string{"amd64", "arm64", "ppc64le", "s390x"}; !slices.Contains(known, text) {
			arch.Errorf(&r.list, CodeFirmware, tree.SuggestOf("architectures", text, known), "KubeVirt knows no architecture %q", text)
		}
		r.m.Hardware.Arch = text
		r.at(arch.Range(), "hardware.arch")
	}
}

// uuidSpace is the name space of the firmware UUIDs that KubeVirt makes of names, 6a1a24a1-4061-4607-8bf4-a3963d0c5895.
const uuidSpace = "\x6a\x1a\x24\xa1\x40\x61\x46\x07\x8b\xf4\xa3\x96\x3d\x0c\x58\x95"

var (
	uuidForm   = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	serialForm = regexp.MustCompile(`^[A-Za-z0-9_.+-]+$`)
)

// maxSerial is the longest serial number that KubeVirt takes.
const maxSerial = 256

// identity reads who the machine is: firmware UUID, which is the instance id as well, serial number and host name.
func (r *reader) identity() {
	id := &r.m.Identity
	firmware := r.spec.At("domain", "firmware")
	uuid, name := firmware.Get("uuid"), r.doc.At("metadata", "name")
	where := name
	id.UUID = uuid.Str(&r.list)
	switch {
	case id.UUID == "" && r.m.Name != "":
		id.UUID = machine.NameUUID(uuidSpace, r.m.Name)
	case uuid.Exists() && !uuidForm.MatchString(id.UUID):
		uuid.Errorf(&r.list, CodeUUID, "write it as 8-4-4-4-12 hexadecimal digits", "the firmware UUID should be a UUID")
		where = uuid
	default:
		where = uuid
	}
	id.InstanceID = id.UUID
	r.at(where.Range(), "identity.uuid")
	r.at(where.Range(), "identity.instanceID")
	serial := firmware.Get("serial")
	id.Serial = r.serial(serial, r.in("domain.firmware.serial"))
	r.at(serial.Range(), "identity.serial")
	r.hostname(name)
}

// serial reads a serial number. what is what KubeVirt's messages call it.
func (r *reader) serial(v tree.Value, what string) string {
	text := v.Str(&r.list)
	if text != "" && !serialForm.MatchString(text) {
		r.refuse(v, CodeDevice, "", "%s must be made up of the following characters [A-Za-z0-9_.+-], if specified", what)
	}
	if len([]rune(text)) > maxSerial {
		r.refuse(v, CodeDevice, "", "%s must be less than or equal to %d in length, if specified", what, maxSerial)
	}
	return text
}

// hostname follows KubeVirt: the name up to its first dot, cut to 63 characters, unless the spec has one. The subdomain
// is for DNS alone and reaches no meta-data.
func (r *reader) hostname(name tree.Value) {
	id := &r.m.Identity
	host, sub := r.spec.Get("hostname"), r.spec.Get("subdomain")
	where := name
	id.Hostname, _, _ = strings.Cut(r.m.Name, ".")
	if len(id.Hostname) > 63 {
		id.Hostname = strings.TrimRight(id.Hostname[:63], "-")
		name.Warnf(&r.list, CodeHostname, "give it spec.hostname", "the host name is the machine's name, cut to 63 characters")
	}
	if text := host.Str(&r.list); text != "" {
		if wrong := dnsLabel(text); wrong != "" {
			r.refuse(host, CodeHostname, "", "%s does not conform to the kubernetes DNS_LABEL rules : %s", r.in("hostname"), wrong)
		}
		id.Hostname, where = text, host
	}
	r.at(where.Range(), "identity.hostname")
	if text := sub.Str(&r.list); text != "" {
		for _, label := range strings.Split(text, ".") {
			if wrong := dnsLabel(label); wrong != "" {
				r.refuse(sub, CodeHostname, "", "%s does not conform to the kubernetes DNS_SUBDOMAIN rules : %s", r.in("subdomain"), wrong)
				return
			}
		}
		r.note(sub, CodeHostname, "the subdomain is for the cluster's DNS; KubeVirt tells the guest its short host name only")
	}
}

package ovirt

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
)

// class says what becomes of a member of a vm or action.
type class int

const (
	used class = iota + 1
	// engine members are about the engine, its clusters and users, or what it found out.
	engine
	// tuning members are about how a machine is run; the guest works the same without them.
	tuning
	// lost members have an effect that there is no way to have here.
	lost
	// served members are acted upon by who serves the API; a guest has nothing of them.
	served
)

// members is the class of every member of an element.
type members map[string]class

// with adds the members of one class.
func (m members) with(c class, names string) members {
	for _, name := range strings.Fields(names) {
		m[name] = c
	}
	return m
}

// vmMembersOf returns the members of a vm and of a template in versions 3 and 4 of the API.
func vmMembersOf() members {
	return members{}.
		with(used, `bios comment cdroms cpu cpu_shares custom_cpu_model custom_emulated_machine description disk_attachments domain id
			initialization memory name nics os payloads rng_device serial_number tpm_enabled`).
		with(engine, `affinity_labels applications cluster cpu_profile creation_status creation_time external_host_provider
			fqdn guest_info guest_operating_system guest_time_zone has_illegal_images host instance_type katello_errata large_icon
			next_run_configuration_exists origin original_template permissions quota reported_devices run_once sessions small_icon
			snapshots start_time statistics status status_detail stop_reason stop_time storage_domain tags template use_latest_template_version
			vm_pool vm version`).
		with(tuning, `auto_pinning_policy console cpu_pinning_policy custom_compatibility_version custom_properties display
			dynamic_cpu graphics_consoles high_availability io lease memory_policy migration migration_downtime multi_queues_enabled
			numa_nodes numa_tune_mode placement_policy soundcard_enabled sso storage_error_resume_behaviour time_zone timezone tunnel_migration type
			usb virtio_scsi virtio_scsi_multi_queues virtio_scsi_multi_queues_enabled`).
		with(lost, `disks floppies host_devices mediated_devices start_paused stateless watchdogs`).
		with(served, `delete_protected`)
}

// actionMembersOf returns the members of the action that starts a vm.
func actionMembersOf() members {
	return members{}.
		with(used, "vm "+strings.Join(flags, " ")).
		with(engine, `async correlation_id expiry fault filter grace_period id job reason status`).
		with(lost, `attach_wgt authorized_key host pause storage_domain volatile`)
}

// sort says what becomes of the members that nothing reads. What is false asks for nothing.
func (r *reader) sort(v tree.Value, table members) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(table)), func(name string) bool { return table[name] != used })
	for _, e := range v.Entries() {
		c, known := table[e.Key]
		switch {
		case c == used:
			continue
		case slices.Contains(hypermedia, e.Key), e.Value.Kind() == tree.Null, blank(e.Value), c == served:
		case !known:
			remedy := ""
			if meant, ok := tree.Closest(e.Key, names); ok {
				remedy = fmt.Sprintf("did you mean %q?", meant)
			}
			r.lose(e, remedy, "oVirt has no member %q here, so it is passed over", e.Key)
		case c == engine:
			r.passOver(ofEngine, e)
		case c == tuning:
			r.passOver(ofRunning, e)
		case isFalse(e.Value):
			r.passOver(unheeded, e)
		default:
			r.lose(e, "", "%s is not acted upon, so the guest goes without it", e.Key)
		}
		e.Value.Consume()
	}
}

func isFalse(v tree.Value) bool {
	var unheard diag.List
	return v.Kind() == tree.Scalar && strings.EqualFold(strings.TrimSpace(v.Loose(&unheard)), "false")
}

// lose warns about a member whose effect is missed.
func (r *reader) lose(e tree.Entry, remedy, format string, args ...any) {
	r.list.Add(diag.Diagnostic{Code: CodeNotActedUpon, Severity: diag.Warning, Range: e.Span(), Field: e.Value.Path(),
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// aside passes over members that oVirt has.
func (r *reader) aside(v tree.Value, names ...string) {
	for _, e := range v.Entries() {
		if slices.Contains(names, e.Key) {
			r.passOver(unheeded, e)
			e.Value.Consume()
		}
	}
}

// others passes over the members of one of the engine's objects that nobody reads.
func (r *reader) others(v tree.Value, read ...string) {
	for _, e := range v.Entries() {
		if slices.Contains(read, e.Key) {
			continue
		}
		if !slices.Contains(hypermedia, e.Key) && !givenOut(e) {
			r.passOver(unheeded, e)
		}
		e.Value.Consume()
	}
}

// givenOut reports whether a member is an id as an engine gives them out, which no author of a document asks for.
func givenOut(e tree.Entry) bool {
	var unheard diag.List
	return e.Key == "id" && e.Value.Kind() == tree.Scalar && uuid.MatchString(e.Value.Loose(&unheard))
}

// The reasons to pass over a member that the guest does not miss.
const (
	ofEngine  = "the engine's own, not acted upon"
	ofRunning = "about how the machine is run, not acted upon"
	unheeded  = "not acted upon"
)

// passing is what is passed over for one reason.
type passing struct {
	reason string
	names  []string
	named  map[string]bool
	places []diag.Range
}

// passOver takes a note of a member that changes nothing. An engine returns a hundred of them with every vm, so they are
// reported together.
func (r *reader) passOver(reason string, e tree.Entry) {
	if e.Value.Kind() == tree.Null || blank(e.Value) {
		return
	}
	i := slices.IndexFunc(r.passed, func(p passing) bool { return p.reason == reason })
	if i < 0 {
		i = len(r.passed)
		r.passed = append(r.passed, passing{reason: reason, named: map[string]bool{}})
	}
	p := &r.passed[i]
	if name := r.shortName(e.Value); !p.named[name] {
		p.names, p.named[name] = append(p.names, name), true
	}
	p.places = append(p.places, e.Span())
}

// shortName is the name of a member, behind that of the element that it is in unless that is the outermost one.
func (r *reader) shortName(v tree.Value) string {
	below := strings.TrimPrefix(strings.TrimPrefix(v.Path(), r.first().Path()), ".")
	path := strings.Split(listIndex.ReplaceAllString(below, ""), ".")
	return strings.Join(path[max(len(path)-2, 0):], "/")
}

var listIndex = regexp.MustCompile(`\[[0-9]+\]`)

// reportPassed says what was passed over, in one note for each reason.
func (r *reader) reportPassed() {
	for _, p := range r.passed {
		d := diag.Diagnostic{Code: CodeNotActedUpon, Severity: diag.Note, Range: p.places[0], Summary: p.reason + ": " + strings.Join(p.names, ", ")}
		for _, place := range p.places[1:] {
			d.Related = append(d.Related, diag.Related{Range: place})
		}
		r.list.Add(d)
	}
	r.passed = nil
}

package ovirt

import (
	"regexp"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
)

// The members of an initialization. Those of seed documents, which no schema of a release has, are aliases of the ones in
// cloud_init.
var (
	initMembers = []string{"active_directory_ou", "authorized_ssh_keys", "cloud_init", "cloud_init_network_protocol", "configuration",
		"custom_script", "dns_search", "dns_servers", "domain", "host_name", "input_locale", "nic_configurations", "org_name",
		"regenerate_ids", "regenerate_ssh_keys", "root_password", "system_locale", "timezone", "ui_language", "user_locale", "user_name",
		"windows_license_key"}
	aliases = []string{"host", "authorized_keys", "users", "files"}
	// sysprepMembers mean something to Windows only.
	sysprepMembers = []string{"active_directory_ou", "domain", "input_locale", "org_name", "ui_language", "user_locale", "windows_license_key"}
)

// initialization reads what the guest is told at its first boot.
func (r *reader) initialization() {
	v := r.init
	if !v.Exists() {
		r.idle()
		return
	}
	v.Only(&r.list, append(append([]string{}, initMembers...), aliases...)...)
	r.configuration(v.Get("configuration"))
	r.aside(v, "regenerate_ids")
	if r.kind == Sysprep {
		r.m.Guest.OS = "windows"
		r.at(v.Range(), "guest.os")
		r.sysprep()
		return
	}
	if r.kind == NoInit {
		r.idle()
		v.Consume()
		return
	}
	r.dataSource()
	old := r.legacy()
	r.hostname(v.Get("host_name"), old)
	r.timezone(v.Get("timezone"), old)
	r.credentials(v, old)
	r.script(v.Get("custom_script"))
	r.files(old)
	r.network(v, old)
	r.locale(v.Get("system_locale"))
	for _, name := range sysprepMembers {
		if x := v.Get(name); x.Exists() && x.Kind() != tree.Null {
			if !blank(x) {
				r.warn(x, CodeSysprepOnly, "", "%s is for sysprep only, so a guest of %s is not told", name, r.kind.words())
			}
			x.Consume()
		}
	}
}

// idle is for a machine that is not set up at all.
func (r *reader) idle() {
	if r.kind == NoInit {
		r.note(r.first(), CodeNoSeed, "no initialization is asked for, so an engine attaches no drive; the seed that vmseed makes holds nothing but an instance id")
	} else {
		r.dataSource()
	}
}

// dataSource says which data source carries the kind. An image that oVirt starts looks for Ignition configs on the config
// drive, which is the platform openstack.
func (r *reader) dataSource() {
	place := r.init.Range()
	if r.kind == Ignition {
		r.m.DataSource, r.m.Guest.OS, r.m.Guest.IgnitionPlatform = "ignition", "coreos", "openstack"
		r.at(place, "guest.os")
		r.at(place, "guest.ignitionPlatform")
	} else {
		r.m.DataSource = "configdrive"
	}
	r.at(place, "dataSource")
}

// hostName is what the form of the web administration takes, which is more than RFC 1123 does.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$`)

func (r *reader) hostname(v tree.Value, old legacy) {
	v = r.either(v, old.host)
	name := r.text(v)
	if name == "" {
		return
	}
	trouble := ""
	for _, label := range strings.Split(name, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			trouble = "between dots stand 1 to 63 characters that neither begin nor end with a dash"
		}
	}
	switch {
	case !hostName.MatchString(name):
		trouble = "it consists of letters, digits, dashes, underscores and dots"
	case len(name) > 253:
		trouble = "it has at most 253 characters"
	}
	if trouble != "" {
		r.fail(v, CodeHostName, "", "this cannot be a host name: %s", trouble)
		return
	}
	r.m.Identity.Hostname = name
	r.at(v.Range(), "identity.hostname")
}

// zoneName is how names of the time zone database look. Those of Windows have blanks.
var zoneName = regexp.MustCompile(`^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$`)

func (r *reader) timezone(v tree.Value, old legacy) {
	v = r.either(v, old.timezone)
	zone := r.text(v)
	switch {
	case zone == "":
	case !zoneName.MatchString(zone):
		r.fail(v, CodeTimezone, "write a name such as Europe/Prague", "this is no time zone of Linux: those of Windows are for sysprep")
	default:
		r.m.Guest.Timezone = zone
		r.at(v.Range(), "guest.timezone")
	}
}

// windowsLocale is a name such as en-US, whose parts Linux joins by an underscore.
var windowsLocale = regexp.MustCompile(`^([a-z]{2,3})-([A-Z]{2})$`)

// locale reads system_locale, which an engine hands to sysprep only.
func (r *reader) locale(v tree.Value) {
	name := r.text(v)
	if name == "" {
		return
	}
	if m := windowsLocale.FindStringSubmatch(name); m != nil {
		name = m[1] + "_" + m[2] + ".UTF-8"
	}
	r.m.Guest.Locale = name
	r.at(v.Range(), "guest.locale")
}

// either returns the value of a member or of what older documents have in its place. Both are an error unless they say the
// same.
func (r *reader) either(v tree.Value, old tree.Value) tree.Value {
	var unheard diag.List
	said := func(x tree.Value) bool { return x.Exists() && x.Kind() != tree.Null && !blank(x) }
	switch {
	case !said(old):
		return v
	case !said(v):
		return old
	}
	if v.Kind() != tree.Scalar || old.Kind() != tree.Scalar || v.Loose(&unheard) != old.Loose(&unheard) {
		r.list.Add(diag.Diagnostic{Code: CodeTwice, Severity: diag.Error, Range: old.Range(), Field: old.Path(),
			Summary: "this says what " + v.Path() + " says as well, and otherwise", Remedy: "keep one of the two"}.With(v.Range(), "the other one is here"))
		old.Consume()
	}
	return v
}

package daemon

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
)

// wordings are what users of the APIs read where the parts of the engine name flags of the commands, the more special first. What
// is an administrator's to change keeps the name of the flag of vmseed serve, and what is a command keeps its own; kept stands for
// their dashes until all others are gone.
var wordings = []struct {
	flag *regexp.Regexp
	word string
}{
	{regexp.MustCompile(`vmseed run takes --memory`), "memory may be stated beside the documents"},
	{regexp.MustCompile(`\bdaemon with --`), "daemon with " + kept},
	{regexp.MustCompile(`(vmseed (?:convert|render|run|image pull) (?:[^-,;:"]|-[^-])*)--`), "${1}" + kept},
	{regexp.MustCompile(`\buse --(net|accel) `), "have the administrator start the daemon with " + kept + "$1 "},
	{regexp.MustCompile(`--net (\w+)`), "the network $1"},
	{regexp.MustCompile(`\bleave --delivery out`), "leave the delivery to auto"},
	{regexp.MustCompile(`--delivery `), "the delivery "},
	{regexp.MustCompile(`--datasource `), "the data source "},
	{regexp.MustCompile(`\banother --ignition-platform`), "another Ignition platform"},
	{regexp.MustCompile(`--ignition-platform `), "the Ignition platform "},
	{regexp.MustCompile(`, or use --guest\b`), ""},
	{regexp.MustCompile(`\b(?:run with|add) --kernel and --initrd`), "name both in boot.kernel and boot.initrd"},
	{regexp.MustCompile(`\badd --kernel`), "name a kernel in boot.kernel"},
	{regexp.MustCompile(`\brun with --cpus and --memory`), "state cpus and memory beside the documents"},
	{regexp.MustCompile(` with --volume(?: \S+=\S+)?`), " in the definition"},
	{regexp.MustCompile(`\bgive the result of the network plugins with --cni-result`), "write the addresses into the definition"},
	{regexp.MustCompile(`, or raise the limit with --userdata-limit`), ""},
	{regexp.MustCompile(`\buse --no-multipart for guests such as CirrOS that cannot read it`), "guests such as CirrOS read one part alone"},
	{regexp.MustCompile(` \(--firmware uefi\)`), ""},
	{regexp.MustCompile(`\bby (?:a flag|flags) such as --`), "by a role such as "},
	{regexp.MustCompile(`--([a-z])`), "$1"},
	{regexp.MustCompile(kept), "--"},
}

// kept stands for dashes that stay.
const kept = "\x00"

// worded says a text to users of the APIs, who have no flags of commands.
func worded(text string) string {
	if !strings.Contains(text, "--") {
		return text
	}
	for _, w := range wordings {
		text = w.flag.ReplaceAllString(text, w.word)
	}
	return text
}

// Worded says diagnostics to users of the APIs, who have no flags of commands.
func Worded(l diag.List) diag.List {
	flags := func(d diag.Diagnostic) bool {
		return strings.Contains(d.Summary, "--") || strings.Contains(d.Remedy, "--")
	}
	if !slices.ContainsFunc(l, flags) {
		return l
	}
	l = slices.Clone(l)
	for i, d := range l {
		l[i].Summary, l[i].Remedy = worded(d.Summary), worded(d.Remedy)
	}
	return l
}

// wordedError does so with trouble of the host.
func wordedError(err error) error {
	var host *hypervisor.EnvironmentError
	if !errors.As(err, &host) || !strings.Contains(host.Remedy, "--") {
		return err
	}
	return &hypervisor.EnvironmentError{What: host.What, Remedy: worded(host.Remedy), Err: host.Err}
}

package native

import (
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/vmseed/vmseed/format/kubeobject"
)

// form is a kind of text. The pattern is published in the JSON schema; accept, where it is set, decides what a pattern
// cannot, on texts that match it.
type form struct {
	what    string // completes "this is not"
	example string
	pattern *regexp.Regexp
	accept  func(string) bool
	// canonical returns the one spelling of texts that have several.
	canonical func(string) string
}

func (f *form) matches(s string) bool {
	return f.pattern.MatchString(s) && (f.accept == nil || f.accept(s))
}

var (
	anyText    = &form{what: "text", pattern: regexp.MustCompile(`^[^\x00]*$`)}
	line       = &form{what: "a text on one line", pattern: regexp.MustCompile(`^[^\x00-\x1f\x7f]*$`)}
	simpleName = &form{what: "a name of letters, digits and . _ + -",
		pattern: regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)}
	layoutName = &form{what: "a name of letters, digits and . , : _ + -", example: "compose:rwin",
		pattern: regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.,:_+-]*$`)}
	objectName = &form{what: "a name of lower-case letters, digits, - and . as Kubernetes takes them", example: "web-1",
		pattern: regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`), accept: kubeobject.ValidName}
	// Guests take underscores, which DNS does not have in names of hosts: machine.Place tells.
	hostName = &form{what: "a host name of letters, digits and - _ with dots between", example: "web.example.org",
		pattern: regexp.MustCompile(`^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*)?$`),
		accept:  func(s string) bool { return len(s) <= 253 }}
	host = &form{what: "a host name or address, without white space", example: "ntp.example.org",
		pattern: regexp.MustCompile(`^[A-Za-z0-9\[][A-Za-z0-9.:\[\]-]*$`)}
	uuid = &form{what: "a UUID", example: "3c2a9c1e-5f0b-4d7e-9a51-0f6e2b7d8c41",
		pattern: regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`), canonical: strings.ToLower}
	userName = &form{what: "a user or group name", example: "alice",
		pattern: regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,30}\$?$`)}
	owner = &form{what: "user or user:group", example: "root:adm",
		pattern: regexp.MustCompile(`^[^:\s\x00]+(:[^:\s\x00]+)?$`)}
	gecos      = &form{what: "a text on one line without colons", pattern: regexp.MustCompile(`^[^:\x00-\x1f\x7f]*$`)}
	days       = &form{what: "a number of days in quotes", example: `"30"`, pattern: regexp.MustCompile(`^-?[0-9]{1,6}$`)}
	date       = &form{what: "a date", example: `"2030-12-31"`, pattern: regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`), accept: isDate}
	publicKey  = &form{what: "a public key as OpenSSH writes it", example: "ssh-ed25519 AAAAC3Nza… me@example.org", pattern: sshKey}
	importID   = &form{what: "an account as ssh-import-id takes it", example: "gh:alice", pattern: regexp.MustCompile(`^([a-z]+:)?[A-Za-z0-9][A-Za-z0-9._-]*$`)}
	absolute   = &form{what: "an absolute path without . and ..", example: "/etc/motd", pattern: regexp.MustCompile(`^/[^\x00-\x1f\x7f]*$`), accept: isClean}
	mountPoint = &form{what: "an absolute path without . and .., or none", example: "/srv", pattern: regexp.MustCompile(`^(none|/[^\x00-\x1f\x7f]*)$`),
		accept: func(s string) bool { return s == "none" || isClean(s) }}
	option    = &form{what: "one option, without commas and white space", example: "noatime", pattern: regexp.MustCompile(`^[^\s,\x00-\x1f\x7f]+$`)}
	variable  = &form{what: "a name for a variable", example: "HTTP_PROXY", pattern: regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)}
	fileName  = &form{what: "a file name of letters, digits and . _ -", example: "10-setup.sh", pattern: regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)}
	zone      = &form{what: "a time zone", example: "Europe/Zurich", pattern: regexp.MustCompile(`^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$`)}
	locale    = &form{what: "a locale", example: "de_CH.UTF-8", pattern: regexp.MustCompile(`^[A-Za-z0-9_.@-]+$`)}
	interFace = &form{what: "a name for an interface, at most 15 characters without / and :", example: "lan0",
		pattern: regexp.MustCompile(`^[^\s/:.\x00-\x1f][^\s/:\x00-\x1f]{0,14}$`)}
	macAddress = &form{what: "a MAC of one station", example: `"52:54:00:12:34:56"`, accept: isStation,
		canonical: func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", ":")) },
		pattern:   regexp.MustCompile(`^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$|^[0-9A-Fa-f]{2}(-[0-9A-Fa-f]{2}){5}$`)}
	pciAddress = &form{what: "a PCI address", example: `"0000:00:05.0"`,
		pattern: regexp.MustCompile(`^([0-9A-Fa-f]{4}:)?[0-9A-Fa-f]{2}:[01][0-9A-Fa-f]\.[0-7]$`)}
	webURL    = &form{what: "a URL with http or https", example: "https://example.org/done", pattern: regexp.MustCompile(`^https?://[^\s\x00-\x1f]+$`), accept: isURL}
	serialNo  = &form{what: "a serial number of at most 36 letters, digits and . _ -", example: "data-1", pattern: regexp.MustCompile(`^[A-Za-z0-9._-]{1,36}$`)}
	shareTag  = &form{what: "a tag of at most 36 characters without commas and white space", example: "data", pattern: regexp.MustCompile(`^[^\s,\x00-\x1f]{1,36}$`)}
	diskLabel = &form{what: "a label of at most 32 letters, digits and _ -", example: "SYSPREP", pattern: regexp.MustCompile(`^[A-Za-z0-9_ -]{1,32}$`)}

	unitName = &form{what: "the file name of a systemd unit", example: "web.service",
		pattern: regexp.MustCompile(`^[A-Za-z0-9:_.@\\-]+\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)$`)}
	dropInName     = &form{what: "a file name that ends in .conf", example: "10-limits.conf", pattern: regexp.MustCompile(`^[A-Za-z0-9:_.@\\-]+\.conf$`)}
	partitionLabel = &form{what: "a label of at most 36 characters without colons", example: "data", pattern: regexp.MustCompile(`^[^:\x00-\x1f\x7f]{1,36}$`)}
	partitionType  = &form{what: "linux, swap, efi or the GUID of a partition type", example: "linux",
		pattern: regexp.MustCompile(`^(linux|swap|efi|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$`)}

	quantity = &form{what: "a size", example: "2Gi", pattern: regexp.MustCompile(`^[0-9]+(\.[0-9]*)?([kMGTPE]|[KMGTPE]i|[eE][0-9]{1,2})?$`)}
	duration = &form{what: "a duration with units", example: "1m30s", pattern: regexp.MustCompile(`^[0-9.]+(ns|us|µs|ms|s|m|h)([0-9.]+(ns|us|µs|ms|s|m|h))*$`)}
	octal    = &form{what: "permissions as four octal digits in quotes", example: `"0644"`, pattern: regexp.MustCompile(`^[0-7]{3,4}$`)}
	address  = &form{what: "an IP address", example: "192.0.2.7", pattern: regexp.MustCompile(`^[0-9A-Fa-f:.]+$`)}
	address4 = &form{what: "an IPv4 address", example: "192.0.2.1", pattern: regexp.MustCompile(`^[0-9.]+$`), accept: func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }}
	address6 = &form{what: "an IPv6 address", example: "2001:db8::1", pattern: regexp.MustCompile(`^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$`)}
	prefix   = &form{what: "an IP address with the length of its prefix", example: "192.0.2.7/24", pattern: regexp.MustCompile(`^[0-9A-Fa-f:.]+/[0-9]{1,3}$`)}
	subnet   = &form{what: "a subnet whose host bits are 0", example: "10.0.0.0/8", pattern: prefix.pattern, accept: isSubnet}
	pemText  = &form{what: "a certificate in PEM form", pattern: regexp.MustCompile(`-----BEGIN ([A-Z0-9]+ )?CERTIFICATE-----`)}

	sshKey = regexp.MustCompile(`^([^\x00-\x1f\x7f]*[ \t])?(ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+ +[A-Za-z0-9+/]+={0,3}([ \t][^\x00-\x1f\x7f]*)?$`)
)

// isClean reports whether an absolute path is its own shortest form. A slash at the end is allowed for the root only.
func isClean(s string) bool { return path.Clean(s) == s }

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isStation reports whether a MAC names one station: the lowest bit of the first byte marks groups (IEEE 802, 8.2.2).
func isStation(s string) bool {
	return strings.ContainsRune("02468aceACE", rune(s[1])) && strings.Trim(s, "0:-") != ""
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != ""
}

func isSubnet(s string) bool {
	p, err := netip.ParsePrefix(s)
	return err == nil && p == p.Masked()
}

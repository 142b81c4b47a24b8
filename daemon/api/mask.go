package api

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report/intake"
)

// masked is what stands where a secret was.
const masked = "******"

// shortest is the length of the shortest value that is looked for everywhere; one that is shorter would be found in the
// middle of words.
const shortest = 4

// secretsOf returns the values of a machine that are secret by their field, the longest first.
func secretsOf(m machine.Machine) []string {
	var out []string
	add := func(text string) {
		if len(text) >= shortest {
			out = append(out, text)
		}
		// In YAML each line of a text is indented.
		for _, line := range strings.Split(text, "\n") {
			if line = strings.TrimSpace(line); len(line) >= 16 && line != text {
				out = append(out, line)
			}
		}
	}
	add(m.AdminPassword.Reveal())
	for _, u := range m.Users {
		add(u.Password.Reveal())
		add(u.PasswordHash.Reveal())
	}
	for _, u := range m.AgentUsers {
		add(u.Password.Reveal())
	}
	for _, k := range m.SSH.HostKeys {
		add(k.Private.Reveal())
	}
	for _, v := range m.Environment {
		add(v.Value.Reveal())
	}
	for _, d := range m.Disks {
		add(d.Source.Ceph.Secret.Reveal())
	}
	for _, f := range m.Files {
		// A file that only its owner may read is secret; others may be shown to those who set the machine up.
		if f.Mode == machine.NoAccess || f.Mode != 0 && f.Mode.Bits()&0o044 == 0 {
			add(f.Content.Reveal())
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(out)
}

// word is a part of a name that says that its value is secret.
const word = `(?:pass(?:word|wd|phrase)|secret|token|private|credential|api_?key|access_?key)`

var (
	privateKey = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z0-9 ]*PRIVATE KEY-----`)
	cryptHash  = regexp.MustCompile(`\$(?:1|2[abxy]?|5|6|7|y|gy|sha1|md5|argon2[a-z]*|pbkdf2[a-z0-9-]*)\$[./A-Za-z0-9$=,+-]{8,}`)
	// quoted is "name": "value" of JSON and of YAML's flow style.
	quoted = regexp.MustCompile(`(?i)(["']?[\w.-]*` + word + `[\w.-]*["']?[ \t]*[:=][ \t]*)("(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*')`)
	// flow is name: value of YAML's flow style, and of JSON without quotes.
	flow = regexp.MustCompile(`(?i)([{,][ \t]*["']?[\w.-]*` + word + `[\w.-]*["']?[ \t]*:[ \t]*)([^\s"'{\[,}][^,}\n]*)`)
	// line is name: value to the end of the line. A list may be on it, of which each item is a line of its own.
	line = regexp.MustCompile(`(?im)^([ \t]*(?:-[ \t]+)?["']?[\w.-]*` + word + `[\w.-]*["']?[ \t]*[:=][ \t]*)([^\s#&*!|>{\["'][^\r\n]*)`)
	// block is name: | with the lines below it.
	block = regexp.MustCompile(`(?im)^([ \t]*)((?:-[ \t]+)?["']?[\w.-]*` + word + `[\w.-]*["']?[ \t]*:[ \t]*[|>][^\r\n]*)\r?\n`)
	// xmlValue is a password in an answer file of Windows.
	xmlValue = regexp.MustCompile(`(?is)(<[\w:]*` + word + `[\w]*(?:\s[^>]*)?>)(.*?)(</[\w:]*` + word + `[\w]*\s*>)`)
	// account is name:password in a list of cloud-init's chpasswd.
	account  = regexp.MustCompile(`(?m)^([ \t]*(?:-[ \t]+)?["']?[a-z_][a-z0-9_-]*\$?:)([^\s:/][^\r\n]*)$`)
	userInfo = regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^\s/:@"']*:)([^\s/@"']+)@`)
	// wireGuard is a key of WireGuard's configuration, wherever a document has it.
	wireGuard = regexp.MustCompile(`((?:Private|Preshared)Key[ \t]*=[ \t]*)[^\s"'\\]+`)
	// reports is where a guest reports, with the signature that lets it.
	reports  = regexp.MustCompile(`(/` + regexp.QuoteMeta(intake.Root) + `[^/\s"']+/[^/\s"']+/)[A-Za-z0-9_-]{16,}`)
	harmless = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|null|~|\*{6})\s*(?:#.*)?,?$`)
	encoded  = regexp.MustCompile(`[A-Za-z0-9+/]{16,}(?:\r?\n[ \t]*[A-Za-z0-9+/]+)*={0,2}`)
	nextKey  = regexp.MustCompile(`\n[A-Za-z_]`)
	dataURL  = regexp.MustCompile(`data:[^,;"'\s]*,([^"'\s]*)`)
	// document is the beginning of a config of Ignition's, or of user-data.
	document = regexp.MustCompile(`^\s*(?:\{\s*"|#cloud-config|#!|## template:)`)
)

// mask replaces what is secret in a text: the given values however they are written, and what looks like a password, a
// hash or a private key. It reports whether there was any.
func mask(text string, values []string) (string, bool) {
	out := maskDepth(text, values, 0)
	return out, out != text
}

// maxCoats is how many times something may be encoded, one in the other.
const maxCoats = 3

func maskDepth(text string, values []string, depth int) string {
	if !utf8.ValidString(text) {
		return maskBinary(text, values, depth)
	}
	for _, v := range values {
		for _, written := range []string{v, inJSON(v), base64.StdEncoding.EncodeToString([]byte(v))} {
			text = strings.ReplaceAll(text, written, masked)
		}
	}
	text = privateKey.ReplaceAllString(text, masked)
	text = cryptHash.ReplaceAllString(text, masked)
	text = quoted.ReplaceAllString(text, `${1}"`+masked+`"`)
	for _, e := range []*regexp.Regexp{flow, line} {
		text = e.ReplaceAllStringFunc(text, func(s string) string {
			m := e.FindStringSubmatch(s)
			if harmless.MatchString(strings.TrimSpace(m[2])) {
				return s
			}
			return m[1] + masked
		})
	}
	text = maskBlocks(text)
	text = xmlValue.ReplaceAllString(text, "${1}"+masked+"${3}")
	text = wireGuard.ReplaceAllString(text, "${1}"+masked)
	text = reports.ReplaceAllString(text, "${1}"+masked)
	text = userInfo.ReplaceAllString(text, "${1}"+masked+"@")
	if i := strings.Index(text, "chpasswd"); i >= 0 {
		text = text[:i] + maskAccounts(text[i:])
	}
	if depth >= maxCoats {
		return text
	}
	return maskCoats(text, values, depth+1)
}

// inJSON is how a text stands inside a string of JSON.
func inJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return s
	}
	return strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`)
}

// maskBlocks masks the block scalars under a name that says that they are secret.
func maskBlocks(text string) string {
	at := 0
	for {
		m := block.FindStringSubmatchIndex(text[at:])
		if m == nil {
			return text
		}
		indent, from := text[at+m[2]:at+m[3]], at+m[1]
		to := from
		for to < len(text) {
			end := strings.IndexByte(text[to:], '\n') + 1
			if end == 0 {
				end = len(text) - to
			}
			l := text[to : to+end]
			if strings.TrimSpace(l) != "" && len(l)-len(strings.TrimLeft(l, " \t")) <= len(indent) {
				break
			}
			to += end
		}
		if to > from {
			text = text[:from] + indent + "  " + masked + "\n" + text[to:]
		}
		at = from
	}
}

// maskAccounts masks name:password lines up to the next key of the document.
func maskAccounts(text string) string {
	end := len(text)
	if i := nextKey.FindStringIndex(text); i != nil {
		end = i[0]
	}
	return account.ReplaceAllString(text[:end], "${1}"+masked) + text[end:]
}

// maskCoats masks what is secret in encoded texts. A text that is a document stays one in its coat, with the rest of it to be read; of
// any other nothing is shown.
func maskCoats(text string, values []string, depth int) string {
	text = encoded.ReplaceAllStringFunc(text, func(s string) string {
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
		if err != nil {
			return s
		}
		inner, found := maskInner(string(raw), values, depth)
		if found && inner != masked {
			return base64.StdEncoding.EncodeToString([]byte(inner))
		}
		return orMasked(s, found)
	})
	return dataURL.ReplaceAllStringFunc(text, func(s string) string {
		head, body, _ := strings.Cut(s, ",")
		raw, err := url.PathUnescape(body)
		if err != nil {
			return s
		}
		inner, found := maskInner(raw, values, depth)
		if found && inner != masked {
			return head + "," + strings.ReplaceAll(url.PathEscape(inner), "%2A", "*")
		}
		return head + "," + orMasked(body, found)
	})
}

// maskInner masks what was in a coat, as a whole unless it is a document, and reports whether there was anything secret.
func maskInner(raw string, values []string, depth int) (string, bool) {
	inner := maskDepth(raw, values, depth)
	if inner != raw && !document.MatchString(raw) {
		return masked, true
	}
	return inner, inner != raw
}

func orMasked(s string, found bool) string {
	if found {
		return masked
	}
	return s
}

// maxUnpacked bounds what a compressed text may become, in bytes.
const maxUnpacked = 16 << 20

// maskBinary leaves bytes that are no text alone, unless they are a compressed text with something secret in it.
func maskBinary(data string, values []string, depth int) string {
	if depth >= maxCoats || !strings.HasPrefix(data, "\x1f\x8b") {
		return data
	}
	if _, err := gzip.NewReader(strings.NewReader(data)); err != nil {
		return data
	}
	raw, err := bounded.Gunzip([]byte(data), maxUnpacked)
	if err == nil && maskDepth(string(raw), values, depth+1) == string(raw) {
		return data
	}
	return masked
}

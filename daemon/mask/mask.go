// Package mask shows what guests are given without what is secret in it: passwords, hashes, private keys, tokens, and whatever
// a machine's fields say is secret, however it is written or packed. It is for the eyes of people who look over a shoulder, and
// no border: a secret that no field and no name beside it tells of is not found.
package mask

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report/intake"
)

// masked is what stands where a secret was.
const masked = "******"

// Secrets are values that are not shown, in the forms in which documents write them, the longest first.
type Secrets []string

// shortest is the length of the shortest value that is looked for everywhere; one that is shorter would be found in the
// middle of words.
const shortest = 4

// Of returns the values of a machine that are secret by their field.
func Of(m machine.Machine) Secrets {
	var values []string
	add := func(text string) {
		values = append(values, text)
		// In YAML each line of a text is indented.
		for _, line := range strings.Split(text, "\n") {
			if line = strings.TrimSpace(line); len(line) >= 16 && line != text {
				values = append(values, line)
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
	return Values(values...)
}

// Values makes Secrets of values. Those that are too short to be told from parts of words are left to what stands beside them.
func Values(values ...string) Secrets {
	var out Secrets
	for _, v := range values {
		if len(v) >= shortest {
			out = append(out, written(v)...)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(out)
}

// written are the forms of a value: as it is, as strings of JSON, YAML and XML have it, in a URL, in base64 and in Windows' UTF-16.
func written(v string) []string {
	var wide []byte
	for _, unit := range utf16.Encode([]rune(v)) {
		wide = binary.LittleEndian.AppendUint16(wide, unit)
	}
	var inXML strings.Builder
	_ = xml.EscapeText(&inXML, []byte(v)) // a strings.Builder takes everything
	out := []string{v, inJSON(v, false), inJSON(v, true), strings.ReplaceAll(v, "'", "''"), html.EscapeString(v), inXML.String(),
		url.PathEscape(v), url.QueryEscape(v), string(wide)}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		out = append(out, e.EncodeToString([]byte(v)), e.EncodeToString(wide))
	}
	return out
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
	// publicKey is a part of a name that says that its value is public.
	publicKey = regexp.MustCompile(`(?i)public[_-]?key`)
	// document is the beginning of a config of Ignition's, or of user-data.
	document = regexp.MustCompile(`^\s*(?:\{\s*"|#cloud-config|#!|## template:)`)
)

// Text replaces what is secret in a text: the values, and what looks like a password, a hash or a private key. It reports whether
// there was any.
func (s Secrets) Text(text string) (string, bool) {
	out := s.depth(text, 0)
	return out, out != text
}

// maxCoats is how many times something may be encoded, one in the other.
const maxCoats = 3

func (s Secrets) depth(text string, depth int) string {
	if !utf8.ValidString(text) {
		return s.binary(text, depth)
	}
	for _, v := range s {
		text = strings.ReplaceAll(text, v, masked)
	}
	text = privateKey.ReplaceAllString(text, masked)
	text = cryptHash.ReplaceAllString(text, masked)
	text = inLines(text, maskNamed)
	text = maskBlocks(text)
	if strings.Contains(text, "</") {
		text = xmlValue.ReplaceAllStringFunc(text, func(s string) string {
			m := xmlValue.FindStringSubmatch(s)
			if ofPublicKey(m[1]) && ofPublicKey(m[3]) { // else something else ends here
				return s
			}
			return m[1] + masked + m[3]
		})
	}
	if strings.Contains(text, "Key") {
		text = wireGuard.ReplaceAllString(text, "${1}"+masked)
	}
	text = reports.ReplaceAllString(text, "${1}"+masked)
	if strings.Contains(text, "://") && strings.Contains(text, "@") {
		text = userInfo.ReplaceAllString(text, "${1}"+masked+"@")
	}
	if i := strings.Index(text, "chpasswd"); i >= 0 {
		text = text[:i] + maskAccounts(text[i:])
	}
	if depth >= maxCoats {
		return text
	}
	return s.coats(text, depth+1)
}

// inJSON is how a text stands inside a string of JSON, of a program that takes care of HTML or of another.
func inJSON(s string, escapeHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if e.Encode(s) != nil {
		return s
	}
	return strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`)
}

// maskNamed masks the values beside names that say that they are secret, on one line: none of its expressions reaches beyond that.
func maskNamed(text string) string {
	text = quoted.ReplaceAllStringFunc(text, func(s string) string {
		m := quoted.FindStringSubmatch(s)
		if ofPublicKey(m[1]) {
			return s
		}
		return m[1] + `"` + masked + `"`
	})
	for _, e := range []*regexp.Regexp{flow, line} {
		text = e.ReplaceAllStringFunc(text, func(s string) string {
			m := e.FindStringSubmatch(s)
			if harmless.MatchString(strings.TrimSpace(m[2])) || ofPublicKey(m[1]) {
				return s
			}
			return m[1] + masked
		})
	}
	return text
}

// ofPublicKey reports whether a name is of something that everybody may know though it sounds secret: each component of an answer
// file of Windows has the publicKeyToken of who made it.
func ofPublicKey(name string) bool {
	return publicKey.MatchString(name) && !strings.Contains(strings.ToLower(name), "private")
}

// maskBlocks masks the block scalars under a name that says that they are secret.
func maskBlocks(text string) string {
	at := 0
	for {
		if at = nextTelling(text, at); at < 0 {
			return text
		}
		next := lineEnd(text, at)
		m := block.FindStringSubmatchIndex(text[at:next])
		if m == nil {
			at = next
			continue
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

// coats masks what is secret in encoded texts. A text that is a document stays one in its coat, with the rest of it to be read; of
// any other nothing is shown.
func (s Secrets) coats(text string, depth int) string {
	text = encoded.ReplaceAllStringFunc(text, func(coat string) string {
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(coat), ""))
		if err != nil {
			return coat
		}
		inner, found := s.inner(string(raw), depth)
		if found && inner != masked {
			return base64.StdEncoding.EncodeToString([]byte(inner))
		}
		return orMasked(coat, found)
	})
	return dataURL.ReplaceAllStringFunc(text, func(coat string) string {
		head, body, _ := strings.Cut(coat, ",")
		raw, err := url.PathUnescape(body)
		if err != nil {
			return coat
		}
		inner, found := s.inner(raw, depth)
		if found && inner != masked {
			return head + "," + strings.ReplaceAll(url.PathEscape(inner), "%2A", "*")
		}
		return head + "," + orMasked(body, found)
	})
}

// inner masks what was in a coat, as a whole unless it is a document, and reports whether there was anything secret.
func (s Secrets) inner(raw string, depth int) (string, bool) {
	inner := s.depth(raw, depth)
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

// binary leaves bytes that are no text alone, unless there is something secret in them or in what they are when unpacked. Of those
// nothing is shown.
func (s Secrets) binary(data string, depth int) string {
	if depth >= maxCoats {
		return data
	}
	readable := strings.ToValidUTF8(data, string(utf8.RuneError))
	if strings.HasPrefix(data, "\x1f\x8b") {
		if _, err := gzip.NewReader(strings.NewReader(data)); err == nil {
			raw, err := bounded.Gunzip([]byte(data), maxUnpacked)
			if err != nil {
				return masked
			}
			readable = string(raw)
		}
	}
	return orMasked(data, s.depth(readable, depth+1) != readable)
}

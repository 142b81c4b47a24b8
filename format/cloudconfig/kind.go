package cloudconfig

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"unicode"
)

// Kind is a kind of user-data, told by its first line as cloud-init tells it.
type Kind uint8

// The kinds of user-data. All but the last group are known to cloud-init.
const (
	// Unknown is text that cloud-init ignores with a warning.
	Unknown Kind = iota
	// Empty is no text at all, or white space only.
	Empty
	// CloudConfig is a YAML mapping of configuration modules.
	CloudConfig
	// Script is a program that runs once per instance, late in the boot.
	Script
	// ScriptPerBoot is a script for every boot. Only a MIME header can say so.
	ScriptPerBoot
	// ScriptPerInstance is a script for each new instance. Only a MIME header can say so.
	ScriptPerInstance
	// ScriptPerOnce is a script that runs a single time. Only a MIME header can say so.
	ScriptPerOnce
	// Boothook is a program that runs early, on every boot.
	Boothook
	// Include is a list of URLs to fetch.
	Include
	// IncludeOnce is a list of URLs to fetch once per instance.
	IncludeOnce
	// Archive is a YAML list of parts.
	Archive
	// JSONPatch is an RFC 6902 patch for what was merged so far.
	JSONPatch
	// PartHandler is a Python module that handles further content types.
	PartHandler
	// Jinja is a template; JinjaKind tells what it renders to.
	Jinja
	// MIME is a message with headers, usually multipart/mixed.
	MIME
	// Gzip is compressed user-data of any kind.
	Gzip

	// Ignition is a configuration for Ignition, which cloud-init ignores.
	Ignition
	// Base64 is encoded user-data, which cloud-init ignores on most platforms.
	Base64
)

// contentTypes is indexed by Kind.
var contentTypes = [...]string{
	Unknown: "text/x-not-multipart", Empty: "text/x-not-multipart",
	CloudConfig: "text/cloud-config", Script: "text/x-shellscript",
	ScriptPerBoot: "text/x-shellscript-per-boot", ScriptPerInstance: "text/x-shellscript-per-instance",
	ScriptPerOnce: "text/x-shellscript-per-once", Boothook: "text/cloud-boothook",
	Include: "text/x-include-url", IncludeOnce: "text/x-include-once-url",
	Archive: "text/cloud-config-archive", JSONPatch: "text/cloud-config-jsonp",
	PartHandler: "text/part-handler", Jinja: "text/jinja2", MIME: "multipart/mixed", Gzip: "application/gzip",
	Ignition: "application/vnd.coreos.ignition+json", Base64: "text/x-not-multipart",
}

// ContentType returns the MIME type under which cloud-init handles the kind. Kinds that it does not handle have the
// type that it gives to all of them, text/x-not-multipart.
func (k Kind) ContentType() string {
	if int(k) < len(contentTypes) {
		return contentTypes[k]
	}
	return contentTypes[Unknown]
}

// String returns the content type, or a word for the kinds that have none of their own.
func (k Kind) String() string {
	switch k {
	case Unknown:
		return "unknown"
	case Empty:
		return "empty"
	case Base64:
		return "base64"
	}
	return k.ContentType()
}

// KindOf returns the kind that cloud-init handles under a content type, or Unknown. Parameters of the type and its
// case don't matter.
func KindOf(contentType string) Kind {
	t, _, _ := strings.Cut(contentType, ";")
	t = strings.ToLower(strings.TrimSpace(t))
	if t == "" || t == contentTypes[Unknown] {
		return Unknown
	}
	if strings.HasPrefix(t, "multipart/") {
		return MIME
	}
	if gzipTypes.MatchString(t) {
		return Gzip
	}
	for k, name := range contentTypes {
		if name == t {
			return Kind(k)
		}
	}
	return Unknown
}

// gzipTypes are the spellings under which cloud-init unpacks a part.
var gzipTypes = regexp.MustCompile(`^application/(gzip|gzip-compressed|gzipped|x-compress|x-compressed|x-gunzip|x-gzip|x-gzip-compressed)$`)

// prefixes are ordered by length, because the longest match decides.
var prefixes = [...]struct {
	text string
	kind Kind
}{
	{"text/x-shellscript-per-instance", ScriptPerInstance},
	{"text/x-shellscript-per-boot", ScriptPerBoot},
	{"text/x-shellscript-per-once", ScriptPerOnce},
	{"#cloud-config-archive", Archive},
	{"#cloud-config-jsonp", JSONPatch},
	{"## template: jinja", Jinja},
	{"#cloud-boothook", Boothook},
	{"#include-once", IncludeOnce},
	{"#part-handler", PartHandler},
	{"#cloud-config", CloudConfig},
	{"#include", Include},
	{"#!", Script},
}

// mimeWindow is how far cloud-init looks for a MIME-Version header.
const mimeWindow = 4096

// mimeHeader is what Python's email parser takes for the first line of a header block.
var mimeHeader = regexp.MustCompile(`^(From |[!-9;-~]*:|[\t ])`)

var ignitionKey = regexp.MustCompile(`"ignition"\s*:\s*\{`)

// Recognise tells the kind of user-data in the order that cloud-init uses: gzip by its magic bytes, MIME by a
// MIME-Version within the first 4096 bytes, else the longest known prefix behind leading white space, in any case.
func Recognise(data []byte) Kind {
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return Gzip
	}
	head := data[:min(len(data), mimeWindow)]
	if bytes.Contains(bytes.ToLower(head), []byte("mime-version:")) && mimeHeader.Match(data) {
		return MIME
	}
	return RecogniseText(data)
}

// RecogniseText tells the kind by the first line alone, as cloud-init does for a MIME part without a type of its own.
func RecogniseText(data []byte) Kind {
	text := trimLeft(data)
	if len(text) == 0 {
		return Empty
	}
	head := strings.ToLower(string(text[:min(len(text), 64)]))
	for _, p := range prefixes {
		if strings.HasPrefix(head, p.text) {
			return p.kind
		}
	}
	if text[0] == '{' && ignitionKey.Match(text) {
		return Ignition
	}
	if looksEncoded(text) {
		return Base64
	}
	return Unknown
}

// JinjaKind tells what a jinja template renders to: the kind of the text behind its header line. A template that
// computes its own first line is Unknown.
func JinjaKind(data []byte) Kind {
	_, body, _ := bytes.Cut(trimLeft(data), []byte("\n"))
	return RecogniseText(body)
}

// trimLeft removes leading white space as Python's str.lstrip does.
func trimLeft(data []byte) []byte {
	return bytes.TrimLeftFunc(data, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f })
}

// looksEncoded reports whether text is base64 of something that cloud-init would know.
func looksEncoded(text []byte) bool {
	var packed []byte
	for _, c := range text {
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/', c == '=':
			packed = append(packed, c)
		case c == '\n', c == '\r', c == ' ', c == '\t':
		default:
			return false
		}
	}
	if len(packed) < 12 {
		return false
	}
	inner, err := base64.StdEncoding.DecodeString(string(packed))
	if err != nil {
		return false
	}
	switch Recognise(inner) {
	case Unknown, Empty, Base64:
		return false
	}
	return true
}

// Describe returns the kind in words for messages.
func (k Kind) Describe() string {
	words := [...]string{
		Unknown: "text of no known kind", Empty: "empty", CloudConfig: "a cloud-config", Script: "a script",
		ScriptPerBoot: "a script for every boot", ScriptPerInstance: "a script for every instance",
		ScriptPerOnce: "a script for one time", Boothook: "a boothook", Include: "an include file",
		IncludeOnce: "an include-once file", Archive: "a cloud-config-archive", JSONPatch: "a JSON patch of a cloud-config",
		PartHandler: "a part handler", Jinja: "a jinja template", MIME: "a MIME message", Gzip: "gzip data",
		Ignition: "an Ignition config", Base64: "base64 text",
	}
	if int(k) < len(words) {
		return words[k]
	}
	return words[Unknown]
}

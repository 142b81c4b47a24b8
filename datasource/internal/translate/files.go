package translate

import (
	"encoding/base64"
	"path"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Bounds of what is unpacked: one compressed content, and all of a document.
const (
	maxContent  = 16 << 20
	maxContents = 64 << 20
)

// fileKeys are the handlers of keys about files.
func (r *reader) fileKeys() keys { return keys{"write_files": r.writeFiles} }

func (r *reader) writeFiles(v value) {
	for _, item := range r.items(v) {
		r.file(item)
	}
}

// file reads an item of write_files (cc_write_files.py).
func (r *reader) file(v value) {
	var f machine.File
	var encoding string
	content := value{}
	source := false
	r.mapping(v, keys{
		"path":        r.setText("", &f.Path),
		"content":     func(v value) { content = v },
		"encoding":    r.setText("", &encoding),
		"owner":       r.setText("", &f.Owner),
		"permissions": func(v value) { f.Mode = r.mode(v) },
		"append":      r.setTrue("", &f.Append),
		"defer":       r.setTrue("", &f.Defer),
		"source": func(v value) {
			source = true
			r.lost(v, "give the content itself, or fetch it with runcmd")
		},
	}, "")
	if f.Path == "" {
		if v.kind() == cloudconfig.Map {
			r.say(CodeValue, diag.Warning, v, "give the file a path", "a file without a path is left out")
		}
		return
	}
	if source && content.node == nil {
		return
	}
	f.Path = path.Clean("/" + f.Path)
	data, ok := r.content(content, encoding)
	if !ok {
		return
	}
	if data != "" {
		f.Content = secret.New(data)
	}
	r.m.Files = append(r.m.Files, f)
	r.member("files", v)
}

// mode reads permissions: a text of octal digits, or a number. The bit of a regular file, which chmod ignores, tells the
// mode 0000 from none.
func (r *reader) mode(v value) machine.Mode {
	bits := int64(-1)
	if n, ok := cloudconfig.Integer(v.node); ok && n.IsInt64() {
		bits = n.Int64()
	} else if v.kind() == cloudconfig.String {
		digits := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(v.node.Value)), "0o")
		if n, err := strconv.ParseInt(digits, 8, 32); err == nil {
			bits = n
		}
	}
	switch {
	case bits < 0 || bits > 0o777777:
		if v.kind() != cloudconfig.Null {
			r.say(CodeValue, diag.Warning, v, `write octal digits in quotes, such as "0644"`, "these are no permissions, so the file has mode 0644")
		}
		return 0
	case bits == 0:
		return 0 // cloud-init passes over it
	case bits&0o7777 == 0:
		return machine.NoAccess
	}
	return machine.Mode(bits & 0o7777)
}

// content decodes the content of a file. Missing content is an empty file.
func (r *reader) content(v value, encoding string) (string, bool) {
	if v.node == nil || v.kind() == cloudconfig.Null {
		return "", true
	}
	var data string
	switch v.kind() {
	case cloudconfig.Binary:
		raw, err := decodeBase64(v.node.Value)
		if err != nil {
			r.say(CodeValue, diag.Warning, v, "encode it again", "the content is no base64, so the file is left out")
			return "", false
		}
		data = string(raw)
	case cloudconfig.String:
		data = v.node.Value
	default: // cloud-init fails on a number, with all files behind it
		r.say(CodeValue, diag.Warning, v, "put the content into quotes", "the content is no text, so the file is left out")
		return "", false
	}
	word := strings.ToLower(strings.TrimSpace(encoding))
	packed := strings.HasPrefix(word, "gz")
	switch word {
	case "", "text/plain", "gz", "gzip":
	case "b64", "base64", "gz+b64", "gz+base64", "gzip+b64", "gzip+base64":
		raw, err := decodeBase64(data)
		if err != nil {
			r.say(CodeValue, diag.Error, v, "encode it again", "the content is no base64")
			return "", false
		}
		data = string(raw)
	default:
		packed = false
		r.say(CodeValue, diag.Warning, v, "use b64, gz+b64 or gz", "the encoding is unknown, so the content is taken as it stands")
	}
	if packed {
		raw, err := bounded.Gunzip([]byte(data), int64(min(maxContent, maxContents-r.unpacked)))
		if err != nil {
			r.say(CodeValue, diag.Error, v, "compress it again", "the content does not unpack: %v", err)
			return "", false
		}
		data = string(raw)
		r.unpacked += len(raw)
	}
	return data, true
}

// decodeBase64 takes line breaks and blanks for what they are, as Python does.
func decodeBase64(s string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
}

// Package mimepart builds and reads the MIME messages in which cloud-init takes several pieces of user-data at once.
//
// Messages are built so that Python's email package, with which cloud-init reads them, gives every part back byte for
// byte: a text that is ASCII with short lines stands as it is, all else is base64, because that package garbles 8-bit
// text. The boundary is computed from the parts, so that the same parts make the same message.
package mimepart

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vmseed/vmseed/diag"
)

// Field is a header field with its name as written: cloud-init compares the names of its own fields exactly.
type Field struct{ Name, Value string }

// Part is one piece of user-data.
type Part struct {
	// ContentType is the type without parameters, such as text/cloud-config.
	ContentType string
	// Filename names the part: scripts run in the order of their file names. cloud-init invents one if it is empty.
	Filename string
	// MergeType says how a cloud-config is merged into the parts before it, such as list(append)+dict()+str().
	MergeType string
	// Header holds further fields. Parse puts all fields of the part here.
	Header []Field
	// Data is the content, decoded.
	Data []byte
	// Origin is where Data was read from. Build does not look at it.
	Origin diag.Origin
}

// Get returns the value of the first header field with exactly this name, or "".
func (p Part) Get(name string) string {
	for _, f := range p.Header {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// ErrPart is wrapped by errors about parts that no message can hold.
var ErrPart = errors.New("the part does not fit into a MIME message")

// maxLine is the longest line that stands in a message as it is; RFC 5322 section 2.1.1 allows 998.
const maxLine = 990

// Build returns the message multipart/mixed of the parts in order. At least one part is needed.
func Build(parts []Part) ([]byte, error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrPart)
	}
	blocks := make([][]byte, len(parts))
	for i, p := range parts {
		block, err := p.encode()
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i+1, err)
		}
		blocks[i] = block
	}
	boundary := boundaryFor(blocks)
	var b bytes.Buffer
	fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=\"%s\"\nMIME-Version: 1.0\n\n", boundary)
	for _, block := range blocks {
		fmt.Fprintf(&b, "--%s\n%s\n", boundary, block)
	}
	fmt.Fprintf(&b, "--%s--\n", boundary)
	return b.Bytes(), nil
}

// boundaryFor derives a boundary that stands in none of the blocks.
func boundaryFor(blocks [][]byte) string {
	for n := 0; ; n++ {
		h := sha256.New()
		for _, block := range blocks {
			fmt.Fprintf(h, "%d %d\n", n, len(block))
			h.Write(block)
		}
		boundary := "part-" + hex.EncodeToString(h.Sum(nil)[:16])
		taken := false
		for _, block := range blocks {
			taken = taken || bytes.Contains(block, []byte(boundary))
		}
		if !taken {
			return boundary
		}
	}
}

// encode returns header and body of the part.
func (p Part) encode() ([]byte, error) {
	kind := strings.ToLower(strings.TrimSpace(p.ContentType))
	mediaType, _, err := mime.ParseMediaType(kind)
	if err != nil || mediaType != kind || !strings.Contains(kind, "/") || strings.HasPrefix(kind, "multipart/") {
		return nil, fmt.Errorf("%w: %q is no content type for it", ErrPart, p.ContentType)
	}
	var b bytes.Buffer
	if strings.HasPrefix(kind, "text/") {
		charset := "us-ascii"
		if !ascii(p.Data) {
			charset = "utf-8"
		}
		kind += `; charset="` + charset + `"`
	}
	asIs := plainBody(p.Data)
	encoding := "base64"
	if asIs {
		encoding = "7bit"
	}
	fmt.Fprintf(&b, "Content-Type: %s\nMIME-Version: 1.0\nContent-Transfer-Encoding: %s\n", kind, encoding)
	if p.Filename != "" {
		disposition, err := attachment(p.Filename)
		if err != nil {
			return nil, err
		}
		b.WriteString("Content-Disposition: " + disposition + "\n")
	}
	fields := p.Header
	if p.MergeType != "" {
		fields = append([]Field{{"Merge-Type", p.MergeType}}, fields...)
	}
	for _, f := range fields {
		if reserved(f.Name) {
			return nil, fmt.Errorf("%w: the field %s is set by the builder", ErrPart, f.Name)
		}
		if !token(f.Name) || !ascii([]byte(f.Value)) || strings.ContainsAny(f.Value, "\r\n\x00") {
			return nil, fmt.Errorf("%w: the field %q is not one line of ASCII text", ErrPart, f.Name)
		}
		b.WriteString(f.Name + ": " + f.Value + "\n")
	}
	b.WriteByte('\n')
	if asIs {
		b.Write(p.Data)
		return b.Bytes(), nil
	}
	text := base64.StdEncoding.EncodeToString(p.Data)
	for len(text) > 76 {
		b.WriteString(text[:76] + "\n")
		text = text[76:]
	}
	b.WriteString(text)
	return b.Bytes(), nil
}

func reserved(name string) bool {
	switch strings.ToLower(name) {
	case "content-type", "mime-version", "content-transfer-encoding", "content-disposition":
		return true
	}
	return false
}

// token reports whether a name is one of a header field (RFC 5322 section 2.2).
func token(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || c == ':' {
			return false
		}
	}
	return s != ""
}

func ascii(data []byte) bool {
	for _, c := range data {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plainBody reports whether Python's email package gives a body back unchanged when it stands as it is.
func plainBody(data []byte) bool {
	length := 0
	for _, c := range data {
		length++
		switch {
		case c == '\n':
			length = 0
		case c == '\t':
		case c < ' ' || c >= 0x7f:
			return false
		}
		if length > maxLine {
			return false
		}
	}
	return true
}

// attachment returns the Content-Disposition for a file name: quoted text, or RFC 2231 when it isn't ASCII.
func attachment(name string) (string, error) {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("%w: the file name %s holds characters that no file name has", ErrPart, strconv.Quote(name))
	}
	if ascii([]byte(name)) {
		return `attachment; filename="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`, nil
	}
	var b strings.Builder
	b.WriteString("attachment; filename*=utf-8''")
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String(), nil
}

package mimepart

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/quotedprintable"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
)

// Budgets for one message.
const (
	maxNesting = 20
	maxParts   = 1000
)

// Parse reads a message as Python's email package does and returns its parts in order, those of nested multiparts in
// their place. A message that is no multipart is a single part. Content transfer encodings are undone; a part that is
// gzip stays so. Lines of a part that stands as it is keep their places.
//
// The list warns about what that package swallows silently: a missing closing boundary, text outside of the parts, a
// part whose encoding does not decode.
func Parse(origin diag.Origin, data []byte) ([]Part, diag.List) {
	r := reader{origin: origin}
	r.message(splitLines(data), 1, 0)
	return r.parts, r.list
}

type reader struct {
	origin diag.Origin
	parts  []Part
	list   diag.List
	full   bool
}

// splitLines cuts data behind each line end, which is kept.
func splitLines(data []byte) [][]byte {
	var lines [][]byte
	for line := range bytes.Lines(data) {
		lines = append(lines, line)
	}
	return lines
}

func chomp(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

var fieldLine = regexp.MustCompile(`^([!-9;-~]+):[ \t]*(.*)$`)

// header reads the fields at the start of lines and returns them with the number of lines that they take.
func header(lines [][]byte) ([]Field, int) {
	var fields []Field
	for i, raw := range lines {
		line := string(chomp(raw))
		switch m := fieldLine.FindStringSubmatch(line); {
		case line == "":
			return fields, i + 1
		case (line[0] == ' ' || line[0] == '\t') && len(fields) > 0:
			last := &fields[len(fields)-1]
			last.Value += " " + strings.TrimSpace(line)
		case m != nil:
			fields = append(fields, Field{m[1], strings.TrimRight(m[2], " \t")})
		case i == 0 && strings.HasPrefix(line, "From "):
		default:
			return fields, i // the body starts without a blank line
		}
	}
	return fields, len(lines)
}

// fold returns the first field of a name in any case.
func fold(fields []Field, name string) string {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// message reads an entity whose first line is line number first of the text.
func (r *reader) message(lines [][]byte, first, depth int) {
	if len(r.parts) >= maxParts || depth > maxNesting {
		if !r.full {
			r.full = true
			r.list.Errorf(CodeTooMany, r.origin.At(first, 1), "use fewer parts, and don't nest multiparts",
				"the message has more than %d parts or nests deeper than %d", maxParts, maxNesting)
		}
		return
	}
	fields, n := header(lines)
	body, line := lines[n:], first+n
	mediaType, params := contentType(fold(fields, "Content-Type"))
	boundary := params["boundary"]
	if strings.HasPrefix(mediaType, "multipart/") && boundary != "" {
		r.multipart(body, line, boundary, depth)
		return
	}
	if strings.HasPrefix(mediaType, "multipart/") {
		r.list.Errorf(CodeBoundary, r.origin.At(first, 1), "add boundary=... to its Content-Type",
			"this multipart names no boundary, so that cloud-init finds no part in it")
		return
	}
	p := Part{ContentType: mediaType, Filename: filename(fields, params), Header: fields}
	for _, name := range []string{"Merge-Type", "X-Merge-Type"} {
		if p.MergeType == "" {
			p.MergeType = p.Get(name)
		}
	}
	p.Data, p.Origin = r.decode(fold(fields, "Content-Transfer-Encoding"), body, line)
	r.parts = append(r.parts, p)
}

// contentType reads a Content-Type as leniently as Python does; what is unusable counts as text/plain.
func contentType(value string) (string, map[string]string) {
	if value == "" {
		return "text/plain", nil
	}
	mediaType, params, err := mime.ParseMediaType(value)
	if err != nil || strings.Count(mediaType, "/") != 1 {
		mediaType, _, _ = strings.Cut(value, ";")
		mediaType = strings.ToLower(strings.TrimSpace(mediaType))
		if strings.Count(mediaType, "/") != 1 {
			mediaType = "text/plain"
		}
	}
	return mediaType, params
}

func filename(fields []Field, typeParams map[string]string) string {
	if _, params, err := mime.ParseMediaType(fold(fields, "Content-Disposition")); err == nil && params["filename"] != "" {
		return params["filename"]
	}
	return typeParams["name"]
}

// multipart cuts a body at its boundary lines.
func (r *reader) multipart(lines [][]byte, first int, boundary string, depth int) {
	start, closed := -1, false
	emit := func(end int) {
		if start < 0 {
			return
		}
		r.message(withoutLastBreak(lines[start:end]), first+start, depth+1)
	}
	for i, raw := range lines {
		rest, ok := strings.CutPrefix(string(chomp(raw)), "--"+boundary)
		rest = strings.TrimRight(rest, " \t")
		if !ok || rest != "" && rest != "--" {
			continue
		}
		emit(i)
		start = i + 1
		if rest == "--" {
			closed = true
			r.epilogue(lines[start:], first+start)
			break
		}
	}
	if closed {
		return
	}
	if start < 0 {
		r.list.Errorf(CodeBoundary, r.origin.At(first, 1), "make the lines between the parts -- followed by the boundary",
			"the boundary that this multipart names stands nowhere in it, so that cloud-init finds no part")
		return
	}
	r.list.Warnf(CodeBoundary, r.origin.At(first+len(lines)-1, 1), "end the message with the boundary between two pairs of dashes",
		"the multipart has no closing boundary; it may have been cut off")
	emit(len(lines))
}

// withoutLastBreak takes the last line end away: it belongs to the boundary, even to one that is missing.
func withoutLastBreak(lines [][]byte) [][]byte {
	n := len(lines)
	if n == 0 {
		return nil
	}
	last := chomp(lines[n-1])
	if len(last) == 0 {
		return lines[:n-1]
	}
	return append(slices.Clone(lines[:n-1]), last)
}

// epilogue warns about text behind the closing boundary, which nobody reads.
func (r *reader) epilogue(lines [][]byte, first int) {
	for i, line := range lines {
		if len(bytes.TrimSpace(line)) > 0 {
			r.list.Warnf(CodeOutside, r.origin.At(first+i, 1), "move it into a part before the closing boundary",
				"text behind the closing boundary is ignored")
			return
		}
	}
}

// decode undoes a transfer encoding. Text that stands as it is keeps the places of its lines.
func (r *reader) decode(encoding string, lines [][]byte, first int) ([]byte, diag.Origin) {
	raw := bytes.Join(lines, nil)
	whole := diag.Origin{Whole: r.origin.At(first, 1), What: r.origin.What}
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		data, ok := decodeBase64(raw)
		if !ok {
			r.list.Errorf(CodeEncoding, r.origin.At(first, 1), "encode the part again",
				"the part says that it is base64, and it is not")
		}
		return data, whole
	case "quoted-printable":
		data, err := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(raw)))
		if err != nil {
			r.list.Errorf(CodeEncoding, r.origin.At(first, 1), "encode the part again",
				"the part says that it is quoted-printable, and it is not")
		}
		return data, whole
	}
	if r.origin.Lines == nil {
		return raw, whole
	}
	for i := range lines {
		whole.Lines = append(whole.Lines, r.origin.At(first+i, 1).Start)
	}
	return raw, whole
}

// decodeBase64 ignores characters outside the alphabet, as Python does.
func decodeBase64(raw []byte) ([]byte, bool) {
	packed := bytes.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' {
			return c
		}
		return -1
	}, raw)
	data, err := base64.RawStdEncoding.DecodeString(string(packed))
	return data, err == nil
}

package diag

import (
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a text. Line and Column count from 1; Column counts characters, not bytes. A zero Line means
// that the place is unknown.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Range is a stretch of a file. End is the place behind its last character; a zero End means that only the start
// is known.
type Range struct {
	File  string `json:"file,omitempty"`
	Start Pos    `json:"start,omitzero"`
	End   Pos    `json:"end,omitzero"`
}

// At returns the range that starts at line and column of file, with an unknown end.
func At(file string, line, column int) Range {
	return Range{File: file, Start: Pos{Line: line, Column: column}}
}

// IsZero reports whether the range names no place at all.
func (r Range) IsZero() bool { return r == Range{} }

// String returns file:line:col, without the parts that are unknown.
func (r Range) String() string {
	switch {
	case r.Start.Line == 0:
		return r.File
	case r.File == "":
		return fmt.Sprintf("%d:%d", r.Start.Line, r.Start.Column)
	}
	return fmt.Sprintf("%s:%d:%d", r.File, r.Start.Line, r.Start.Column)
}

// Origin says where a text that was taken out of a document stands in that document: a YAML block scalar, a value
// of a Secret, a file of its own. It turns a place inside the text into a place the user can edit.
type Origin struct {
	// Whole is the place of the whole value. It answers for every line when Lines is nil, as for base64 text.
	Whole Range
	// Lines holds, for each line of the text, where its first character stands in the file. It is nil when the text
	// does not stand in the file line by line, and empty but not nil when the text is the whole file.
	Lines []Pos
	// What names the text in words for messages, such as "Secret default/keys, key userdata". It may be empty.
	What string
}

// File returns the origin of a text that is the whole of a file.
func File(name string) Origin {
	return Origin{Whole: At(name, 1, 1), Lines: []Pos{}}
}

// IsZero reports whether the origin names no place.
func (o Origin) IsZero() bool { return o.Whole.IsZero() && o.Lines == nil && o.What == "" }

// At returns the place in the file of a line and column (from 1) of the text.
func (o Origin) At(line, column int) Range {
	switch {
	case o.Lines == nil || line < 1:
		return o.Whole
	case len(o.Lines) == 0:
		return At(o.Whole.File, line, max(column, 1))
	case line > len(o.Lines):
		return o.Whole
	}
	first := o.Lines[line-1]
	return At(o.Whole.File, first.Line, first.Column+max(column, 1)-1)
}

// Range carries a range of the text over to the file.
func (o Origin) Range(r Range) Range {
	out := o.At(r.Start.Line, r.Start.Column)
	if o.Lines != nil && r.End.Line > 0 {
		out.End = o.At(r.End.Line, r.End.Column).Start
	}
	return out
}

// Carry moves diagnostics about the text to the file: their ranges become places of the file, and a named origin
// is mentioned where the text does not stand in the file line by line.
func (o Origin) Carry(l List) List {
	out := make(List, len(l))
	for i, d := range l {
		inner := d.Range
		d.Range = o.Range(inner)
		d.Related = slices.Clone(d.Related)
		for j, r := range d.Related {
			d.Related[j].Range = o.Range(r.Range)
		}
		if o.What != "" && !strings.Contains(d.Summary, o.What) {
			d.Summary = fmt.Sprintf("%s: %s", o.describe(inner), d.Summary)
		}
		out[i] = d
	}
	return out
}

// describe names the text, and the line in it when the file cannot show that line itself.
func (o Origin) describe(inner Range) string {
	if o.Lines == nil && inner.Start.Line > 0 {
		return fmt.Sprintf("%s, line %d", o.What, inner.Start.Line)
	}
	return o.What
}

// Index finds the line and column (both from 1) of a byte offset in text.
func Index(text string, offset int) Pos {
	offset = min(max(offset, 0), len(text))
	before := text[:offset]
	line := strings.Count(before, "\n") + 1
	start := strings.LastIndexByte(before, '\n') + 1
	return Pos{Line: line, Column: len([]rune(before[start:])) + 1}
}

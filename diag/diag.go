// Package diag holds what vmseed has to say about its input: diagnostics with a stable code, a severity, a place
// in the file the user wrote, what is wrong and what to do about it.
//
// A diagnostic never contains the value it complains about when that value may be a secret: it names the field.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Severity says how bad a diagnostic is. The zero value is invalid, so that a forgotten severity is noticed.
type Severity uint8

// The severities, from harmless to fatal.
const (
	// Note is for things a reader may want to know, such as a pod field that concerns no guest.
	Note Severity = iota + 1
	// Warning is for input that is used, but probably not as its author meant.
	Warning
	// Error is for input that cannot be used. No product is written when there is one.
	Error
)

// String returns the word that messages use: note, warning or error.
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Error:
		return "error"
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}

// MarshalText encodes the severity as its word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Code is the stable number of a diagnostic. Tests, scripts and documentation refer to it, never to the prose.
// Each package owns a block of one hundred; see ARCHITECTURE.md.
type Code int

// String returns the code as users see and type it: VS1042.
func (c Code) String() string { return fmt.Sprintf("VS%04d", int(c)) }

// MarshalText encodes the code as users see it.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Diagnostic is one remark about the input.
type Diagnostic struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	// Range is the place in the file that the user can edit. A zero Range means that no file is involved.
	Range Range `json:"range,omitzero"`
	// Field is the data path of what the remark is about, such as spec.template.spec.volumes[1].name.
	Field string `json:"field,omitempty"`
	// Summary says what is wrong, in lower case and without a final stop.
	Summary string `json:"summary"`
	// Remedy says what to do about it. It may be empty when the summary already does.
	Remedy string `json:"remedy,omitempty"`
	// Related names further places, such as the first of two equal keys.
	Related []Related `json:"related,omitempty"`
}

// Related is a further place that helps to understand a diagnostic. One without a message is a place of which the diagnostic
// says the same; it is for programs, and texts for people leave it out.
type Related struct {
	Range   Range  `json:"range"`
	Message string `json:"message"`
}

// Error returns the one-line form: file:line:col: error[VS1042]: field: what is wrong; what to do.
func (d Diagnostic) Error() string {
	var b strings.Builder
	if place := d.Range.String(); place != "" {
		b.WriteString(place)
		b.WriteString(": ")
	}
	fmt.Fprintf(&b, "%s[%s]: ", d.Severity, d.Code)
	if d.Field != "" {
		b.WriteString(d.Field)
		b.WriteString(": ")
	}
	if d.Remedy == "" {
		b.WriteString(d.Summary)
	} else {
		// The words of other programs may end in a full stop.
		b.WriteString(withoutStop(d.Summary) + "; " + d.Remedy)
	}
	return oneLine(b.String())
}

// withoutStop leaves out the full stop that ends a sentence, and keeps the dots of names such as "..".
func withoutStop(s string) string {
	rest, ok := strings.CutSuffix(s, ".")
	if !ok || rest == "" || strings.ContainsAny(rest[len(rest)-1:], "./ ") {
		return s
	}
	return rest
}

// oneLine writes control characters as Go does, because names that a file makes up stand in messages: they must not end a
// line, nor speak to a terminal.
func oneLine(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !unicode.IsControl(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// With returns the diagnostic with a further place attached.
func (d Diagnostic) With(r Range, message string) Diagnostic {
	d.Related = append(slices.Clip(d.Related), Related{Range: r, Message: message})
	return d
}

// List is an ordered set of diagnostics. The zero value is an empty list.
type List []Diagnostic

// Add appends a diagnostic.
func (l *List) Add(d Diagnostic) { *l = append(*l, d) }

// Errorf appends an error at r. The remedy may be empty; format and args make the summary.
func (l *List) Errorf(code Code, r Range, remedy, format string, args ...any) {
	l.Add(Diagnostic{Code: code, Severity: Error, Range: r, Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// Warnf appends a warning at r. The remedy may be empty; format and args make the summary.
func (l *List) Warnf(code Code, r Range, remedy, format string, args ...any) {
	l.Add(Diagnostic{Code: code, Severity: Warning, Range: r, Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// Notef appends a note at r. The remedy may be empty; format and args make the summary.
func (l *List) Notef(code Code, r Range, remedy, format string, args ...any) {
	l.Add(Diagnostic{Code: code, Severity: Note, Range: r, Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// Max returns the highest severity in the list, or 0 when it is empty.
func (l List) Max() Severity {
	var worst Severity
	for _, d := range l {
		worst = max(worst, d.Severity)
	}
	return worst
}

// HasErrors reports whether the list holds an error.
func (l List) HasErrors() bool { return l.Max() >= Error }

// Err returns the list as an error when it holds one, else nil.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

// Error joins the errors of the list, one a line. Warnings and notes are left out.
func (l List) Error() string {
	var lines []string
	for _, d := range l {
		if d.Severity == Error {
			lines = append(lines, d.Error())
		}
	}
	return strings.Join(lines, "\n")
}

// Sorted returns the diagnostics ordered by file and place, without exact repeats. Diagnostics at the same place
// keep their order.
func (l List) Sorted() List {
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Range.File, b.Range.File),
			cmp.Compare(a.Range.Start.Line, b.Range.Start.Line),
			cmp.Compare(a.Range.Start.Column, b.Range.Start.Column),
		)
	})
	return slices.CompactFunc(out, func(a, b Diagnostic) bool {
		return a.Error() == b.Error()
	})
}

// Explanation is what `vmseed explain` prints for a code.
type Explanation struct {
	Code Code
	// Title names the trouble in a few words.
	Title string
	// Text says why vmseed complains and how to mend it, in Markdown.
	Text string
}

package unattend

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/secret"
)

// placeholder is a name between dollar signs, as the templates of oVirt have them.
var placeholder = regexp.MustCompile(`\$[A-Za-z]+\$`)

// values are what takes the place of each placeholder of oVirt's SysprepHandler.
func (a Answers) values() map[string]string {
	return map[string]string{
		"$ComputerName$": a.ComputerName, "$TimeZone$": a.TimeZone, "$OrgName$": a.Organization, "$ProductKey$": a.ProductKey.Reveal(),
		"$AdminPassword$": a.AdministratorPassword.Reveal(), "$JoinDomain$": a.Domain, "$DomainAdmin$": a.Join.User,
		"$DomainAdminPassword$": a.Join.Password.Reveal(), "$MachineObjectOU$": a.OU, "$InputLocale$": a.InputLocale,
		"$SystemLocale$": a.SystemLocale, "$UserLocale$": a.UserLocale, "$UILanguage$": a.UILanguage, "$SetupUiLanguageUiLanguage$": a.UILanguage,
	}
}

// Placeholders returns the placeholders of a template that Fill knows, each once, in the order of their first use.
func Placeholders(template string) []string {
	known := Answers{}.values()
	var out []string
	for _, name := range placeholder.FindAllString(template, -1) {
		if _, ok := known[name]; ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Fill puts answers into a template in the place of oVirt's placeholders, such as $ComputerName$, and leaves every other
// byte as it is. Where the template is XML the values are coded as the place needs: in a CDATA section otherwise than in
// text. It also returns the placeholders for which there is no answer; they become empty.
func Fill(template secret.Text, a Answers) (filled secret.Text, unanswered []string) {
	values := a.values()
	var out strings.Builder
	text, at := template.Reveal(), 0
	for _, m := range placeholder.FindAllStringIndex(text, -1) {
		name := text[m[0]:m[1]]
		value, known := values[name]
		if !known {
			continue
		}
		if value == "" && !slices.Contains(unanswered, name) {
			unanswered = append(unanswered, name)
		}
		out.WriteString(text[at:m[0]])
		if inCDATA(text[:m[0]]) {
			out.WriteString(strings.ReplaceAll(value, "]]>", "]]]]><![CDATA[>"))
		} else {
			out.WriteString(strings.ReplaceAll(escape(value), `"`, "&quot;"))
		}
		at = m[1]
	}
	out.WriteString(text[at:])
	return secret.New(out.String()), unanswered
}

// inCDATA reports whether text ends inside a CDATA section.
func inCDATA(text string) bool {
	open := strings.LastIndex(text, "<![CDATA[")
	return open >= 0 && !strings.Contains(text[open:], "]]>")
}

// Errors of Inspect.
var (
	// ErrNotAnswers means that a text is XML, but no answer file.
	ErrNotAnswers = errors.New("the outermost element is not unattend")
	// ErrDTD means that a text has a document type declaration, which answer files have not.
	ErrDTD = errors.New("it has a document type declaration")
)

// SyntaxError is text that is not well-formed.
type SyntaxError struct {
	// Line and Column say where, both from 1.
	Line, Column int
	// What says what is wrong. It holds at most names of elements, never text.
	What string
}

// Error returns what is wrong.
func (e *SyntaxError) Error() string { return e.What }

// Inspect reads an answer file and returns its configuration passes in their order. Its errors are ErrNotAnswers, ErrDTD
// and *SyntaxError.
func Inspect(file secret.Text) (passes []string, err error) {
	d := xml.NewDecoder(strings.NewReader(file.Reveal()))
	d.Strict = true
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it is text by now, whatever it says
	depth := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && depth == 0 && passes != nil {
			return passes, nil
		}
		if err != nil {
			line, column := d.InputPos()
			return nil, &SyntaxError{line, column, syntax(err)}
		}
		switch t := token.(type) {
		case xml.Directive:
			return nil, ErrDTD
		case xml.EndElement:
			depth--
		case xml.StartElement:
			switch depth++; {
			case depth == 1 && t.Name.Local != "unattend":
				return nil, ErrNotAnswers
			case depth == 1:
				passes = []string{}
			case depth == 2 && t.Name.Local == "settings":
				passes = append(passes, attribute(t, "pass"))
			}
		}
	}
}

func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// syntax says what is wrong without the text around it, which may be a password.
func syntax(err error) string {
	var s *xml.SyntaxError
	if errors.Is(err, io.EOF) {
		return "it ends too early"
	}
	if !errors.As(err, &s) {
		return "it is not well-formed"
	}
	for _, fit := range []string{"unexpected EOF", "closed by", "unexpected end element", "invalid character entity", "illegal character code", "invalid UTF-8"} {
		if strings.Contains(s.Msg, fit) {
			return map[string]string{"unexpected EOF": "it ends too early", "closed by": "an element is closed by the tag of another",
				"unexpected end element": "an element is closed that was not opened", "invalid character entity": "& begins an entity that XML does not have",
				"illegal character code": "it has a control character", "invalid UTF-8": "it is not UTF-8"}[fit]
		}
	}
	return "it is not well-formed"
}

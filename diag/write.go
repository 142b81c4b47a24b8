package diag

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Format is a way to write diagnostics.
type Format string

// The formats that the command offers as --diagnostics.
const (
	Text   Format = "text"
	JSON   Format = "json"
	SARIF  Format = "sarif"
	GitHub Format = "github"
)

// Formats lists the known formats in the order help texts show them.
func Formats() []Format { return []Format{Text, JSON, SARIF, GitHub} }

// Write writes the list in the given format. Text writes a line for each diagnostic and one for each related place;
// JSON writes one object with the member diagnostics; SARIF writes a log of version 2.1.0, with a rule for each code that
// it describes by the given explanations; GitHub writes workflow commands that become annotations of a pull request.
func Write(w io.Writer, f Format, l List, known ...Explanation) error {
	switch f {
	case Text:
		return writeText(w, l)
	case JSON:
		return encode(w, struct {
			Diagnostics List `json:"diagnostics"`
		}{append(List{}, l...)})
	case SARIF:
		return encode(w, sarifLog(l, known))
	case GitHub:
		return writeGitHub(w, l)
	}
	return fmt.Errorf("unknown diagnostics format %q", string(f))
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func writeText(w io.Writer, l List) error {
	var b strings.Builder
	for _, d := range l {
		b.WriteString(d.Error())
		b.WriteByte('\n')
		for _, r := range d.Related {
			if r.Message == "" {
				continue
			}
			b.WriteString("    " + oneLine(r.Range.String()+": "+r.Message) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeGitHub uses the escaping of workflow commands: percent, line breaks, and in properties colon and comma.
func writeGitHub(w io.Writer, l List) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	var b strings.Builder
	for _, d := range l {
		command := d.Severity.String()
		if d.Severity == Note {
			command = "notice"
		}
		props := []string{"title=" + d.Code.String()}
		if d.Range.File != "" {
			props = append(props, "file="+property.Replace(d.Range.File))
		}
		if d.Range.Start.Line > 0 {
			props = append(props, fmt.Sprintf("line=%d,col=%d", d.Range.Start.Line, d.Range.Start.Column))
		}
		bare := d
		bare.Range = Range{}
		fmt.Fprintf(&b, "::%s %s::%s\n", command, strings.Join(props, ","), data.Replace(bare.Error()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
	Message *sarifMessage `json:"message,omitempty"`
}

// sarifRule describes a code (SARIF 2.1.0, section 3.49).
type sarifRule struct {
	ID    string        `json:"id"`
	Short *sarifMessage `json:"shortDescription,omitempty"`
	Help  *sarifHelp    `json:"help,omitempty"`
}

// sarifHelp has the text twice, because viewers that know no Markdown must find it as well.
type sarifHelp struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
	Related   []sarifLocation `json:"relatedLocations,omitempty"`
}

func sarifAt(r Range) sarifLocation {
	var loc sarifLocation
	loc.Physical.Artifact.URI = (&url.URL{Path: filepath.ToSlash(r.File)}).String()
	if r.Start.Line > 0 {
		loc.Physical.Region = &sarifRegion{StartLine: r.Start.Line, StartColumn: r.Start.Column}
	}
	return loc
}

// sarifRules returns a rule for each code of the list, in their order.
func sarifRules(l List, known []Explanation) []sarifRule {
	rules := []sarifRule{}
	codes := make([]Code, 0, len(l))
	for _, d := range l {
		codes = append(codes, d.Code)
	}
	slices.Sort(codes)
	for _, c := range slices.Compact(codes) {
		rule := sarifRule{ID: c.String()}
		if i := slices.IndexFunc(known, func(e Explanation) bool { return e.Code == c }); i >= 0 {
			rule.Short = &sarifMessage{known[i].Title}
			rule.Help = &sarifHelp{known[i].Text, known[i].Text}
		}
		rules = append(rules, rule)
	}
	return rules
}

// sarifLog builds a log with what the SARIF 2.1.0 schema demands and viewers show.
func sarifLog(l List, known []Explanation) any {
	results, rules := []sarifResult{}, sarifRules(l, known)
	for _, d := range l {
		// Place, level and code have members of their own.
		bare := d
		bare.Range = Range{}
		text := strings.TrimPrefix(bare.Error(), fmt.Sprintf("%s[%s]: ", d.Severity, d.Code))
		res := sarifResult{RuleID: d.Code.String(), Level: d.Severity.String(), Message: sarifMessage{text},
			RuleIndex: slices.IndexFunc(rules, func(r sarifRule) bool { return r.ID == d.Code.String() })}
		if d.Range.File != "" {
			res.Locations = append(res.Locations, sarifAt(d.Range))
		}
		for _, r := range d.Related {
			loc := sarifAt(r.Range)
			if r.Message != "" {
				loc.Message = &sarifMessage{r.Message}
			}
			res.Related = append(res.Related, loc)
		}
		results = append(results, res)
	}
	type object = map[string]any
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs": []any{object{
			"tool":       object{"driver": object{"name": "vmseed", "rules": rules}},
			"columnKind": "unicodeCodePoints",
			"results":    results,
		}},
	}
}

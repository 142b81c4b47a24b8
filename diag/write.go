package diag

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
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
// JSON writes one object with the member diagnostics; SARIF writes a log of version 2.1.0; GitHub writes workflow
// commands that become annotations of a pull request.
func Write(w io.Writer, f Format, l List) error {
	switch f {
	case Text:
		return writeText(w, l)
	case JSON:
		return encode(w, struct {
			Diagnostics List `json:"diagnostics"`
		}{append(List{}, l...)})
	case SARIF:
		return encode(w, sarifLog(l))
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

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
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

// sarifLog builds the smallest log that validates against the SARIF 2.1.0 schema.
func sarifLog(l List) any {
	results := []sarifResult{}
	for _, d := range l {
		bare := d
		bare.Range = Range{}
		res := sarifResult{RuleID: d.Code.String(), Level: d.Severity.String(), Message: sarifMessage{bare.Error()}}
		if d.Range.File != "" {
			res.Locations = append(res.Locations, sarifAt(d.Range))
		}
		for _, r := range d.Related {
			loc := sarifAt(r.Range)
			loc.Message = &sarifMessage{r.Message}
			res.Related = append(res.Related, loc)
		}
		results = append(results, res)
	}
	type object = map[string]any
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs": []any{object{
			"tool":       object{"driver": object{"name": "vmseed"}},
			"columnKind": "unicodeCodePoints",
			"results":    results,
		}},
	}
}

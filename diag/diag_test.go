package diag_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
)

func TestError(t *testing.T) {
	for want, d := range map[string]diag.Diagnostic{
		"a.yaml:3:5: error[VS1042]: users[0].name: it is empty; give a name": {Code: 1042, Severity: diag.Error,
			Range: diag.At("a.yaml", 3, 5), Field: "users[0].name", Summary: "it is empty", Remedy: "give a name"},
		"a.yaml: warning[VS0007]: odd":            {Code: 7, Severity: diag.Warning, Range: diag.Range{File: "a.yaml"}, Summary: "odd"},
		"3:5: note[VS1042]: odd":                  {Code: 1042, Severity: diag.Note, Range: diag.At("", 3, 5), Summary: "odd"},
		"error[VS1042]: odd":                      {Code: 1042, Severity: diag.Error, Summary: "odd"},
		`error[VS1042]: a\x1b[31m\nb: "é" is odd`: {Code: 1042, Severity: diag.Error, Field: "a\x1b[31m\nb", Summary: `"é" is odd`},
		"error[VS1042]: it ended; go on":          {Code: 1042, Severity: diag.Error, Summary: "it ended.", Remedy: "go on"},
		"error[VS1042]: no . and ..; go on":       {Code: 1042, Severity: diag.Error, Summary: "no . and ..", Remedy: "go on"},
		"severity(0)[VS1042]: forgotten":          {Code: 1042, Summary: "forgotten"},
	} {
		if got := d.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestList(t *testing.T) {
	var l diag.List
	if l.Max() != 0 || l.HasErrors() || l.Err() != nil || l.Error() != "" {
		t.Error("the empty list has something to say")
	}
	l.Notef(1, diag.At("f", 1, 1), "", "note %d", 1)
	l.Warnf(2, diag.At("f", 2, 1), "mend it", "warning %q", "x")
	if l.Max() != diag.Warning || l.Err() != nil {
		t.Error("a warning is no error")
	}
	l.Errorf(3, diag.At("f", 3, 1), "", "wrong")
	l.Errorf(4, diag.At("f", 4, 1), "", "wrong too")
	err := l.Err()
	if l.Max() != diag.Error || err == nil || err.Error() != "f:3:1: error[VS0003]: wrong\nf:4:1: error[VS0004]: wrong too" {
		t.Errorf("got %v", err)
	}
	var back diag.List
	if !errors.As(err, &back) || len(back) != 4 {
		t.Errorf("the list is lost in the error: %v", back)
	}
}

func TestWith(t *testing.T) {
	d := diag.Diagnostic{Summary: "twice", Related: make([]diag.Related, 0, 8)}
	a, b := d.With(diag.At("f", 1, 1), "first"), d.With(diag.At("f", 2, 1), "second")
	if len(d.Related) != 0 || a.Related[0].Message != "first" || b.Related[0].Message != "second" {
		t.Errorf("the copies share their places: %v, %v", a.Related, b.Related)
	}
}

func TestSorted(t *testing.T) {
	at := func(file string, line, column int, summary string) diag.Diagnostic {
		return diag.Diagnostic{Code: 1, Severity: diag.Error, Range: diag.At(file, line, column), Summary: summary}
	}
	l := diag.List{at("b", 1, 1, "b"), at("a", 10, 1, "ten"), at("a", 2, 9, "nine"), at("a", 2, 1, "z"), at("a", 2, 1, "a"),
		at("a", 2, 1, "a"), at("b", 1, 1, "b"), {Code: 1, Severity: diag.Error, Summary: "nowhere"}}
	before := l.Error()
	var got []string
	for _, d := range l.Sorted() {
		got = append(got, d.Summary)
	}
	if want := "nowhere z a nine ten b"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if l.Error() != before {
		t.Error("sorting changes the list itself")
	}
}

func TestIndex(t *testing.T) {
	text := "one\nzwei ü x\n\r\nend"
	for offset, want := range map[int]diag.Pos{
		-1: {Line: 1, Column: 1}, 0: {Line: 1, Column: 1}, 3: {Line: 1, Column: 4}, 4: {Line: 2, Column: 1},
		9: {Line: 2, Column: 6}, 12: {Line: 2, Column: 8}, 13: {Line: 2, Column: 9}, 14: {Line: 3, Column: 1}, 16: {Line: 4, Column: 1},
		100: {Line: 4, Column: 4},
	} {
		if got := diag.Index(text, offset); got != want {
			t.Errorf("offset %d: got %v, want %v", offset, got, want)
		}
	}
}

// The text of a block scalar: its first line stands in line 7, column 5 of the file, the third was blank.
func blockScalar() diag.Origin {
	return diag.Origin{Whole: diag.At("pod.yaml", 6, 20), What: "annotation x",
		Lines: []diag.Pos{{Line: 7, Column: 5}, {Line: 8, Column: 5}, {Line: 9, Column: 1}}}
}

func TestOrigin(t *testing.T) {
	for name, tt := range map[string]struct {
		o            diag.Origin
		line, column int
		want         string
	}{
		"first line":           {blockScalar(), 1, 1, "pod.yaml:7:5"},
		"column is moved":      {blockScalar(), 2, 4, "pod.yaml:8:8"},
		"column 0":             {blockScalar(), 2, 0, "pod.yaml:8:5"},
		"behind the last line": {blockScalar(), 4, 1, "pod.yaml:6:20"},
		"line 0":               {blockScalar(), 0, 0, "pod.yaml:6:20"},
		"a whole file":         {diag.File("user-data"), 12, 3, "user-data:12:3"},
		"base64":               {diag.Origin{Whole: diag.At("secret.yaml", 4, 11)}, 12, 3, "secret.yaml:4:11"},
		"nowhere":              {diag.Origin{}, 3, 1, ""},
	} {
		if got := tt.o.At(tt.line, tt.column).String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
	inner := diag.Range{Start: diag.Pos{Line: 1, Column: 2}, End: diag.Pos{Line: 2, Column: 3}}
	if got, want := blockScalar().Range(inner), (diag.Range{File: "pod.yaml", Start: diag.Pos{Line: 7, Column: 6}, End: diag.Pos{Line: 8, Column: 7}}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if (diag.Origin{}).IsZero() != true || blockScalar().IsZero() || diag.File("x").IsZero() {
		t.Error("wrong IsZero")
	}
}

// TestSilentPlaces keeps places without a message out of texts for people, and in those for programs.
func TestSilentPlaces(t *testing.T) {
	l := diag.List{diag.Diagnostic{Code: 1, Summary: "these mean nothing"}.With(diag.At("f", 2, 1), "").With(diag.At("f", 3, 1), "and this")}
	for format, want := range map[diag.Format]int{diag.Text: 1, diag.JSON: 2, diag.SARIF: 2} {
		var b strings.Builder
		if err := diag.Write(&b, format, l); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if got := strings.Count(text, "\n    f:") + strings.Count(text, `"file": "f"`) + strings.Count(text, `"uri": "f"`); got != want || strings.Contains(text, `"text": ""`) {
			t.Errorf("%s has %d places, not %d:\n%s", format, got, want, text)
		}
	}
}

func TestCarry(t *testing.T) {
	inner := diag.List{
		{Code: 1, Severity: diag.Error, Range: diag.At("", 2, 3), Summary: "key is given twice",
			Related: []diag.Related{{Range: diag.At("", 1, 1), Message: "first here"}}},
		{Code: 2, Severity: diag.Error, Summary: "annotation x: is empty"},
	}
	for name, tt := range map[string]struct {
		o    diag.Origin
		want string
	}{
		"block scalar": {blockScalar(), "pod.yaml:8:7: error[VS0001]: annotation x: key is given twice\npod.yaml:6:20: error[VS0002]: annotation x: is empty"},
		"base64": {diag.Origin{Whole: diag.At("s.yaml", 4, 11), What: "Secret keys, key u"},
			"s.yaml:4:11: error[VS0001]: Secret keys, key u, line 2: key is given twice\ns.yaml:4:11: error[VS0002]: Secret keys, key u: annotation x: is empty"},
		"file":    {diag.File("u"), "u:2:3: error[VS0001]: key is given twice\nu:1:1: error[VS0002]: annotation x: is empty"},
		"nowhere": {diag.Origin{}, "error[VS0001]: key is given twice\nerror[VS0002]: annotation x: is empty"},
	} {
		got := tt.o.Carry(inner)
		if got.Error() != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got.Error(), tt.want)
		}
	}
	if got := blockScalar().Carry(inner)[0].Related[0].Range.String(); got != "pod.yaml:7:5" {
		t.Errorf("the related place is %s", got)
	}
	if inner[0].Related[0].Range != diag.At("", 1, 1) {
		t.Error("carrying changes the list that it was given")
	}
}

// sample has everything that a format must cope with: related places, no place, line breaks, the characters that
// workflow commands escape, a file name that is no URI.
func sample() diag.List {
	return diag.List{
		diag.Diagnostic{Code: 1042, Severity: diag.Error, Range: diag.Range{File: "dir/a pod.yaml", Start: diag.Pos{Line: 3, Column: 5}, End: diag.Pos{Line: 3, Column: 9}},
			Field: "spec.volumes[1].name", Summary: `the name "x" is taken <twice>`, Remedy: "rename one"}.
			With(diag.At("dir/a pod.yaml", 2, 5), "the first is here"),
		{Code: 7, Severity: diag.Warning, Range: diag.Range{File: "b,c:d.yaml"}, Summary: "100% odd\nin two lines"},
		{Code: 9, Severity: diag.Note, Summary: "nowhere"},
	}
}

func TestWrite(t *testing.T) {
	for format, want := range map[diag.Format]string{
		diag.Text: `dir/a pod.yaml:3:5: error[VS1042]: spec.volumes[1].name: the name "x" is taken <twice>; rename one
    dir/a pod.yaml:2:5: the first is here
b,c:d.yaml: warning[VS0007]: 100% odd\nin two lines
note[VS0009]: nowhere
`,
		diag.GitHub: `::error title=VS1042,file=dir/a pod.yaml,line=3,col=5::error[VS1042]: spec.volumes[1].name: the name "x" is taken <twice>; rename one
::warning title=VS0007,file=b%2Cc%3Ad.yaml::warning[VS0007]: 100%25 odd\nin two lines
::notice title=VS0009::note[VS0009]: nowhere
`,
		diag.JSON: `{
  "diagnostics": [
    {
      "code": "VS1042",
      "severity": "error",
      "range": {
        "file": "dir/a pod.yaml",
        "start": {
          "line": 3,
          "column": 5
        },
        "end": {
          "line": 3,
          "column": 9
        }
      },
      "field": "spec.volumes[1].name",
      "summary": "the name \"x\" is taken <twice>",
      "remedy": "rename one",
      "related": [
        {
          "range": {
            "file": "dir/a pod.yaml",
            "start": {
              "line": 2,
              "column": 5
            }
          },
          "message": "the first is here"
        }
      ]
    },
    {
      "code": "VS0007",
      "severity": "warning",
      "range": {
        "file": "b,c:d.yaml"
      },
      "summary": "100% odd\nin two lines"
    },
    {
      "code": "VS0009",
      "severity": "note",
      "summary": "nowhere"
    }
  ]
}
`,
	} {
		var b strings.Builder
		if err := diag.Write(&b, format, sample()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, b.String()); d != "" {
			t.Errorf("%s: %s", format, d)
		}
	}
}

// TestSARIF reads the members that viewers need, as the SARIF 2.1.0 specification names them.
func TestSARIF(t *testing.T) {
	var b strings.Builder
	known := diag.Explanation{Code: 1042, Title: "name given twice", Text: "Give `name` once."}
	if err := diag.Write(&b, diag.SARIF, sample(), diag.Explanation{Code: 1, Title: "another"}, known); err != nil {
		t.Fatal(err)
	}
	type location struct {
		PhysicalLocation struct {
			ArtifactLocation struct{ URI string }
			Region           struct{ StartLine, StartColumn int }
		}
		Message struct{ Text string }
	}
	var got struct {
		Version string
		Runs    []struct {
			ColumnKind string
			Tool       struct {
				Driver struct {
					Name  string
					Rules []struct {
						ID               string
						ShortDescription struct{ Text string }
						Help             struct{ Text, Markdown string }
					}
				}
			}
			Results []struct {
				RuleID, Level               string
				RuleIndex                   int
				Message                     struct{ Text string }
				Locations, RelatedLocations []location
			}
		}
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	run := got.Runs[0]
	if got.Version != "2.1.0" || run.Tool.Driver.Name != "vmseed" || run.ColumnKind != "unicodeCodePoints" || len(run.Results) != 3 {
		t.Fatalf("got %s", b.String())
	}
	for _, x := range run.Results {
		if rules := run.Tool.Driver.Rules; rules[x.RuleIndex].ID != x.RuleID || strings.Contains(x.Message.Text, "VS") {
			t.Errorf("result %+v of rules %+v", x, rules)
		}
		if rule := run.Tool.Driver.Rules[x.RuleIndex]; (rule.ShortDescription.Text == known.Title) != (x.RuleID == "VS1042") ||
			x.RuleID == "VS1042" && (rule.Help.Text != known.Text || rule.Help.Markdown != known.Text) {
			t.Errorf("rule %+v", rule)
		}
	}
	r := run.Results[0]
	if r.RuleID != "VS1042" || r.Level != "error" || !strings.Contains(r.Message.Text, "rename one") {
		t.Errorf("got %+v", r)
	}
	at, related := r.Locations[0].PhysicalLocation, r.RelatedLocations[0]
	if at.ArtifactLocation.URI != "dir/a%20pod.yaml" || at.Region.StartLine != 3 || at.Region.StartColumn != 5 {
		t.Errorf("got %+v", at)
	}
	if related.Message.Text != "the first is here" || related.PhysicalLocation.Region.StartLine != 2 {
		t.Errorf("got %+v", related)
	}
	if run.Results[1].Level != "warning" || run.Results[2].Level != "note" || run.Results[2].Locations != nil {
		t.Errorf("got %+v", run.Results)
	}
}

func TestWriteEmpty(t *testing.T) {
	for format, want := range map[diag.Format]string{diag.Text: "", diag.GitHub: "", diag.JSON: `"diagnostics": []`, diag.SARIF: `"results": []`} {
		var b strings.Builder
		if err := diag.Write(&b, format, nil); err != nil || !strings.Contains(b.String(), want) || want == "" && b.Len() > 0 {
			t.Errorf("%s: %q, %v", format, b.String(), err)
		}
	}
	if err := diag.Write(&strings.Builder{}, "prose", nil); err == nil {
		t.Error("an unknown format is written")
	}
	if len(diag.Formats()) != 4 {
		t.Errorf("there are %v", diag.Formats())
	}
}

// broken is a writer that fails.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWriteFails(t *testing.T) {
	for _, f := range diag.Formats() {
		if diag.Write(broken{}, f, sample()) == nil {
			t.Errorf("%s: a failed write goes unnoticed", f)
		}
	}
}

package element_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

// FuzzXML reads what comes. What is accepted is well-formed to another reader, survives writing and reading in both
// spellings, and has its places inside of the text.
func FuzzXML(f *testing.F) {
	for _, text := range []string{
		"", "<a/>", "<a b='1' c=\"2\">\n<d>x &amp; y&#10;z</d><![CDATA[ ]]></a>", "<?xml version='1.0'?><a>\r\n<b> </b></a>",
		"<!DOCTYPE a><a/>", "<a>&b;</a>", "<a><b></a></b>", "<x:a xmlns:x='u' x:b='1' b='2'/>", "<a>]]></a>", "<a>\u2028\ufffd</a>", `<a A="">0</a>`, "\ufeff<a>é\n</a>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, l := element.ParseXML("f", []byte(text), bounded.Limits{Bytes: 1 << 16, Depth: 50, Nodes: 1000})
		lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
		for _, d := range l {
			if p := d.Range.Start; d.Code == 0 || d.Summary == "" || p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len([]rune(lines[p.Line-1]))+1 {
				t.Errorf("%s stands outside of the text", d.Error())
			}
		}
		if l.HasErrors() {
			return
		}
		dec := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
		for {
			if _, err := dec.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("it is not well-formed: %v", err)
			}
		}
		places(t, e.Document("f"), lines)
		checkRoundTrip(t, e)
	})
}

// places demands that every value stands in the text, and that the lines of every text are those of the file.
func places(t *testing.T, v tree.Value, lines []string) {
	t.Helper()
	p := v.Range().Start
	if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len([]rune(lines[p.Line-1]))+1 {
		t.Errorf("%s stands at %v", v.Path(), p)
	}
	for _, e := range v.Entries() {
		places(t, e.Value, lines)
	}
	for _, item := range v.Items() {
		places(t, item, lines)
	}
	if v.Kind() != tree.Scalar {
		return
	}
	text := strings.Split(v.Node().Value, "\n")
	for i, at := range v.Origin("").Lines {
		rest := string([]rune(lines[at.Line-1])[at.Column-1:])
		// References, comments and CDATA sections are other characters in the file, and so is a carriage return.
		if !strings.HasPrefix(rest, text[i]) && !strings.ContainsAny(rest, "&<\r") && !strings.Contains(rest, "]]>") {
			t.Errorf("line %d of %s is %q, and %q stands at its place", i+1, v.Path(), text[i], rest)
		}
	}
}

func checkRoundTrip(t *testing.T, e element.Element) {
	t.Helper()
	out, err := e.XML()
	if err != nil {
		// Names are read more freely than they are written.
		if !strings.Contains(err.Error(), "cannot be the name") {
			t.Errorf("what was read cannot be written: %v", err)
		}
		return
	}
	back, l := element.ParseXML("f", out, bounded.Limits{})
	if l.HasErrors() || !back.Equal(e) {
		t.Errorf("it reads back as something else: %v\n%s", l, out)
	}
	first, err := e.JSON()
	if err != nil {
		t.Fatalf("it cannot be written as JSON: %v", err)
	}
	if len(e.Children)+len(e.Attrs) == 0 && e.Text != "" {
		return
	}
	again, l := element.ParseJSON("f", first, e.Name, bounded.Limits{})
	second, err := again.JSON()
	if l.HasErrors() || err != nil || string(first) != string(second) {
		t.Errorf("JSON reads back as something else: %v %v\n%s\n%s", l, err, first, second)
	}
}

// FuzzJSON reads what comes; what is accepted survives writing and reading.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{}`, `{"a":[1,{"b":true}],"c":null,"$text":"x"}`, `{"vm":[]}`, `{"a":{"$text":"t","b":1.5e3}}`, `{"a":"\u0001\ud83d\ude00"}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, l := element.ParseJSON("f", []byte(text), "vm", bounded.Limits{Bytes: 1 << 16, Depth: 50, Nodes: 1000})
		if l.HasErrors() {
			return
		}
		first, err := e.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, l := element.ParseJSON("f", first, "vm", bounded.Limits{})
		second, err := again.JSON()
		if l.HasErrors() || err != nil || string(first) != string(second) || !again.Equal(e) {
			t.Errorf("it reads back as something else: %v %v\n%s\n%s", l, err, first, second)
		}
	})
}

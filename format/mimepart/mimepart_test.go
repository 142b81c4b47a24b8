package mimepart

import (
	"bytes"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
)

var sample = []Part{
	{ContentType: "text/cloud-config", MergeType: "list(append)+dict(recurse_array)+str()", Data: []byte("#cloud-config\nruncmd: [a]\n")},
	{ContentType: "text/x-shellscript", Filename: `10 "quoted" \ name.sh`, Data: []byte("#!/bin/sh\necho no line end")},
	{ContentType: "text/x-shellscript", Filename: "größe.sh", Data: []byte("#!/bin/sh\necho größe\n")},
	{ContentType: "application/gzip", Data: []byte("\x1f\x8b\x00binary\r\n\x00")},
	{ContentType: "text/cloud-config", Header: []Field{{"Launch-Index", "2"}}, Data: []byte("a: " + strings.Repeat("x", 2000) + "\n")},
	{ContentType: "text/x-shellscript", Data: []byte("#!/bin/sh\r\necho carriage return\r\n")},
	{ContentType: "text/cloud-config", Data: nil},
	{ContentType: "text/cloud-config", Data: []byte("\n\n--part-x\n--part-x--\nFrom here\n\n")},
}

func TestBuildIsReadBack(t *testing.T) {
	data, err := Build(sample)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := Build(sample); !bytes.Equal(data, again) {
		t.Error("the same parts make different messages")
	}
	if _, err := mail.ReadMessage(bytes.NewReader(data)); err != nil {
		t.Errorf("net/mail: %v", err)
	}
	parts, l := Parse(diag.File("m"), data)
	if len(l) > 0 || len(parts) != len(sample) {
		t.Fatalf("got %d parts and %v", len(parts), l)
	}
	for i, p := range parts {
		want := sample[i]
		if p.ContentType != want.ContentType || p.Filename != want.Filename || p.MergeType != want.MergeType ||
			!bytes.Equal(p.Data, want.Data) {
			t.Errorf("part %d: got %q %q %q %q", i, p.ContentType, p.Filename, p.MergeType, p.Data)
		}
		for _, f := range want.Header {
			if p.Get(f.Name) != f.Value {
				t.Errorf("part %d: %s is %q, want %q", i, f.Name, p.Get(f.Name), f.Value)
			}
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, parts := range map[string][]Part{
		"no part":               nil,
		"no content type":       {{}},
		"type with parameters":  {{ContentType: "text/plain; charset=utf-8"}},
		"a multipart":           {{ContentType: "multipart/mixed"}},
		"line end in the type":  {{ContentType: "text/plain\nX: y"}},
		"line end in the name":  {{ContentType: "text/plain", Filename: "a\nb"}},
		"line end in a field":   {{ContentType: "text/plain", Header: []Field{{"X", "a\nY: b"}}}},
		"line end in MergeType": {{ContentType: "text/plain", MergeType: "a\r\nY: b"}},
		"bad field name":        {{ContentType: "text/plain", Header: []Field{{"X y", "a"}}}},
		"field of the builder":  {{ContentType: "text/plain", Header: []Field{{"content-TYPE", "a/b"}}}},
	} {
		if _, err := Build(parts); !errors.Is(err, ErrPart) {
			t.Errorf("%s: got %v, want ErrPart", name, err)
		}
	}
}

// TestBoundary makes a part that holds the boundary which its own message would get first.
func TestBoundaryIsUnique(t *testing.T) {
	p := Part{ContentType: "text/plain", Data: []byte("x")}
	block, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	first := boundaryFor([][]byte{block})
	second := boundaryFor([][]byte{block, []byte(first)})
	if first == second || strings.Contains(string(block), second) {
		t.Errorf("the boundary %s is taken", second)
	}
}

func TestParse(t *testing.T) {
	const nested = `From someone
Content-Type: multipart/mixed;
 boundary=outer
MIME-Version: 1.0

preamble
--outer
Content-Type: multipart/alternative; boundary="inner part"

--inner part
Content-Type: text/cloud-config; name=one
merge-type: list(append)

a: 1

--inner part  
content-type: TEXT/X-ShellScript
X-Merge-Type: dict()
Content-Disposition: attachment; filename=two
Content-Transfer-Encoding: quoted-printable

#!/bin/sh=0Aecho
--inner part--
--outer

b: 2
--outer--
lost
`
	parts, l := Parse(diag.File("m"), []byte(nested))
	want := []Part{
		{ContentType: "text/cloud-config", Filename: "one", Data: []byte("a: 1\n")},
		{ContentType: "text/x-shellscript", Filename: "two", MergeType: "dict()", Data: []byte("#!/bin/sh\necho")},
		{ContentType: "text/plain", Data: []byte("b: 2")},
	}
	if len(parts) != len(want) {
		t.Fatalf("got %d parts, want %d: %v", len(parts), len(want), l)
	}
	for i, p := range parts {
		if p.ContentType != want[i].ContentType || p.Filename != want[i].Filename || p.MergeType != want[i].MergeType ||
			string(p.Data) != string(want[i].Data) {
			t.Errorf("part %d: got %q %q %q %q", i, p.ContentType, p.Filename, p.MergeType, p.Data)
		}
	}
	if got := parts[0].Origin.At(1, 1).String(); got != "m:14:1" {
		t.Errorf("the first part starts at %s, want m:14:1", got)
	}
	if len(l) != 1 || l[0].Code != CodeOutside || l[0].Range.Start.Line != 28 {
		t.Errorf("got %+v, want %s in line 28", l, CodeOutside)
	}
}

// nested opens depth multiparts in each other and closes none.
func nested(depth int) string {
	var b strings.Builder
	for i := range depth {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%dx\n\n--b%dx\n", i, i)
	}
	return b.String()
}

func TestParseComplains(t *testing.T) {
	for _, c := range []struct {
		name, in string
		code     diag.Code
		severity diag.Severity
		parts    int
	}{
		{"no boundary", "Content-Type: multipart/mixed\n\n--a\n\nx\n--a--\n", CodeBoundary, diag.Error, 0},
		{"boundary never used", "Content-Type: multipart/mixed; boundary=b\n\n--a\n\nx\n--a--\n", CodeBoundary, diag.Error, 0},
		{"not closed", "Content-Type: multipart/mixed; boundary=a\n\n--a\n\nx\n", CodeBoundary, diag.Warning, 1},
		{"bad base64", "Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\nAAAAA\n", CodeEncoding, diag.Error, 1},
		{"bad quoted-printable", "Content-Transfer-Encoding: quoted-printable\n\na\x00b\n", CodeEncoding, diag.Error, 1},
		{"too deep", nested(40) + "\nx\n", CodeTooMany, diag.Error, 0},
		{"too many", "Content-Type: multipart/mixed; boundary=a\n\n" + strings.Repeat("--a\n\nx\n", 1200) + "--a--\n", CodeTooMany, diag.Error, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts, l := Parse(diag.File("m"), []byte(c.in))
			if len(parts) != c.parts || len(l) == 0 {
				t.Fatalf("got %d parts and %v, want %d parts", len(parts), l, c.parts)
			}
			found := false
			for _, d := range l {
				found = found || d.Code == c.code && d.Severity == c.severity && d.Range.Start.Line > 0
			}
			if !found {
				t.Errorf("got %v, want %s", l, c.code)
			}
		})
	}
}

func TestCodesAreExplained(t *testing.T) {
	for i, e := range Codes() {
		if e.Code != CodeBoundary+diag.Code(i) || e.Title == "" || e.Text == "" {
			t.Errorf("explanation %d is of %s", i, e.Code)
		}
	}
	if last := Codes()[len(Codes())-1].Code; last != CodeGzip {
		t.Errorf("the last explained code is %s, want %s", last, CodeGzip)
	}
}

// FuzzMultipart parses anything, and demands that what was parsed can be built and parsed again.
func FuzzMultipart(f *testing.F) {
	data, err := Build(sample)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(data), "Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n\r\nx\r\n--a--\r\n",
		"Content-Type: multipart/mixed; boundary=\"a b\"\n\n--a b \n\n\n--a b--", nested(25), "Content-Type: multipart/mixed\n\n--a\n\nx\n--a--\n",
		"Content-Type:text/plain;name=\"x;y\"\n\nz", "Content-Disposition: attachment; filename*=utf-8''%e2%82%ac\n\nz",
		"Content-Disposition: attachment; filename*0=a; filename*1=b\n\nz", "Merge-Type: list()\nX-Merge-Type: dict()\n\nz",
		"Content-Transfer-Encoding: quoted-printable\n\n=41=\n=ZZ=\n", "Content-Transfer-Encoding: BASE64\n\nQUJD\nREVG", ": \n\n", "A\n\n",
		"A:\n\tb\n c\n\n\n", "Content-Type: multipart/mixed; boundary=a\n\npre\n--a\nB: c\n--a\n\n--a--\npost\n",
		"Content-Type: multipart/digest; boundary=a\n\n--a\n\nContent-Type: text/cloud-config\n\nx: 1\n--a--\n",
		"Content-Type: multipart/mixed; boundary=a\n\n--ab\n\nx\n--a\n\ny\n--a-- \n", "Content-Type: application/gzip\n\n\x1f\x8b\x08",
		"Content-Type: text/plain\nContent-Type: text/html\n\nx", "\n\n\n", "MIME-Version: 1.0", "Content-Type: multipart/mixed; boundary=a\n",
		"Content-Type: multipart/mixed; boundary=a\n\n--a\n\nx\n--a--", "MIME-Version: 1.0\n\n",
		"Content-Type: multipart/mixed; boundary=\"\"\n\n--\n\nx\n----\n", "A:\n b\n\n", "From x\n\n\n", "--a\n--a\n--a--\n--a",
		"Content-Transfer-Encoding: base64\n\n=AA=A", "Content-Type: a/b/c; boundary=x\n\n", "Content-Type: multipart/x; boundary=a; boundary*=b\n\n--a\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, l := Parse(diag.File("m"), data)
		if len(parts) > maxParts || len(l) > 3*maxParts {
			t.Fatalf("%d parts, %d diagnostics", len(parts), len(l))
		}
		size := 0
		var clean []Part
		for _, p := range parts {
			size += len(p.Data)
			p.Header = nil
			q := p
			q.MergeType = ""
			if _, err := Build([]Part{q}); err == nil {
				clean = append(clean, q)
			}
		}
		if size > len(data) {
			t.Fatalf("%d bytes became %d", len(data), size)
		}
		if len(clean) == 0 {
			return
		}
		built, err := Build(clean)
		if err != nil {
			t.Fatal(err)
		}
		again, l := Parse(diag.File("m"), built)
		if len(l) > 0 || len(again) != len(clean) {
			t.Fatalf("built %d parts, read %d: %v", len(clean), len(again), l)
		}
		for i, p := range again {
			if !bytes.Equal(p.Data, clean[i].Data) || p.ContentType != clean[i].ContentType || p.Filename != clean[i].Filename {
				t.Fatalf("part %d: built %+v, read %+v", i, clean[i], p)
			}
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		if _, err := Build(sample); err != nil {
			b.Fatal(err)
		}
	}
}

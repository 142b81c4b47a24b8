package element_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

// vm is a small document of every shape.
func vm() element.Element {
	return element.New("vm",
		element.Text("name", "a & b"),
		element.Int("memory", 1<<30),
		element.Bool("stateless", false),
		element.New("initialization",
			element.Text("custom_script", "\n{\"a\": \"<b>\"}\r\n"),
			element.List("nic_configurations", element.New("nic_configuration", element.Text("name", "eth0"))),
			element.List("empty")),
		element.New("cpu"),
	).WithAttr("id", "1\n\"2\"")
}

func TestXML(t *testing.T) {
	const want = `<vm id="1&#10;&quot;2&quot;">
  <name>a &amp; b</name>
  <memory>1073741824</memory>
  <stateless>false</stateless>
  <initialization>
    <custom_script>
{"a": "&lt;b&gt;"}&#13;
</custom_script>
    <nic_configurations>
      <nic_configuration>
        <name>eth0</name>
      </nic_configuration>
    </nic_configurations>
    <empty/>
  </initialization>
  <cpu/>
</vm>
`
	got, err := vm().XML()
	if err != nil || string(got) != want {
		t.Fatalf("%v\n%s", err, got)
	}
	back, l := element.ParseXML("f", got, bounded.Limits{})
	if len(l) > 0 || !back.Equal(vm()) {
		t.Errorf("reading it back gives something else: %v", l)
	}
}

func TestJSON(t *testing.T) {
	const want = `{
  "id": "1\n\"2\"",
  "name": "a & b",
  "memory": 1073741824,
  "stateless": false,
  "initialization": {
    "custom_script": "\n{\"a\": \"<b>\"}\r\n",
    "nic_configurations": {
      "nic_configuration": [
        {
          "name": "eth0"
        }
      ]
    },
    "empty": {}
  },
  "cpu": {}
}
`
	got, err := vm().JSON()
	if err != nil || string(got) != want {
		t.Fatalf("%v\n%s", err, got)
	}
	back, l := element.ParseJSON("f", got, "vm", bounded.Limits{})
	again, err := back.JSON()
	if len(l) > 0 || err != nil || string(again) != want {
		t.Errorf("reading it back gives something else: %v %v\n%s", l, err, again)
	}
}

// TestSpellings holds the spelling of lists, empty elements and texts with attributes.
func TestSpellings(t *testing.T) {
	for name, tt := range map[string]struct{ xml, json string }{
		"siblings":            {`<a><b>1</b><c/><b>2</b></a>`, `{"b":["1","2"],"c":""}`},
		"an attribute":        {`<a><b id="x"/></a>`, `{"b":{"id":"x"}}`},
		"attribute and text":  {`<a><b id="x">t</b></a>`, `{"b":{"$text":"t","id":"x"}}`},
		"attribute and child": {`<a><b id="x"><id>y</id></b></a>`, `{"b":{"id":["x","y"]}}`},
		"prefixes":            {`<o:a xmlns:o="u" xmlns="v" xmlns:x="w"><o:b o:id="x" x:id="y"/></o:a>`, `{"b":{"o:id":"x","x:id":"y"}}`},
		"CDATA":               {"<a><b><![CDATA[<&]]>x</b></a>", `{"b":"<&x"}`},
		"white space":         {"<a>\n <b> \n</b>\n</a>", `{"b":" \n"}`},
		"references":          {"<a><b>&#x41;&#10;&apos;&quot;&lt;</b></a>", `{"b":"A\n'\"<"}`},
		"line ends":           {"<a><b>1\r\n2\r3\n</b></a>", `{"b":"1\n2\n3\n"}`},
		"comments":            {"<!-- c --><a><b>x<!-- < -->y</b><!-- - --></a><!---->", `{"b":"xy"}`},
		"declaration":         {"\ufeff<?xml version='1.0' encoding='utf-8' standalone='yes'?>\n<a><b>ü</b></a>\n", `{"b":"ü"}`},
	} {
		e, l := element.ParseXML("f", []byte(tt.xml), bounded.Limits{})
		got, err := e.JSON()
		if compact := strings.NewReplacer("\n", "", "  ", "", `": `, `":`).Replace(string(got)); len(l) > 0 || err != nil || compact != tt.json {
			t.Errorf("%s: %v %v\n%s\nwant\n%s", name, l, err, compact, tt.json)
		}
	}
}

func TestParseJSON(t *testing.T) {
	e, l := element.ParseJSON("f", []byte(`{"vm":[{"id":"1","cpu":{"topology":{"cores":"2"}},"memory":7,"on":true,"host":null,"link":[{"rel":"a"}]}]}`), "vms", bounded.Limits{})
	got, err := e.XML()
	const want = `<vms>
  <vm>
    <id>1</id>
    <cpu>
      <topology>
        <cores>2</cores>
      </topology>
    </cpu>
    <memory>7</memory>
    <on>true</on>
    <link>
      <rel>a</rel>
    </link>
  </vm>
</vms>
`
	if len(l) > 0 || err != nil || string(got) != want {
		t.Errorf("%v %v\n%s", l, err, got)
	}
	if vm := e.Child("vm"); vm.Attr("id") != "1" || !e.Collection || vm.Child("memory").Kind != element.Number || vm.Child("on").Kind != element.Boolean {
		t.Errorf("wrong kinds in %#v", e)
	}
}

func TestBadXML(t *testing.T) {
	deep := strings.Repeat("<a>", 40)
	for name, tt := range map[string]struct{ text, want string }{
		"empty":                 {"", "f:1:1: error[VS3500]: there is no element in it"},
		"nothing":               {" \n<!-- x -->\n", "f:3:1: error[VS3500]: there is no element in it"},
		"DTD":                   {"<!DOCTYPE a [<!ENTITY b \"canary\">]><a>&b;</a>", "f:1:1: error[VS3501]: document type definitions are not read; remove it"},
		"external entity":       {"<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", "f:1:1: error[VS3501]"},
		"entity":                {"<a>\n  x&canary;</a>", "f:2:4: error[VS3501]: an & begins an entity here"},
		"lone ampersand":        {"<a>canary&canary</a>", "f:1:10: error[VS3501]"},
		"processing":            {"<a>\n<?php canary ?></a>", "f:2:1: error[VS3501]: processing instructions are not read"},
		"late declaration":      {"\n<?xml version=\"1.0\"?><a/>", "f:2:1: error[VS3501]"},
		"other encoding":        {"<?xml version=\"1.0\" encoding=\"latin1\"?><a/>", "f:1:31: error[VS3502]: the XML declaration names another encoding than UTF-8"},
		"not UTF-8":             {"<a>\xff</a>", "f:1:4: error[VS1203]"},
		"NUL":                   {"<a>\x00</a>", "f:1:4: error[VS1203]"},
		"control character":     {"<a>\x01</a>", "error[VS3500]: a character stands here that XML cannot hold"},
		"control reference":     {"<a>&#1;</a>", "error[VS3500]: a character stands here that XML cannot hold"},
		"not closed":            {"<a>\n <b></b>", "f:1:1: error[VS3500]: element <a> is not closed; close it"},
		"open tag":              {"<a", "f:1:1: error[VS3500]: the text ends inside of a tag"},
		"open tag within":       {"<a><b", "error[VS3500]: element <a> is not closed"},
		"crossed":               {"<a>\n <b></a></b>", "f:2:5: error[VS3500]: </a> stands where </b> should close"},
		"never opened":          {"</a>", "f:1:1: error[VS3500]: </a> closes an element that is not open"},
		"two roots":             {"<a/>\n<b/>", "f:2:1: error[VS3500]: a document has one outermost element, and <b> is a second one"},
		"text before":           {"canary<a/>", "f:1:1: error[VS3500]: a text stands outside"},
		"text behind":           {"<a/>\ncanary", "error[VS3500]: a text stands outside"},
		"element beside a text": {"<a>canary<b/></a>", "f:1:10: error[VS3504]: element <b> stands beside a text"},
		"text beside":           {"<a><b/>\n canary</a>", "f:2:2: error[VS3504]: a text stands beside the elements in <a>"},
		"attribute twice":       {"<a b='1'\n  b='2'/>", "f:2:3: error[VS3503]: element <a> has the attribute \"b\" twice"},
		"attribute unquoted":    {"<a b=canary/>", "error[VS3500]: an attribute is not well-formed"},
		"less than":             {"<a>1 < canary</a>", "error[VS3500]: this is not well-formed XML; write < in texts as &lt;"},
		"end of CDATA":          {"<a>x]]>y</a>", "error[VS3500]: ]]> stands in a text"},
		"bad comment":           {"<a><!-- a -- b --></a>", "error[VS3500]: a comment is not well-formed"},
		"too deep":              {deep, "f:1:91: error[VS1201]: nesting is deeper than 30 levels"},
		"too many":              {"<a>" + strings.Repeat("<b c='1' d='2'/>", 100) + "</a>", "error[VS1202]: the document has more than 200 values"},
		"too large":             {"<a>" + strings.Repeat("x", 3000) + "</a>", "f:1:1: error[VS1200]"},
	} {
		_, l := element.ParseXML("f", []byte(tt.text), bounded.Limits{Bytes: 3000, Depth: 30, Nodes: 200})
		if len(l) != 1 || !strings.HasPrefix(l.Error(), tt.want) && !strings.Contains(l.Error(), tt.want) || strings.Contains(l.Error(), "canary") {
			t.Errorf("%s: got\n%v\nwant\n%s", name, l.Error(), tt.want)
		}
		if strings.HasPrefix(tt.want, "f:") && !strings.HasPrefix(l.Error(), tt.want) {
			t.Errorf("%s: got\n%v\nwant\n%s", name, l.Error(), tt.want)
		}
	}
}

func TestBadJSON(t *testing.T) {
	for text, want := range map[string]string{
		`[{"a": 1}]`:                    "f:1:1: error[VS3505]: an object should stand here\nf:1:1: error[VS3505]: a list should not stand here",
		`"a"`:                           "f:1:1: error[VS3505]: an object should stand here",
		`{"a": [[1]]}`:                  "f:1:8: error[VS3505]: a list should not stand here",
		`{"a": [null]}`:                 "f:1:8: error[VS3505]: null should not stand in a list",
		"{\n\"\": 1}":                   "f:2:1: error[VS3505]: a member should have a name",
		`{"a": 1, "a": 2}`:              "f:1:10: error[VS1205]: key \"a\" stands twice in one object; remove one of the two",
		`{"a": "\ud800"}`:               "f:1:7: error[VS1204]",
		`{"a": 1,}`:                     "f:1:9: error[VS1204]",
		`{"a": {"b": {"c": {"d": 1}}}}`: "f:1:25: error[VS1201]",
	} {
		_, l := element.ParseJSON("f", []byte(text), "vm", bounded.Limits{Depth: 4})
		if !strings.HasPrefix(l.Error(), want) {
			t.Errorf("%s: got\n%v\nwant\n%s", text, l.Error(), want)
		}
	}
}

// TestUnwritable holds that a character that a form has no word for is an error, and that no error shows a text.
func TestUnwritable(t *testing.T) {
	for name, tt := range map[string]struct {
		e    element.Element
		want string
	}{
		"control character": {element.New("a", element.Text("root_password", "canary\x01")), "element <root_password>: XML cannot hold the character U+0001"},
		"noncharacter":      {element.Text("b", "\uffff"), "element <b>: XML cannot hold the character U+FFFF"},
		"not UTF-8":         {element.Text("b", "canary\xff"), "element <b>: the text is not UTF-8"},
		"attribute":         {element.New("b").WithAttr("c", "\x00"), "element <b>, attribute c: XML cannot hold the character U+0000"},
		"name":              {element.New("a b"), `"a b" cannot be the name of an XML element`},
		"empty name":        {element.New(""), `"" cannot be the name of an XML element`},
		"attribute's name":  {element.New("a").WithAttr("<", ""), `element <a>: "<" cannot be the name of an XML attribute`},
		"text and children": {element.Element{Name: "a", Text: "canary", Children: []element.Element{element.New("b")}}, "element <a> has a text beside its children"},
	} {
		data, err := tt.e.XML()
		if err == nil || data != nil || err.Error() != tt.want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if data, err := element.New("a", element.Text("b", "canary\xff")).JSON(); err == nil || data != nil || err.Error() != "element <b>: the text is not UTF-8" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := element.Text("b", "\ufffd\u2028").XML(); err != nil || string(data) != "<b>\ufffd\u2028</b>\n" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestAccessors(t *testing.T) {
	e := vm()
	if got := e.Get("initialization/nic_configurations/nic_configuration/name").Text; got != "eth0" {
		t.Errorf("got %q", got)
	}
	if e.Get("initialization/missing/name").Exists() || e.Child("cpu").Text != "" || !e.Child("cpu").Empty() || e.Empty() {
		t.Error("absent and empty elements are not told apart")
	}
	if e.Attr("id") != "1\n\"2\"" || e.WithAttr("id", "3").Attr("id") != "3" || e.Attr("id") != "1\n\"2\"" || e.Attr("name") != "a & b" {
		t.Error("attributes are not read")
	}
	two := element.New("a", element.Text("b", "1"), element.Text("c", "2"), element.Text("b", "3"))
	if got := two.With(element.Text("b", "4")); !got.Equal(element.New("a", element.Text("b", "4"), element.Text("c", "2"))) || len(two.All("b")) != 2 {
		t.Errorf("got %v", got.Children)
	}
	if got := two.With(element.Text("d", "")).Without("b", "c").Append(element.New("e")); !got.Equal(element.New("a", element.New("d"), element.New("e"))) {
		t.Errorf("got %v", got.Children)
	}
}

// TestSecrecy holds that no printer shows what an element holds.
func TestSecrecy(t *testing.T) {
	e := element.New("vm", element.Text("root_password", "canary")).WithAttr("id", "canary")
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "e", e)
	var asJSON strings.Builder
	slog.New(slog.NewJSONHandler(&asJSON, nil)).Info("x", "e", e)
	for _, text := range []string{fmt.Sprint(e), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e), fmt.Sprintf("%s %q %v", e, e, []element.Element{e}), log.String(), strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(asJSON.String())} {
		if strings.Contains(text, "canary") || !strings.Contains(text, "<vm>") {
			t.Errorf("got %s", text)
		}
	}
}

// TestTree reads a document through format/tree: every place leads to the line and column that the user sees.
func TestTree(t *testing.T) {
	const text = "<vm id=\"7\">\n  <ü>\n    <s>\nkey: [\n  x</s><e/><n>1</n>\n    <n>2</n>\n    <c><![CDATA[one\ntwo]]></c>\n    <r>a&#10;b &quot;c&quot;</r>\n  </ü>\n</vm>"
	values, l := element.Documents("f", []byte(text), bounded.Limits{})
	if len(l) > 0 || len(values) != 1 {
		t.Fatal(l)
	}
	v := values[0].Get("vm")
	var unheard diag.List
	u := v.Get("ü")
	for _, tt := range []struct{ got, want string }{
		{v.Range().String(), "f:1:1"},
		{v.Get("id").Range().String(), "f:1:5"},
		{v.Get("id").Str(&unheard), "7"},
		{u.Range().String(), "f:2:3"},
		{u.Get("s").Str(&unheard), "\nkey: [\n  x"},
		{u.Get("s").Range().String(), "f:3:8"},
		{u.Get("s").Origin("").At(2, 6).String(), "f:4:6"},
		{u.Get("s").Origin("").At(3, 3).String(), "f:5:3"},
		{u.Get("c").Origin("").At(1, 2).String(), "f:7:18"},
		{u.Get("c").Origin("").At(2, 1).String(), "f:8:1"},
		{u.Get("r").Origin("").At(2, 1).String(), "f:9:14"},
		{u.Get("e").Kind().String(), "null"},
		{u.Get("n").Kind().String(), "a list"},
		{u.Get("n").Items()[1].Range().String(), "f:6:8"},
		{u.Get("n").Range().String(), "f:5:12"},
		{u.Get("missing").Kind().String(), "nothing"},
		{fmt.Sprint(len(unheard)), "0"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	if left := v.Get("id"); !left.Exists() {
		t.Error("the attribute is gone")
	}
	if n := len(values[0].Unread()); n != 5 {
		t.Errorf("%d values are unread, want those that were only looked at", n)
	}
	if got := element.Bool("a", true).Tree("f"); got.Kind() != tree.Scalar || !got.Bool(&unheard) || len(unheard) > 0 {
		t.Error("a boolean is none in the tree")
	}
	if got := element.Int("a", 12).Tree("f"); got.Int(&unheard, 0, 20) != 12 || len(unheard) > 0 {
		t.Error("a number is none in the tree")
	}
}

// TestDocuments holds that only XML is read as XML.
func TestDocuments(t *testing.T) {
	for text, want := range map[string]bool{"<a/>": true, "\ufeff \n<a": true, "a: <b>": false, "{}": false, "": false, "\n": false} {
		if element.IsXML([]byte(text)) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
	if v, l := element.Documents("f", []byte("a: 1\n---\nb: 2\n"), bounded.Limits{}); len(v) != 2 || len(l) > 0 {
		t.Errorf("YAML is not read: %v", l)
	}
	if v, l := element.Documents("f", []byte("<a>"), bounded.Limits{}); len(v) != 0 || !l.HasErrors() {
		t.Errorf("bad XML is read: %v", l)
	}
}

package ovirtapi

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/internal/bounded"
)

// TestJSONTypes: members have one JSON type, whether they were made here or came as XML.
func TestJSONTypes(t *testing.T) {
	doc, list := element.ParseXML("vm", []byte(`<vm><name>true</name><memory>1073741824</memory><delete_protected>true</delete_protected>`+
		`<description>12</description><cpu><topology><cores>007</cores></topology></cpu></vm>`), bounded.Limits{})
	if list.HasErrors() {
		t.Fatal(list)
	}
	data, err := encode(formatJSON, doc.Append(element.Int("made", 5)))
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	want := map[string]any{"name": "true", "memory": float64(1 << 30), "delete_protected": true, "description": "12", "made": float64(5),
		"cpu": map[string]any{"topology": map[string]any{"cores": "007"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestEmptyTexts: the Python SDK reads <description></description> as a text and <description/> as nothing.
func TestEmptyTexts(t *testing.T) {
	e := element.New("vm", element.Text("description", ""), element.Text("name", "</description/>"), element.List("nics"),
		element.New("ip", element.Text("address", ""))).WithAttr("id", "<address/>")
	data, err := encode(formatXML, e)
	if err != nil {
		t.Fatal(err)
	}
	want := xmlDeclaration + "<vm id=\"&lt;address/&gt;\">\n  <description></description>\n  <name>&lt;/description/&gt;</name>\n  <nics/>\n  <ip>\n    <address></address>\n  </ip>\n</vm>\n"
	if got := string(data); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

package ovirt_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine/machinetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden reads the documents of testdata: those that oVirt published, in XML and JSON, and those that use everything.
func TestGolden(t *testing.T) {
	for _, pattern := range []string{"testdata/*.xml", "testdata/*.json"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			f := fixture(t, filepath.Base(name))
			machines, l := read(f.Name, f.Text)
			got := dump(machines, l)
			if l.HasErrors() {
				t.Errorf("%s: %v", name, l.Err())
			}
			want := filepath.Join("testdata", f.Name+".want")
			if *update {
				if err := os.WriteFile(want, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			data, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(data), got); d != "" {
				t.Errorf("%s (-want +got):\n%s", want, d)
			}
		}
	}
}

// TestPublishedDocument holds that testdata/seed-004.xml is the one of oVirt's feature page: the sum is that of its lines as
// published, blanks aside, with the key that the page cuts short.
func TestPublishedDocument(t *testing.T) {
	const published = "473c05ec51afc22c454d33d4ac1b59e79e78022abd5b038c566f737308ed479e"
	text := strings.Replace(fixture(t, "seed-004.xml").Text, sshKey+" user@domain.com", "ssh-rsa AAAAB3Nza[…]75zkdD user@domain.com", 1)
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "\n")))); sum != published {
		t.Errorf("the document was changed: its sum is %s", sum)
	}
}

// TestSpellings holds that a document means the same in XML and in JSON, as text and after it was read and written.
func TestSpellings(t *testing.T) {
	meaning := func(name, text string) string {
		machines, l := read(name, text)
		if len(machines) != 1 || l.HasErrors() {
			t.Fatalf("%s: %v", name, l)
		}
		return machinetest.Dump(machines[0])
	}
	xml, json := fixture(t, "seed-004.xml").Text, fixture(t, "seed-004.json").Text
	if d := cmp.Diff(meaning("f", xml), meaning("f", json)); d != "" {
		t.Errorf("XML and JSON differ:\n%s", d)
	}
	for _, name := range []string{"seed-001.xml", "seed-004.xml", "seed-004-sdk1.xml", "seed-004-sdk2.xml"} {
		text := fixture(t, name).Text
		e, l := element.ParseXML("f", []byte(text), bounded.Limits{})
		asXML, err := e.XML()
		asJSON, err2 := e.JSON()
		if l.HasErrors() || err != nil || err2 != nil {
			t.Fatal(l, err, err2)
		}
		want := meaning("f", text)
		for _, again := range []string{string(asXML), string(asJSON)} {
			if d := cmp.Diff(want, meaning("f", again)); d != "" {
				t.Errorf("%s means something else when it is written again:\n%s\n%s", name, d, again)
			}
		}
	}
}

// TestDocuments reads documents with several machines, and the same machine in every wrapping.
func TestDocuments(t *testing.T) {
	for text, want := range map[string]string{
		"<vms><vm><name>a</name></vm><vm><name>b</name></vm></vms>":             "a b",
		"<templates><template><name>a</name></template></templates>":            "a",
		"<template id='1'><name>a</name></template>":                            "a",
		"<?xml version='1.0'?>\n<!-- c -->\n<vm><name>a</name></vm>":            "a",
		"<action><vm><name>a</name></vm></action>":                              "a",
		"<initialization><host_name>a.example.com</host_name></initialization>": "a",
		"<initialization><dns_search>example.com</dns_search></initialization>": "vm",
		`{"vm": [{"name": "a", "initialization": {}}, {"name": "b"}]}`:          "a b",
		`{"vm": {"name": "a", "initialization": {}}}`:                           "a",
		`{"use_cloud_init": "true", "vm": {"name": "a"}}`:                       "a",
		`{"name": "a", "initialization": {"host_name": "b"}}`:                   "a",
		`{"host_name": "a", "root_password": "x"}`:                              "a",
		`{"action": {"use_cloud_init": true, "vm": {"name": "a"}}}`:             "a",
		`{"initialization": {"host_name": "a"}}`:                                "a",
	} {
		machines, l := read("f", text)
		var names []string
		for _, m := range machines {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != want || l.HasErrors() {
			t.Errorf("%s: got %s, %v", text, got, l.Err())
		}
	}
}

// TestSniff holds which documents are taken.
func TestSniff(t *testing.T) {
	for text, want := range map[string]int{
		"<vm/>": 2, "<vm id='1'>": 2, "\ufeff<?xml version='1.0'?><!-- <domain> --> <vms>": 2, "<action>": 2, "<initialization\n>": 2, "<template>": 2,
		"<ovf:Envelope xmlns:ovf='x'>": 2, "<domain type='kvm'>": 0, "<vmware>": 0, "<!-- <vm> -->": 0, "<vm": 0,
		`{"vm": [{"name": "a"}]}`: 1, `{"name": "a", "initialization": {}}`: 2, `{"use_cloud_init": true}`: 2, `{"host_name": "a"}`: 2,
		`{"apiVersion": "v1", "kind": "Secret", "data": {"root_password": ""}}`: 0, `{"name": "a"}`: 0,
		"initialization:\n  host_name: a\n": 1, "name: a\nuse_cloud_init: true\n": 1, "x:\n  initialization:\n": 0, "#cloud-config\nruncmd: []\n": 0, "": 0,
	} {
		if got := int((ovirt.Frontend{}).Sniff([]byte(text))); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

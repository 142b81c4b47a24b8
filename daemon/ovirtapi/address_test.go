package ovirtapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	for _, c := range []struct{ url, segments, params string }{
		{"/ovirt-engine/api", "", ""},
		{"/ovirt-engine/api/", "", ""},
		{"/ovirt-engine/api//vms", "vms", ""},
		{"/ovirt-engine//api/vms//a/", "vms a", ""},
		{"/ovirt-engine/api/v4/vms", "vms", ""},
		{"/ovirt-engine/api/vms/v4", "vms v4", ""},
		{"/ovirt-engine/api/vms;max=5;case_sensitive", "vms", "case_sensitive=&max=5"},
		{"/ovirt-engine/api;all_content=true/vms/a%2Fb", "vms a/b", "all_content=true"},
		{"/ovirt-engine/api/vms?search=name%3Da%20b&Max=3", "vms", "max=3&search=name%3Da+b"},
		{"/ovirt-engine/api/vms;follow=nics?follow=cluster", "vms", "follow=cluster&follow=nics"},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		a, bad := parseAddress(u, http.Header{})
		if bad != nil {
			t.Errorf("%s: %v", c.url, bad)
			continue
		}
		if got := strings.Join(a.segments, " "); got != c.segments {
			t.Errorf("%s is %q, want %q", c.url, got, c.segments)
		}
		if got := a.params.Encode(); got != c.params {
			t.Errorf("%s has %q, want %q", c.url, got, c.params)
		}
	}
	for _, other := range []string{"/ovirt-engine/apis", "/api/vms", "/"} {
		if _, bad := parseAddress(&url.URL{Path: other}, http.Header{}); bad == nil {
			t.Errorf("%s is taken for the API", other)
		}
	}
}

func TestFlags(t *testing.T) {
	for text, want := range map[string]string{"": "true", "true": "true", "TRUE": "true", "t": "true", "yes": "true", "Y": "true", "1": "true",
		"false": "false", "F": "false", "no": "false", "n": "false", "0": "false", "2": "error", "maybe": "error"} {
		a := address{params: url.Values{"x": {text}}}
		value, bad := a.flag("x", false)
		got := map[bool]string{true: "true", false: "false"}[value]
		if bad != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	if value, bad := (&address{}).flag("x", true); !value || bad != nil {
		t.Error("without the parameter it is not what it is otherwise")
	}
}

func TestAccept(t *testing.T) {
	for header, want := range map[string]string{
		"application/xml":        "xml",
		"application/json":       "json",
		"text/xml;charset=utf-8": "xml",
		"Application/JSON":       "json",
		"*/*":                    "xml",
		"application/*":          "xml",
		"application/xml;q=0.5, application/json":                            "json",
		"application/json;q=0.5, application/xml":                            "xml",
		"text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8": "xml",
		"text/html, */*;q=0.1":                                               "xml",
		"application/json, */*":                                              "json",
		"text/html":                                                          "none",
		"application/x-yaml":                                                 "none",
		"application/json;q=0":                                               "none",
		"nonsense/, application/xml":                                         "xml",
		"":                                                                   "xml",
	} {
		h := http.Header{}
		if header != "" {
			h.Set("Accept", header)
		}
		f, acceptable := accepted(h)
		got := map[format]string{formatXML: "xml", formatJSON: "json"}[f]
		if !acceptable {
			got = "none"
		}
		if got != want {
			t.Errorf("Accept %q is %s, want %s", header, got, want)
		}
	}
}

// TestUnoffered: what oVirt has is told from what nobody has.
func TestUnoffered(t *testing.T) {
	r := newRouter([]endpoint{{path: "vms"}, {path: "vms/{vm}"}, {path: "vms/{vm}/nics/{nic}"}})
	for path, want := range map[string]int{"vms": 0, "vms/a": 0, "vms/a/nics/b": 0, "vms/a/suspend": 501, "vms/a/backups/b": 501, "roles": 501,
		"imagetransfers/x/y/z": 501, "clusterlevels": 501, "vms/a/autopincpuandnumanodes": 501, "vms/a/devices": 501, "vms/a/cpuunits": 501, "vms/a/networks": 501, "nothing": 404, "vms/a/colour": 404, "vms/a/nics/b/colour": 404} {
		_, _, bad := r.find(strings.Split(path, "/"))
		got := 0
		if bad != nil {
			got = bad.status
		}
		if got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

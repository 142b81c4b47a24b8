package ovirt_test

import (
	"testing"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/internal/bounded"
)

func TestVMOf(t *testing.T) {
	const vm = "<vm><name>a</name><initialization><host_name>h</host_name></initialization></vm>"
	const bare = "<vm><initialization><host_name>h</host_name></initialization></vm>"
	for name, tt := range map[string]struct{ in, want string }{
		"vm":                         {vm, vm},
		"JSON":                       {`{"name": "a", "initialization": {"host_name": "h"}}`, vm},
		"JSON in an object":          {`{"vm": {"name": "a", "initialization": {"host_name": "h"}}}`, vm},
		"JSON list of one":           {`{"vm": [{"name": "a", "initialization": {"host_name": "h"}}]}`, vm},
		"JSON list of two":           {`{"vm": [{"name": "a", "initialization": {}}, {"name": "b"}]}`, ""},
		"list of one":                {"<vms>" + vm + "</vms>", vm},
		"list of two":                {"<vms>" + vm + vm + "</vms>", ""},
		"template":                   {"<template><name>a</name><initialization><host_name>h</host_name></initialization></template>", vm},
		"action":                     {"<action><use_cloud_init>true</use_cloud_init>" + vm + "</action>", vm},
		"JSON action":                {`{"use_cloud_init": true, "vm": {"name": "a", "initialization": {"host_name": "h"}}}`, vm},
		"action without first boot":  {"<action><use_cloud_init>false</use_cloud_init>" + vm + "</action>", ""},
		"action for another system":  {"<action><use_sysprep>true</use_sysprep>" + vm + "</action>", ""},
		"initialization":             {"<initialization><host_name>h</host_name></initialization>", bare},
		"JSON initialization":        {`{"host_name": "h"}`, bare},
		"JSON initialization, named": {`{"initialization": {"host_name": "h"}}`, bare},
		"broken":                     {"<vm><name>", ""},
		"another element":            {"<domain><name>a</name></domain>", ""},
		"another form":               {`{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a"}}`, ""},
		"a cloud-config":             {"#cloud-config\nhostname: a\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ovirt.VMOf("vm.xml", []byte(tt.in))
			if !got.Exists() || tt.want == "" {
				if got.Exists() != (tt.want != "") {
					t.Errorf("there is a vm: %v", got.Exists())
				}
				return
			}
			want, l := element.ParseXML("", []byte(tt.want), bounded.Limits{})
			if l.HasErrors() || !got.Equal(want) {
				t.Errorf("got %s, want %s", xml(t, got), tt.want)
			}
		})
	}
}

func TestWithSize(t *testing.T) {
	vm := ovirt.VMOf("", []byte("<vm><memory>1</memory><cpu><mode>host_model</mode><topology><sockets>8</sockets></topology></cpu></vm>"))
	const want = "<vm><memory>1073741824</memory><cpu><mode>host_model</mode><topology><cores>2</cores><sockets>1</sockets><threads>1</threads></topology></cpu></vm>"
	if got := ovirt.WithSize(vm, 1<<30, 2); !got.Equal(ovirt.VMOf("", []byte(want))) {
		t.Errorf("got %s, want %s", xml(t, got), want)
	}
	if got := ovirt.WithSize(vm, 0, 0); !got.Equal(vm) {
		t.Errorf("got %s from nothing", xml(t, got))
	}
}

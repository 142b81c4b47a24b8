package ovirt_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
)

// TestHardware reads what is stated of the machine, in the elements of version 4 and the attributes of those before it.
func TestHardware(t *testing.T) {
	for name, tt := range map[string]struct {
		inner string
		want  []string
	}{
		"another form":                     {"<custom_properties><custom_property><name>sap_agent</name><value>true</value></custom_property><custom_property><name>vmseed_form</name><value>kubevirt</value></custom_property></custom_properties>", []string{"f:1:162: warning[VS2519]: vm.custom_properties.custom_property[1].value: the VM is defined in the kubevirt form"}},
		"id":                               {"", []string{"name = v", "-identity.uuid"}},
		"BIOS on i440fx":                   {"<bios><type>i440fx_sea_bios</type></bios>", []string{"hardware.machineType = pc", "hardware.firmware = bios"}},
		"BIOS on q35":                      {"<bios><type>q35_sea_bios</type></bios>", []string{"hardware.machineType = q35", "hardware.firmware = bios"}},
		"UEFI":                             {"<bios><type>Q35_OVMF</type></bios>", []string{"hardware.machineType = q35", "hardware.firmware = uefi", "-hardware.secureBoot"}},
		"secure boot":                      {"<bios><type>q35_secure_boot</type></bios>", []string{"hardware.firmware = uefi", "hardware.secureBoot = true"}},
		"firmware of a cluster":            {"<bios><type>cluster_default</type></bios>", []string{"-hardware", "name = v"}},
		"emulated machine":                 {"<custom_emulated_machine>pc-i440fx-rhel7.6.0</custom_emulated_machine>", []string{"hardware.machineType = pc"}},
		"unknown machine":                  {"<custom_emulated_machine>microvm</custom_emulated_machine>", []string{"-hardware", "f:1:44: warning[VS2501]"}},
		"topology":                         {"<cpu><topology><cores>2</cores><sockets>3</sockets><threads>4</threads></topology></cpu>", []string{"hardware.cpus = 24", "hardware.sockets = 3", "hardware.cores = 2", "hardware.threads = 4"}},
		"topology in attributes":           {"<cpu><topology sockets='2' cores='4'/></cpu>", []string{"hardware.cpus = 8", "hardware.threads = 1"}},
		"CPU of the host":                  {"<cpu><mode>host_model</mode></cpu>", []string{"hardware.cpuModel = host-model"}},
		"CPU of one's own":                 {"<cpu><mode>custom</mode></cpu><custom_cpu_model>EPYC</custom_cpu_model>", []string{"hardware.cpuModel = EPYC"}},
		"another architecture":             {"<cpu><architecture>aarch64</architecture></cpu>", []string{"hardware.arch = arm64"}},
		"no architecture":                  {"<cpu><architecture>undefined</architecture></cpu>", []string{"-hardware", "name = v"}},
		"serial number of a vm":            {"<serial_number><policy>vm</policy></serial_number><id>123e4567-e89b-12d3-a456-426614174000</id>", []string{"identity.serial = 123e4567-e89b-12d3-a456-426614174000"}},
		"serial number of the host":        {"<serial_number><policy>host</policy></serial_number>", []string{"-identity.serial", "f:1:42: warning[VS2501]"}},
		"serial number that is unused":     {"<serial_number><policy>none</policy><value>x</value></serial_number>", []string{"-identity.serial", "f:1:62: warning[VS2501]"}},
		"no UUID":                          {"<id>42</id>", []string{"-identity.uuid", "f:1:23: warning[VS2502]"}},
		"operating system in an attribute": {"<os type='rhcos_x64'><kernel>/k</kernel></os><initialization><host_name>h</host_name></initialization>", []string{"boot.kernel = /k", "dataSource = ignition"}},
		"Windows":                          {"<os><type>windows_2019x64</type></os>", []string{"guest.os = windows"}},
		"CD":                               {"<cdroms><cdrom><file id='/srv/a.iso'/></cdrom></cdroms>", []string{"disks[0].name = a", "disks[0].device = cdrom", "disks[0].source.path = /srv/a.iso", "disks[0].readOnly = true"}},
		"no CD":                            {"<cdroms><cdrom><file id=''/></cdrom><cdrom/></cdroms>", []string{"-disks", "name = v"}},
		"disks": {"<disk_attachments><disk_attachment><bootable>true</bootable><interface>ide</interface><disk id='d1'/></disk_attachment><disk_attachment><active>false</active></disk_attachment><disk_attachment/></disk_attachments>",
			[]string{"disks[0].name = d1", "disks[0].root = true", "disks[0].bus = sata", "-disks[1]"}},
		"nothing of what is false": {"<stateless>false</stateless><start_paused>FALSE</start_paused>", []string{"name = v"}},
		"stateless":                {"<stateless>true</stateless>", []string{"f:1:19: warning[VS2501]: vm.stateless: stateless is not acted upon, so the guest goes without it"}},
		"unknown member":           {"<nonsense>1</nonsense>", []string{`f:1:19: warning[VS2501]: vm.nonsense: oVirt has no member "nonsense" here, so it is passed over`}},
		"misspelt member":          {"<initialisation><host_name>h</host_name></initialisation>", []string{"-identity.hostname", `f:1:19: warning[VS2501]: vm.initialisation: oVirt has no member "initialisation" here, so it is passed over; did you mean "initialization"?`}},
		"misspelt part":            {"<nics><nc/></nics>", []string{`f:1:25: error[VS1215]: vm.nics.nc: there is no field "nc" here; did you mean "nic"?`}},
		"part of something else":   {"<nics><vnet/></nics>", []string{`f:1:25: error[VS1215]: vm.nics.vnet: there is no field "vnet" here; the fields are nic`}},
		"links":                    {"<link href='/x' rel='nics'/><link href='/y' rel='disks'/><actions><link href='/z' rel='start'/></actions>", []string{"name = v"}},
	} {
		check(t, name, "<vm><name>v</name>"+tt.inner+"</vm>", tt.want...)
	}
}

// TestEngineAnswer reads what an engine returns for a vm: no warning comes of what it says about itself.
func TestEngineAnswer(t *testing.T) {
	const answer = `<vm href="/ovirt-engine/api/vms/123e4567-e89b-12d3-a456-426614174000" id="123e4567-e89b-12d3-a456-426614174000">
  <actions><link href="/ovirt-engine/api/vms/1/start" rel="start"/></actions>
  <name>fcosvm</name><description></description><comment></comment>
  <link href="/ovirt-engine/api/vms/1/nics" rel="nics"/>
  <link href="/ovirt-engine/api/vms/1/cdroms" rel="cdroms"/>
  <bios><boot_menu><enabled>false</enabled></boot_menu><type>q35_sea_bios</type></bios>
  <cpu><architecture>x86_64</architecture><topology><cores>1</cores><sockets>1</sockets><threads>1</threads></topology></cpu>
  <cpu_shares>0</cpu_shares><creation_time>2026-01-01T00:00:00.000Z</creation_time><delete_protected>false</delete_protected>
  <display><type>vnc</type></display><high_availability><enabled>false</enabled><priority>1</priority></high_availability>
  <initialization>
    <host_name>h1</host_name><nic_configurations/><regenerate_ssh_keys>false</regenerate_ssh_keys>
  </initialization>
  <io><threads>0</threads></io><memory>1073741824</memory>
  <memory_policy><ballooning>true</ballooning><guaranteed>1073741824</guaranteed><max>4294967296</max></memory_policy>
  <migration><auto_converge>inherit</auto_converge></migration><multi_queues_enabled>true</multi_queues_enabled><origin>ovirt</origin>
  <os><boot><devices><device>hd</device></devices></boot><type>other</type></os>
  <placement_policy><affinity>migratable</affinity></placement_policy><start_paused>false</start_paused><stateless>false</stateless>
  <status>down</status><stop_time>2026-01-01T00:00:00.000Z</stop_time><storage_error_resume_behaviour>auto_resume</storage_error_resume_behaviour>
  <time_zone><name>Etc/GMT</name></time_zone><tpm_enabled>false</tpm_enabled><type>server</type><usb><enabled>false</enabled></usb>
  <cluster href="/ovirt-engine/api/clusters/1" id="1"/><template href="/ovirt-engine/api/templates/1" id="1"/>
</vm>`
	machines, l := read("f", answer)
	if len(machines) != 1 || l.Max() > diag.Note {
		t.Errorf("%d machines, said %v", len(machines), l)
	}
	if len(l) > 5 {
		t.Errorf("%d remarks on what every vm has:\n%v", len(l), l)
	}
	for _, d := range l {
		if strings.Contains(d.Error(), "link") || strings.Contains(d.Error(), "href") || strings.Contains(d.Error(), "delete_protected") {
			t.Errorf("said %v", d)
		}
	}
}

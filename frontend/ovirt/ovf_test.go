package ovirt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// sameMachine compares what machines say, without their documents and places.
func sameMachine(t *testing.T, got, want machine.Machine) {
	t.Helper()
	for _, m := range []*machine.Machine{&got, &want} {
		m.Document, m.Places = machine.Document{}, nil
	}
	if diff := cmp.Diff(machinetest.Dump(want), machinetest.Dump(got)); diff != "" {
		t.Errorf("- want, + got\n%s", diff)
	}
}

// TestOVF reads what an engine exports, and the document of its API that says the same.
func TestOVF(t *testing.T) {
	got, said := readOne(t, example(t, "web.ovf"))
	want, saidOfWant := readOne(t, `<vm id="d1c1e27b-5b8f-4a60-a1c8-0e6d6f6f8b1e"><name>web</name><description>exported by an engine</description>
<memory>2147483648</memory><cpu><topology><sockets>1</sockets><cores>2</cores><threads>1</threads></topology></cpu><bios><type>q35_ovmf</type></bios>
<os><type>other_linux</type></os><nics><nic><name>nic1</name><interface>virtio</interface><mac><address>56:6f:1a:2b:00:07</address></mac></nic></nics>
<initialization><host_name>web.example.com</host_name><timezone>Europe/Berlin</timezone><regenerate_ssh_keys>true</regenerate_ssh_keys>
<dns_search>example.com</dns_search><dns_servers>192.0.2.53</dns_servers><authorized_ssh_keys>`+keyOf(t)+`</authorized_ssh_keys>
<nic_configurations><nic_configuration><name>eth0</name><on_boot>true</on_boot><boot_protocol>static</boot_protocol><ip><address>192.0.2.10</address>
<netmask>255.255.255.0</netmask><gateway>192.0.2.1</gateway></ip><ipv6_boot_protocol>autoconf</ipv6_boot_protocol></nic_configuration></nic_configurations>
<custom_script>packages: [nginx]
runcmd:
  - [systemctl, enable, --now, nginx]
</custom_script></initialization>
<disk_attachments><disk_attachment><bootable>true</bootable><interface>virtio_scsi</interface><disk><alias>web_Disk1</alias>
<provisioned_size>10737418240</provisioned_size></disk></disk_attachment></disk_attachments></vm>`)
	if said != "" || saidOfWant != "" {
		t.Errorf("%s\n%s", said, saidOfWant)
	}
	sameMachine(t, got, want)
	if place := got.Places.Find("identity.hostname").String(); place != "f:23:5" && !strings.HasPrefix(place, "f:2") {
		t.Errorf("the host name stands at %s", place)
	}
}

func keyOf(t *testing.T) string {
	_, rest, _ := strings.Cut(example(t, "web.ovf"), `ovf:authorizedKeys="`)
	key, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatal("the example has no key")
	}
	return key
}

// The OVF in an export domain, and in initialization/configuration, has other elements than that in an OVA.
const exported = `<ovf:Envelope xmlns:ovf="o" xmlns:rasd="r" xmlns:xsi="x" ovf:version="4.5.0.0">
<References><File ovf:href="a/b" ovf:id="b" ovf:size="1"/></References>
<Section xsi:type="ovf:NetworkSection_Type"><Info>List of networks</Info></Section>
<Section xsi:type="ovf:DiskSection_Type"><Info>List of Virtual Disks</Info><Disk ovf:diskId="b" ovf:size="10" ovf:actual_size="2" ovf:disk-interface="VirtIO" ovf:boot="true" ovf:disk-alias="desk_Disk1"/></Section>
<Content ovf:id="out" xsi:type="ovf:VirtualSystem_Type"><Name>desk</Name><TemplateId>00000000-0000-0000-0000-000000000000</TemplateId>
<VmInit ovf:hostname="DESK-7" ovf:domain="corp.example.com" ovf:winKey="AAAAA-BBBBB-CCCCC-DDDDD-EEEEE" ovf:rootPassword="CANARY" ovf:networks="null"/>
<Section ovf:id="1b0c3a54-9b7e-4f6d-8d4a-0b6f3c2e1d0f" ovf:required="false" xsi:type="ovf:OperatingSystemSection_Type"><Info>Guest Operating System</Info><Description>windows_2019x64</Description></Section>
<Section xsi:type="ovf:VirtualHardwareSection_Type"><Info>1 CPU, 4096 Memory</Info>
<Item><rasd:ResourceType>4</rasd:ResourceType><rasd:AllocationUnits>MegaBytes</rasd:AllocationUnits><rasd:VirtualQuantity>4096</rasd:VirtualQuantity></Item>
<Item><rasd:ResourceType>10</rasd:ResourceType><rasd:ResourceSubType>2</rasd:ResourceSubType><rasd:Name>nic1</rasd:Name><rasd:MACAddress>56:6f:1a:2b:00:08</rasd:MACAddress></Item>
</Section></Content></ovf:Envelope>`

func TestExportedOVF(t *testing.T) {
	m, said := readOne(t, exported)
	if !strings.Contains(said, "there is no account that may add the computer") || strings.Contains(said, "error") || strings.Contains(said, "CANARY") {
		t.Errorf("%s", said)
	}
	if m.Name != "desk" || m.Identity.UUID != "1b0c3a54-9b7e-4f6d-8d4a-0b6f3c2e1d0f" || m.Guest.OS != "windows" || m.Hardware.Memory != 4<<30 {
		t.Errorf("%s, %s, %s, %d", m.Name, m.Identity.UUID, m.Guest.OS, m.Hardware.Memory)
	}
	if len(m.Media) != 1 || !strings.Contains(m.Media[0].Files[0].Content.Reveal(), "<JoinDomain>corp.example.com</JoinDomain>") {
		t.Errorf("%d media", len(m.Media))
	}
	if len(m.Network.NICs) != 1 || m.Network.NICs[0].Model != "e1000" || len(m.Disks) != 1 || m.Disks[0].Size != 10<<30 || m.Disks[0].Bus != "virtio" || !m.Disks[0].Root {
		t.Errorf("%+v %+v", m.Network.NICs, m.Disks)
	}
}

// TestOVFPlatform reads what the firmware and the devices of the machine show to its guest.
func TestOVFPlatform(t *testing.T) {
	const item = `<Item><rasd:ResourceType>0</rasd:ResourceType><Device>d</Device><IsPlugged>true</IsPlugged>`
	text := strings.NewReplacer(`<TemplateId>`, `<CustomEmulatedMachine>pc-q35-rhel9.4.0</CustomEmulatedMachine><CustomCpuName></CustomCpuName><UseHostCpu>true</UseHostCpu>
<IsStateless>true</IsStateless><SerialNumberPolicy>2</SerialNumberPolicy><CustomSerialNumber>S-1</CustomSerialNumber><TemplateId>`,
		`<rasd:Name>nic1</rasd:Name>`, `<rasd:Name>nic1</rasd:Name><rasd:Linked>false</rasd:Linked>`, `ovf:boot="true"`, `ovf:boot="true" ovf:read-only="true"`,
		`<Item><rasd:ResourceType>4`, `<Item><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>2</rasd:VirtualQuantity></Item>
<Item><rasd:ResourceType>10</rasd:ResourceType><rasd:Name>nic0</rasd:Name><IsPlugged>false</IsPlugged></Item>`+item+`<Type>tpm</Type></Item>`+item+`<Type>rng</Type></Item>
<Item><rasd:ResourceType>4`).Replace(exported)
	m, said := readOne(t, text)
	if h := m.Hardware; h.MachineType != "q35" || h.CPUModel != "host-passthrough" || h.CPUs != 2 || !h.TPM || !h.RNG || m.Identity.Serial != "S-1" {
		t.Errorf("%q %+v", m.Identity.Serial, h)
	}
	if len(m.Network.NICs) != 1 || !m.Network.NICs[0].LinkDown || !m.Disks[0].ReadOnly || !strings.Contains(said, "stateless is not acted upon") {
		t.Errorf("%+v %+v\n%s", m.Network.NICs, m.Disks, said)
	}
	eleven, _ := readOne(t, strings.Replace(exported, `ovf:required="false" xsi:type="ovf:Op`, `ovirt:id="36" xmlns:ovirt="http://www.ovirt.org/ovf" ovf:required="false" xsi:type="ovf:Op`, 1))
	if eleven.Guest.OS != "windows" {
		t.Error("Windows 11 is not known by its number")
	}
}

// Other programs write OVF as well, without VmInit.
func TestForeignOVF(t *testing.T) {
	m, said := readOne(t, `<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="o" xmlns:rasd="r" xmlns:vmw="v">
<DiskSection><Disk ovf:capacity="8" ovf:capacityAllocationUnits="byte * 2^30" ovf:diskId="vmdisk1"/></DiskSection>
<VirtualSystem ovf:id="photon"><Info>A virtual machine</Info><Name>photon</Name><OperatingSystemSection ovf:id="36" vmw:osType="vmwarePhoton64Guest"><Info>The kind</Info></OperatingSystemSection>
<VirtualHardwareSection><Item><rasd:AllocationUnits>hertz * 10^6</rasd:AllocationUnits><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>2</rasd:VirtualQuantity></Item>
<Item><rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>512</rasd:VirtualQuantity></Item>
<Item><rasd:ElementName>Ethernet 1</rasd:ElementName><rasd:ResourceSubType>VmxNet3</rasd:ResourceSubType><rasd:ResourceType>10</rasd:ResourceType></Item>
<Item ovf:required="false"><rasd:ResourceType>1</rasd:ResourceType></Item></VirtualHardwareSection></VirtualSystem></Envelope>`)
	if said != "" || m.Name != "photon" || m.Hardware.CPUs != 2 || m.Hardware.Memory != 512<<20 || len(m.Network.NICs) != 1 || len(m.Disks) != 1 || m.Disks[0].Size != 8<<30 {
		t.Errorf("%s\n%+v", said, m.Hardware)
	}
}

func TestOVFTroubles(t *testing.T) {
	for text, want := range map[string]string{
		`<Envelope/>`:                        "there is nothing in it",
		`<Envelope><References/></Envelope>`: "error[VS2569]: Envelope: the envelope describes no virtual machine",
		`<Envelope><VirtualSystemCollection id="a"/></Envelope>`:                                                      "the envelope describes several virtual machines",
		`<Envelope><VirtualSystem id="a"/><VirtualSystem id="b"/></Envelope>`:                                         "the envelope describes several virtual machines",
		strings.Replace(exported, "4096</rasd:V", "much</rasd:V", 1):                                                  "this is no amount of memory",
		strings.Replace(exported, ">MegaBytes<", ">pages<", 1):                                                        "this is no unit of memory",
		strings.Replace(exported, `networks="null"`, `networks="[{&quot;ip&quot;: 1}]"`, 1):                           "the networks of VmInit are not the JSON that oVirt writes",
		strings.Replace(exported, `networks="null"`, `networks="{"`, 1):                                               "the networks of VmInit are not the JSON that oVirt writes",
		strings.Replace(exported, `networks="null"`, `networks="[[[[[[[{&quot;name&quot;: &quot;a&quot;}]]]]]]]"`, 1): "the networks of VmInit are not the JSON that oVirt writes",
		strings.Replace(exported, `<Name>desk</Name>`, `<Name>a desk</Name>`, 1):                                      "the name of a VM must be formed of letters",
	} {
		_, said := readOne(t, text)
		if !strings.Contains(said, want) || strings.Contains(said, "CANARY") {
			t.Errorf("%.200s\n%s\nwant %s", text, said, want)
		}
	}
}

// An OVF in initialization/configuration is imported, unless it stands beside the vm that an engine returns.
func TestImportedOVF(t *testing.T) {
	configuration := func(vm, data string) string {
		return "<vm>" + vm + "<initialization><configuration><type>ovf</type><data><![CDATA[" + data + "]]></data></configuration></initialization></vm>"
	}
	want, _ := readOne(t, exported)
	want.Name = "desk-2"
	got, said := readOne(t, configuration("<name>desk-2</name><cluster><name>Default</name></cluster>", exported))
	if strings.Contains(said, "error") || len(got.Media) != 1 {
		t.Errorf("%s", said)
	}
	sameMachine(t, got, want)
	if got, said := readOne(t, configuration("<name>desk-2</name><memory>1073741824</memory>", exported)); said != "" || len(got.Media) != 0 || got.Hardware.Memory != 1<<30 {
		t.Errorf("%+v\n%s", got, said)
	}
	for data, want := range map[string]string{
		"<Envelope>\n<a>":           "error[VS3500]: configuration/data: element <a> is not closed",
		"<vm/>":                     "error[VS2569]: vm.initialization.configuration.data: the data of the configuration is no OVF",
		"<Envelope><a/></Envelope>": "the envelope describes no virtual machine",
		"<!DOCTYPE a><a/>":          "error[VS3501]",
	} {
		if _, said := readOne(t, configuration("<name>a</name>", data)); !strings.Contains(said, want) {
			t.Errorf("%s\n%s\nwant %s", data, said, want)
		}
	}
}

// TestOVFLineBreaks reads line breaks as the escape \n, which an engine takes for one as well, and leaves it alone in a text
// with line breaks of another form.
func TestOVFLineBreaks(t *testing.T) {
	for script, want := range map[string]string{
		`#!/bin/sh\necho hello\n`:                 "#!/bin/sh\necho hello\n",
		`#!/bin/sh&#10;printf 'a\n'&#10;`:         "#!/bin/sh\nprintf 'a\\n'\n",
		`#!/bin/sh&amp;#10;printf 'a\n'`:          "#!/bin/sh\nprintf 'a\\n'",
		`packages: [a]\nruncmd:\n - [b]`:          "#cloud-config\npackages: [a]\nruncmd:\n - [b]",
		`#cloud-config\nbootcmd: [&quot;a&quot;]`: "#cloud-config\nbootcmd: [\"a\"]",
	} {
		m, said := readOne(t, `<Envelope xmlns:ovf="o"><VirtualSystem ovf:id="v"><Name>v</Name><VmInit ovf:hostname="v" ovf:customScript="`+script+`"/></VirtualSystem></Envelope>`)
		if layers := m.UserData.Layers; said != "" || len(layers) != 1 || layers[0].Data.Reveal() != want {
			t.Errorf("%s: %d layers, %s", script, len(layers), said)
		}
	}
}

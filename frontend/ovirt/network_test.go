package ovirt_test

import (
	"fmt"
	"strings"
	"testing"
)

// nic is an initialization with one NIC.
func nic(inner string) string {
	return initialization("<nic_configurations><nic_configuration><name>eth0</name>" + inner + "</nic_configuration></nic_configurations>")
}

// TestProtocols reads every protocol of both families.
func TestProtocols(t *testing.T) {
	const static4 = "<boot_protocol>static</boot_protocol>"
	for name, tt := range map[string]struct {
		inner string
		want  []string
	}{
		"nothing":            {"", []string{"network.nics[0].name = eth0", "-network.nics[0].rename", "-network.mode"}},
		"none and none":      {"<boot_protocol>none</boot_protocol><ipv6_boot_protocol>none</ipv6_boot_protocol><on_boot>true</on_boot>", []string{"-network.nics[0].rename", "network.nics[0].onBoot = true"}},
		"DHCP":               {"<boot_protocol>dhcp</boot_protocol>", []string{"network.nics[0].dhcp4 = true", "network.nics[0].rename = eth0", "network.nics[0].match = name", "-network.nics[0].onBoot", "-network.nics[0].dhcp6"}},
		"DHCP in capitals":   {"<boot_protocol>DHCP</boot_protocol>", []string{"network.nics[0].dhcp4 = true"}},
		"DHCPv6":             {"<ipv6_boot_protocol>dhcp</ipv6_boot_protocol>", []string{"network.nics[0].dhcp6 = stateful", "-network.nics[0].slaac", "-network.nics[0].dhcp4"}},
		"autoconf":           {"<ipv6_boot_protocol>autoconf</ipv6_boot_protocol>", []string{"network.nics[0].slaac = true", "-network.nics[0].dhcp6"}},
		"poly":               {"<ipv6_boot_protocol>poly_dhcp_autoconf</ipv6_boot_protocol>", []string{"network.nics[0].slaac = true", "network.nics[0].dhcp6 = stateful"}},
		"down":               {"<boot_protocol>dhcp</boot_protocol><on_boot>false</on_boot>", []string{"network.nics[0].onBoot = false"}},
		"static":             {static4 + "<ip><address>192.0.2.1</address><netmask>255.255.254.0</netmask></ip>", []string{"network.nics[0].addresses[0] = 192.0.2.1/23", "-network.nics[0].gateway4"}},
		"static, attributes": {"<boot_protocol>STATIC</boot_protocol><ip address='192.0.2.1' netmask='255.255.255.0' gateway='192.0.2.254'/>", []string{"network.nics[0].addresses[0] = 192.0.2.1/24", "network.nics[0].gateway4 = 192.0.2.254"}},
		"static, prefix":     {static4 + "<ip><address>192.0.2.1</address><netmask>22</netmask></ip>", []string{"network.nics[0].addresses[0] = 192.0.2.1/22"}},
		"static, slash":      {static4 + "<ip><address>192.0.2.1/25</address></ip>", []string{"network.nics[0].addresses[0] = 192.0.2.1/25"}},
		"static, no netmask": {static4 + "<ip><address>192.0.2.1</address></ip>", []string{"network.nics[0].addresses[0] = 192.0.2.1/24", "f:1:141: warning[VS2517]"}},
		"static IPv6":        {"<ipv6_boot_protocol>static</ipv6_boot_protocol><ipv6><address>2001:DB8::1</address><netmask>48</netmask><gateway>fe80::1</gateway></ipv6>", []string{"network.nics[0].addresses[0] = 2001:db8::1/48", "network.nics[0].gateway6 = fe80::1"}},
		"address only":       {"<ipv6_boot_protocol>static</ipv6_boot_protocol><ipv6><address>2001:db8::1</address></ipv6>", []string{"network.nics[0].addresses[0] = 2001:db8::1/64"}},
		"no protocol":        {"<ip><address>192.0.2.1</address><netmask>255.255.255.0</netmask></ip>", []string{"network.nics[0].addresses[0] = 192.0.2.1/24"}},
		"not used":           {"<boot_protocol>dhcp</boot_protocol><ip><address>192.0.2.1</address></ip>", []string{"network.nics[0].dhcp4 = true", "-network.nics[0].addresses", "f:1:126: warning[VS2516]"}},
		"what an engine returns": {"<boot_protocol>dhcp</boot_protocol><ip><address></address><gateway/><netmask> </netmask><version>v4</version></ip><ipv6_boot_protocol>none</ipv6_boot_protocol><ipv6>\n</ipv6>",
			[]string{"network.nics[0].dhcp4 = true"}},
		"gateway elsewhere":                     {static4 + "<ip><address>192.0.2.1</address><netmask>24</netmask><gateway>198.51.100.1</gateway></ip>", []string{"network.nics[0].gateway4 = 198.51.100.1", "f:1:190: warning[VS2517]"}},
		"gateway of IPv4 elsewhere, link-local": {static4 + "<ip><address>192.0.2.1</address><netmask>24</netmask><gateway>169.254.1.1</gateway></ip>", []string{"network.nics[0].gateway4 = 169.254.1.1", "f:1:190: warning[VS2517]"}},
	} {
		check(t, name, nic(tt.inner), tt.want...)
	}
}

// TestWithoutIPv6 says once that a config drive cannot keep a guest from what routers advertise. An Ignition config can.
func TestWithoutIPv6(t *testing.T) {
	one := func(name, protocol, inner string) string {
		return "<nic_configuration><name>" + name + "</name>" + inner + "<boot_protocol>dhcp</boot_protocol><ipv6_boot_protocol>" + protocol + "</ipv6_boot_protocol></nic_configuration>"
	}
	list := "<nic_configurations>" + one("eth0", "none", "") + one("eth1", "autoconf", "") + one("eth2", "NONE", "<on_boot>true</on_boot>") +
		one("eth3", "none", "<on_boot>false</on_boot>") + "</nic_configurations>"
	for script, note := range map[string]bool{"": true, `<custom_script>{"ignition": {"version": "3.0.0"}}</custom_script>`: false} {
		machines, l := read("f", initialization(list+script))
		said, refused := "", 0
		for _, d := range l {
			if strings.Contains(d.Summary, "router") {
				said += d.Error()
			}
		}
		for _, n := range machines[0].Network.NICs {
			if n.AcceptRA != nil && !*n.AcceptRA {
				refused++
			}
		}
		if note != strings.Contains(said, "(eth0, eth2)") || strings.Count(said, "VS2516") > 1 || note == (refused == 2) {
			t.Errorf("%s: %d NICs refuse, and %q is said", script, refused, said)
		}
	}
}

// TestNICs lays what the guest does over the NICs of the machine.
func TestNICs(t *testing.T) {
	nics := func(names ...string) string {
		out := "<nics>"
		for i, name := range names {
			out += fmt.Sprintf("<nic><name>%s</name><mac><address>00:1a:4a:16:01:%02x</address></mac></nic>", name, i)
		}
		return out + "</nics>"
	}
	guest := func(names ...string) string {
		out := "<initialization><nic_configurations>"
		for _, name := range names {
			out += "<nic_configuration><name>" + name + "</name><boot_protocol>dhcp</boot_protocol></nic_configuration>"
		}
		return out + "</nic_configurations></initialization>"
	}
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"in order": {nics("nic1", "nic2") + guest("ens3", "ens4"), []string{"network.nics[0].name = nic1", "network.nics[0].rename = ens3", "network.nics[0].mac = 00:1a:4a:16:01:00",
			"network.nics[1].name = nic2", "network.nics[1].rename = ens4", "-network.nics[0].match", "-network.nics[2]"}},
		"by number":                         {nics("nic1", "nic2") + guest("eth1", "eth0"), []string{"network.nics[0].rename = eth0", "network.nics[1].rename = eth1", "-network.nics[2]"}},
		"by number, not all called so":      {nics("nic1", "nic2") + guest("eth1", "ens4"), []string{"network.nics[0].rename = eth1", "network.nics[1].rename = ens4"}},
		"one of two":                        {nics("nic1", "nic2") + guest("eth1"), []string{"-network.nics[0].rename", "network.nics[1].rename = eth1"}},
		"more than there are":               {nics("nic1") + guest("eth0", "eth1"), []string{"network.nics[1].name = eth1", "network.nics[1].rename = eth1", "-network.nics[1].match", "-network.nics[1].mac"}},
		"none stated":                       {guest("eth1"), []string{"network.nics[0].name = eth0", "network.nics[0].match = name", "network.nics[1].rename = eth1", "network.nics[1].match = name"}},
		"name servers alone":                {nics("nic1", "nic2") + "<initialization><dns_servers>192.0.2.1</dns_servers></initialization>", []string{"network.nics[0].dhcp4 = true", "-network.nics[1].dhcp4", "-network.mode", "network.dns.servers[0] = 192.0.2.1"}},
		"name servers of nobody knows what": {"<initialization><dns_search>example.com</dns_search></initialization>", []string{"-network.nics", "network.dns.search[0] = example.com"}},
		"none at all":                       {"<initialization><host_name>h</host_name></initialization>", []string{"network.mode = dhcp", "-network.nics"}},
		"not plugged": {"<nics><nic><name>a</name><plugged>false</plugged></nic><nic><name>b</name></nic></nics>" + guest("eth0"),
			[]string{"network.nics[0].name = b", "network.nics[0].rename = eth0", "-network.nics[1]"}},
	} {
		check(t, name, "<vm><name>v</name>"+tt.text+"</vm>", tt.want...)
	}
}

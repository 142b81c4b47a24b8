package ovirt_test

import (
	"strings"
	"testing"
)

// TestErrors reads what is wrong. Every error stands where the document can be mended, and none shows a password.
func TestErrors(t *testing.T) {
	in := func(inner string) string {
		return "<vm><name>v</name><initialization>\n" + inner + "\n</initialization></vm>"
	}
	guestNIC := func(inner string) string {
		return in("<nic_configurations><nic_configuration>\n" + inner + "\n</nic_configuration></nic_configurations>")
	}
	for name, tt := range map[string]struct{ text, want string }{
		"unknown element":            {in("<hostname>h</hostname>"), `f:2:1: error[VS1215]: vm.initialization.hostname: there is no field "hostname" here; did you mean "host_name"?`},
		"unknown in cloud_init":      {in("<cloud_init>\n<hosts/></cloud_init>"), `f:3:1: error[VS1215]: vm.initialization.cloud_init.hosts: there is no field "hosts" here; did you mean "host"?`},
		"unknown in a NIC":           {guestNIC("<name>a</name><bootproto/>"), `f:3:15: error[VS1215]`},
		"unknown in ip":              {guestNIC("<name>a</name>\n<ip><prefix>24</prefix></ip>"), `f:4:5: error[VS1215]`},
		"another in a list":          {in("<nic_configurations>\n<nic/></nic_configurations>"), `f:3:1: error[VS1215]: vm.initialization.nic_configurations.nic: there is no field "nic" here; the fields are nic_configuration`},
		"a text for a list":          {in("<nic_configurations>eth0</nic_configurations>"), `f:2:21: error[VS1210]: vm.initialization.nic_configurations: a mapping should stand here, not a single value`},
		"an element for a text":      {in("<host_name><a/></host_name>"), `f:2:1: error[VS1210]: vm.initialization.host_name: a single value should stand here, not a mapping`},
		"twice":                      {in("<host_name>a</host_name>\n<host_name>b</host_name>"), `f:2:1: error[VS2504]: vm.initialization.host_name: vm.initialization.host_name stands here more than once; keep one of them`},
		"initialization twice":       {"<vm>\n<initialization/><initialization/></vm>", "f:2:1: error[VS1210]"},
		"two forms":                  {in("<host_name>a</host_name>\n<cloud_init><host><address>b</address></host></cloud_init>"), "f:3:28: error[VS2504]: vm.initialization.cloud_init.host.address: this says what vm.initialization.host_name says as well, and otherwise; keep one of the two"},
		"two forms of NICs":          {in("<nic_configurations><nic_configuration><name>a</name></nic_configuration></nic_configurations>\n<cloud_init><network_configuration><nics><nic><name>b</name></nic></nics></network_configuration></cloud_init>"), "f:3:36: error[VS2504]"},
		"two forms of name servers":  {in("<dns_servers>192.0.2.1</dns_servers>\n<cloud_init><network_configuration><dns><servers><host><address>192.0.2.2</address></host></servers></dns></network_configuration></cloud_init>"), "f:3:65: error[VS2504]"},
		"host name":                  {in("<host_name>a b</host_name>"), "f:2:12: error[VS2509]"},
		"host name with a dash":      {in("<host_name>-a.example</host_name>"), "f:2:12: error[VS2509]"},
		"host name too long":         {in("<host_name>" + strings.Repeat("a", 64) + "</host_name>"), "f:2:12: error[VS2509]"},
		"time zone of Windows":       {in("<timezone>GMT Standard Time</timezone>"), "f:2:11: error[VS2510]"},
		"user name":                  {in("<user_name>0 root</user_name>"), "f:2:12: error[VS2511]"},
		"user without a name":        {in("<users><user>\n<password>canary</password></user></users>"), "f:2:8: error[VS2511]: vm.initialization.users.user: a user has no name; write a user_name"},
		"two passwords":              {in("<user_name>root</user_name><root_password>canary</root_password>\n<users><user><user_name>root</user_name><password>canary</password></user></users>"), "f:3:51: error[VS2504]"},
		"password of two lines":      {in("<root_password>canary\ncanary</root_password>"), "f:2:16: error[VS2511]"},
		"private key":                {in("<authorized_ssh_keys>-----BEGIN OPENSSH PRIVATE KEY-----\ncanary\n</authorized_ssh_keys>"), "f:2:22: error[VS2513]"},
		"boolean":                    {in("<regenerate_ssh_keys>yes</regenerate_ssh_keys>"), "f:2:22: error[VS2503]: vm.initialization.regenerate_ssh_keys: Invalid value: true or false should stand here"},
		"network protocol":           {in("<cloud_init_network_protocol>netplan</cloud_init_network_protocol>"), "f:2:30: error[VS2503]"},
		"name server":                {in("<dns_servers>192.0.2.1 dns.example</dns_servers>"), "f:2:14: error[VS2517]"},
		"search domain":              {in("<dns_search>a.example,b.example</dns_search>"), "f:2:13: error[VS2517]"},
		"relative path":              {in("<files><file><name>a</name><content>canary</content></file></files>"), "f:2:20: error[VS2515]"},
		"path that climbs":           {in("<files><file><name>/a/../b</name></file></files>"), "f:2:20: error[VS2515]"},
		"file without a name":        {in("<files><file><content>canary</content></file></files>"), "f:2:8: error[VS2515]"},
		"file twice":                 {in("<files><file><name>/a</name></file>\n<file><name>/a</name></file></files>"), "f:3:13: error[VS2504]"},
		"type of a file":             {in("<files><file><name>/a</name><type>GZIP</type></file></files>"), "f:2:35: error[VS2503]"},
		"not base64":                 {in("<files><file><name>/a</name><content>canary!</content><type>BASE64</type></file></files>"), "f:2:38: error[VS1214]"},
		"Ignition that is no JSON":   {in("<custom_script>{\"ignition\": {\"version\": </custom_script>"), ""},
		"NIC without a name":         {guestNIC("<boot_protocol>dhcp</boot_protocol>"), "f:2:21: error[VS2516]"},
		"NIC with a long name":       {guestNIC("<name>averylongname123</name>"), "f:3:7: error[VS2516]"},
		"NIC with a blank":           {guestNIC("<name>eth 0</name>"), "f:3:7: error[VS2516]"},
		"two NICs of one name":       {in("<nic_configurations><nic_configuration><name>a</name></nic_configuration>\n<nic_configuration><name>a</name></nic_configuration></nic_configurations>"), `f:3:26: error[VS2516]: vm.initialization.nic_configurations.nic_configuration[1].name: two NICs of the guest are called "a"; rename one of them`},
		"protocol":                   {guestNIC("<name>a</name><boot_protocol>bootp</boot_protocol>"), "f:3:30: error[VS2503]: vm.initialization.nic_configurations.nic_configuration.boot_protocol: Invalid value \"bootp\": one of none, dhcp, static should stand here"},
		"autoconf for IPv4":          {guestNIC("<name>a</name><boot_protocol>autoconf</boot_protocol>"), "f:3:30: error[VS2503]: vm.initialization.nic_configurations.nic_configuration.boot_protocol: Invalid value: autoconf is not applicable for IPv4; write dhcp"},
		"protocol of IPv6":           {guestNIC("<name>a</name><ipv6_boot_protocol>slaac</ipv6_boot_protocol>"), "f:3:35: error[VS2503]"},
		"static without an address":  {guestNIC("<name>a</name><boot_protocol>static</boot_protocol>"), "f:3:30: error[VS2517]: vm.initialization.nic_configurations.nic_configuration.boot_protocol: a static IPv4 configuration has no address; give an address, or choose another protocol"},
		"static with an empty one":   {guestNIC("<name>a</name><ipv6_boot_protocol>static</ipv6_boot_protocol><ipv6><address/></ipv6>"), "f:3:35: error[VS2517]"},
		"address":                    {guestNIC("<name>a</name><ip><address>192.0.2.256</address></ip>"), "f:3:28: error[VS2517]"},
		"address of IPv6 in ip":      {guestNIC("<name>a</name><ip><address>2001:db8::1</address></ip>"), "f:3:28: error[VS2517]"},
		"address of many":            {guestNIC("<name>a</name><ip><address>224.0.0.1</address></ip>"), "f:3:28: error[VS2517]"},
		"version":                    {guestNIC("<name>a</name><ip><version>v6</version></ip>"), "f:3:28: error[VS2503]"},
		"netmask with a hole":        {guestNIC("<name>a</name><ip><address>192.0.2.1</address><netmask>255.0.255.0</netmask></ip>"), "f:3:56: error[VS2503]"},
		"netmask of IPv6":            {guestNIC("<name>a</name><ipv6><address>2001:db8::1</address><netmask>129</netmask></ipv6>"), "f:3:60: error[VS2503]"},
		"netmask twice":              {guestNIC("<name>a</name><ip><address>192.0.2.1/24</address><netmask>24</netmask></ip>"), "f:3:59: error[VS2504]"},
		"gateway of another family":  {guestNIC("<name>a</name><ip><address>192.0.2.1/24</address><gateway>fe80::1</gateway></ip>"), "f:3:59: error[VS2517]"},
		"gateway is the machine":     {guestNIC("<name>a</name><ip><address>192.0.2.1/24</address><gateway>192.0.2.1</gateway></ip>"), "f:3:59: error[VS2517]"},
		"one address for two NICs":   {in("<nic_configurations><nic_configuration><name>a</name><ip><address>192.0.2.1/24</address></ip></nic_configuration>\n<nic_configuration><name>b</name><ip><address>192.0.2.1/24</address></ip></nic_configuration></nic_configurations>"), "f:3:34: error[VS2517]"},
		"name of a vm":               {"<vm><name>a b</name></vm>", "f:1:11: error[VS2502]"},
		"memory":                     {"<vm><memory>1 GiB</memory></vm>", `f:1:13: error[VS2503]: vm.memory: Invalid value "1 GiB": a number of bytes from 1048576 to 1152921504606846976 (1 GiB is 1073741824) should stand here`},
		"list of name servers":       {`{"vm": {"initialization": {"dns_servers": ["192.0.2.1"]}}}`, "f:1:43: error[VS2504]: vm.initialization.dns_servers: this is one text with the values separated by blanks, not a list; write them into one text"},
		"list for a text":            {`{"vm": {"initialization": {"host_name": ["a"]}}}`, "f:1:41: error[VS2504]: vm.initialization.host_name: this is one text, not a list; write the text without the brackets"},
		"script without #!":          {in("<custom_script>echo hello</custom_script>"), "f:2:16: error[VS3001]: custom_script: a cloud-config is a mapping, not a string; begin a script with the line"},
		"CPUs":                       {"<vm><cpu><topology cores='0'/></cpu></vm>", "f:1:20: error[VS2503]"},
		"too many CPUs":              {"<vm><cpu><topology cores='4096' sockets='2'/></cpu></vm>", "f:1:10: error[VS2503]"},
		"firmware":                   {"<vm><bios><type>uefi</type></bios></vm>", "f:1:17: error[VS2503]"},
		"NIC of a vm without a name": {"<vm><nics><nic><linked>true</linked></nic></nics></vm>", "f:1:11: error[VS2516]"},
		"two NICs of a vm":           {"<vm><nics><nic><name>a</name></nic><nic><name>a</name></nic></nics></vm>", "f:1:47: error[VS2516]"},
		"MAC":                        {"<vm><nics><nic><name>a</name><mac><address>00:11</address></mac></nic></nics></vm>", "f:1:44: error[VS2503]"},
		"an empty vm":                {"<vm/>", "f:1:1: error[VS2500]: vm: there is nothing in it"},
		"no vm in vms":               {"<vms><template/></vms>", "f:1:1: error[VS2500]"},
		"another document":           {"<pool><name>a</name></pool>", "f:1:1: error[VS2500]: this is no vm"},
		"a list":                     {"[1]", "f:1:1: error[VS1210]"},
	} {
		_, l := read("f", tt.text)
		if !strings.HasPrefix(l.Error(), tt.want) {
			t.Errorf("%s: got\n%v\nwant\n%s", name, l.Error(), tt.want)
		}
		if strings.Contains(l.Error(), "canary") {
			t.Errorf("%s: a secret shows in %v", name, l.Error())
		}
	}
}

// TestOneFaultOnce holds that what follows from an error in a NIC is no diagnostic of its own.
func TestOneFaultOnce(t *testing.T) {
	const rest = "<netmask>255.255.255.0</netmask><gateway>192.0.2.254</gateway>"
	for name, inner := range map[string]string{
		"address":          "<name>a</name><boot_protocol>static</boot_protocol><ip><address>192.0.2.300</address>" + rest + "</ip>",
		"netmask":          "<name>a</name><boot_protocol>static</boot_protocol><ip><address>192.0.2.1</address><netmask>255.0.255.0</netmask><gateway>192.0.2.254</gateway></ip>",
		"protocol":         "<name>a</name><boot_protocol>statc</boot_protocol><ip><address>192.0.2.1</address>" + rest + "</ip>",
		"protocol alone":   "<name>a</name><boot_protocol>statc</boot_protocol>",
		"without protocol": "<name>a</name><ip><address>192.0.2.300</address>" + rest + "</ip>",
		"no address":       "<name>a</name><boot_protocol>static</boot_protocol><ip>" + rest + "</ip>",
		"no name":          "<boot_protocol>static</boot_protocol><ip><address>192.0.2.1</address>" + rest + "</ip>",
	} {
		text := "<vm><name>v</name><initialization><nic_configurations><nic_configuration>" + inner + "</nic_configuration></nic_configurations></initialization></vm>"
		if _, l := read("f", text); len(l) != 1 || !l.HasErrors() {
			t.Errorf("%s: %v", name, l.Error())
		}
	}
}

// TestGivenOut passes over ids as an engine gives them out. One of an author is noted.
func TestGivenOut(t *testing.T) {
	for id, want := range map[string]int{"5d0a2ce7-5b4c-4d1f-9f0e-0c6f2f0b7a11": 0, "first": 1} {
		_, l := read("f", "<vm><name>v</name><nics><nic id='"+id+"'><name>nic1</name></nic></nics><initialization><host_name>v</host_name></initialization></vm>")
		if len(l) != want {
			t.Errorf("%s: %v", id, l)
		}
	}
}

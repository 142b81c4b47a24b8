package ovirt_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine/machinetest"
)

const sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJAhcbYBlKG6qGzj1chVHcFWcQEaK0WxOr9uG7wKrrDX"

// lines returns what the machine of an initialization holds, and what is said at warning or above.
func lines(text string) []string {
	machines, l := read("f", text)
	var out []string
	for _, m := range machines {
		out = append(out, strings.Split(strings.TrimSuffix(machinetest.Dump(m), "\n"), "\n")...)
	}
	for _, d := range l {
		if d.Severity > diag.Note {
			out = append(out, d.Error())
		}
	}
	return out
}

// check demands lines of a machine, each of which begins as wanted, and that none begins with a text behind a dash.
func check(t *testing.T, name, text string, want ...string) {
	t.Helper()
	got := lines(text)
	for _, w := range want {
		w, absent := strings.CutPrefix(w, "-")
		found := false
		for _, line := range got {
			found = found || strings.HasPrefix(line, w)
		}
		if found == absent {
			t.Errorf("%s: %q is %v in\n%s", name, w, found, strings.Join(got, "\n"))
		}
	}
	if last := want[len(want)-1]; !strings.Contains(last, "[VS") {
		for _, line := range got {
			if strings.Contains(line, "[VS") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

func initialization(inner string) string {
	return "<vm><name>v</name><initialization>" + inner + "</initialization></vm>"
}

// TestInitialization reads every member of an initialization, in the spellings of all versions of the API.
func TestInitialization(t *testing.T) {
	for name, tt := range map[string]struct {
		inner string
		want  []string
	}{
		"what an engine always says": {"<host_name>h</host_name>", []string{"ssh.disableRoot = false", "ssh.deleteHostKeys = false", "-ssh.passwordAuth",
			"dataSource = configdrive", "compat = ovirt", "network.mode = dhcp", "identity.hostname = h"}},
		"host name with a domain":      {"<host_name> h.example.com\n</host_name>", []string{"identity.hostname = h.example.com"}},
		"host name of the web form":    {"<host_name>my_host</host_name>", []string{"identity.hostname = my_host"}},
		"keys":                         {"<authorized_ssh_keys>\r\n" + sshKey + " a\r\n\r\n" + sshKey + " b\r</authorized_ssh_keys>", []string{"ssh.authorizedKeys[0] = " + sshKey + " a", "ssh.authorizedKeys[1] = " + sshKey + " b"}},
		"password of the default user": {"<root_password> p w </root_password>", []string{"users[0].default = true", "users[0].password =  p w ", "-users[0].name", "ssh.passwordAuth = true"}},
		"password of a named user":     {"<user_name>core</user_name><root_password>pw</root_password>", []string{"users[0].name = core", "users[0].default = true", "users[0].password = pw"}},
		"user without a password":      {"<user_name>core</user_name>", []string{"users[0].name = core", "users[0].default = true", "-ssh.passwordAuth"}},
		"hash of sha512-crypt":         {"<root_password>$6$abc$defghi</root_password>", []string{"users[0].passwordHash = $6$abc$defghi", "ssh.passwordAuth = true"}},
		"hash of yescrypt":             {"<root_password>$y$j9T$skCa2x$yke</root_password>", []string{"users[0].passwordHash = $y$j9T$skCa2x$yke"}},
		"clear text with a dollar":     {"<root_password>$ecret!</root_password>", []string{"users[0].password = $ecret!"}},
		"clear text with a mark":       {"<root_password>!secret</root_password>", []string{"users[0].password = !secret", "-users[0].passwordHash"}},
		"empty password":               {"<root_password></root_password><host_name>h</host_name>", []string{"-users", "-ssh.passwordAuth", "name = v"}},
		"masked password":              {"<root_password>******</root_password>", []string{"-users", "f:1:50: warning[VS2512]"}},
		"host keys anew":               {"<regenerate_ssh_keys>TRUE</regenerate_ssh_keys>", []string{"ssh.deleteHostKeys = true"}},
		"host keys anew, by number":    {"<regenerate_ssh_keys>1</regenerate_ssh_keys>", []string{"ssh.deleteHostKeys = true"}},
		"time zone":                    {"<timezone>America/Argentina/Buenos_Aires</timezone>", []string{"guest.timezone = America/Argentina/Buenos_Aires"}},
		"locale of Linux":              {"<system_locale>de_DE.UTF-8</system_locale>", []string{"guest.locale = de_DE.UTF-8"}},
		"locale of Windows":            {"<system_locale>de-DE</system_locale>", []string{"guest.locale = de_DE.UTF-8"}},
		"name servers":                 {"<dns_servers>\n 192.0.2.1\t 2001:db8::1 \n</dns_servers><dns_search> a.example  b.example </dns_search>", []string{"network.dns.servers[0] = 192.0.2.1", "network.dns.servers[1] = 2001:db8::1", "network.dns.search[0] = a.example", "network.dns.search[1] = b.example", "-network.mode"}},
		"protocol eni":                 {"<cloud_init_network_protocol>ENI</cloud_init_network_protocol>", []string{"network.format = eni"}},
		"protocol openstack":           {"<cloud_init_network_protocol>openstack_metadata</cloud_init_network_protocol>", []string{"-network.format", "name = v"}},
		"for an import":                {"<regenerate_ids>true</regenerate_ids><host_name>h</host_name>", []string{"identity.hostname = h"}},
		"for Windows":                  {"<org_name>o</org_name>", []string{"f:1:45: warning[VS2518]: vm.initialization.org_name: org_name is for sysprep only"}},
		"what an engine returns":       {"<regenerate_ssh_keys>false</regenerate_ssh_keys><nic_configurations>\n</nic_configurations>", []string{"ssh.deleteHostKeys = false", "network.mode = dhcp"}},
		"old host":                     {"<cloud_init><host><address>h</address></host></cloud_init>", []string{"identity.hostname = h"}},
		"old host, both alike":         {"<host_name>h</host_name><cloud_init><host><address>h</address></host></cloud_init>", []string{"identity.hostname = h"}},
		"old host of the feature page": {"<host><address>h</address></host>", []string{"identity.hostname = h"}},
		"old time zone":                {"<cloud_init><timezone>UTC</timezone><regenerate_ssh_keys>true</regenerate_ssh_keys></cloud_init>", []string{"guest.timezone = UTC", "ssh.deleteHostKeys = true"}},
		"old users":                    {"<users><user><user_name>root</user_name><password>pw</password></user><user><user_name>bob</user_name></user></users>", []string{"users[0].name = root", "users[0].default = true", "users[0].password = pw", "users[1].name = bob", "-users[1].default"}},
		"old user beside a new one":    {"<user_name>core</user_name><users><user><user_name>root</user_name><password>pw</password></user></users>", []string{"users[0].name = core", "users[0].default = true", "users[1].name = root", "-users[1].default"}},
		"old key of nobody":            {"<authorized_keys><authorized_key><key>" + sshKey + "</key></authorized_key></authorized_keys>", []string{"ssh.authorizedKeys[0] = " + sshKey, "-users"}},
		"old key of somebody":          {"<cloud_init><authorized_keys><authorized_key><user><user_name>bob</user_name></user><key>" + sshKey + "</key></authorized_key></authorized_keys></cloud_init>", []string{"users[0].name = bob", "users[0].sshAuthorizedKeys[0] = " + sshKey, "-ssh.authorizedKeys"}},
		"old name servers":             {"<cloud_init><network_configuration><dns><servers><host><address>192.0.2.1</address></host></servers><search_domains><host><address>example.com</address></host></search_domains></dns></network_configuration></cloud_init>", []string{"network.dns.servers[0] = 192.0.2.1", "network.dns.search[0] = example.com"}},
		"files":                        {"<files><file><name>/a</name><content>\n x\n</content><type>PLAINTEXT</type></file><file><name>/b</name><content>eA==</content><type>BASE64</type></file><file><name>/c</name></file></files>", []string{"files[0].path = /a", "files[0].content = |", "files[1].path = /b", "files[1].content = x", "files[2].path = /c"}},
		"file that is YAML":            {"<files><file><name>/etc/netplan/x.yaml</name><content>network: {version: 2}\nnonsense: true</content></file></files>", []string{"files[0].path = /etc/netplan/x.yaml", "-userData"}},
		"file that is a script":        {"<files><file><name>/bin/x</name><content>#!/bin/sh\n</content></file></files>", []string{"files[0].path = /bin/x", "-userData"}},
		"file that is a cloud-config":  {"<files><file><name>/x</name><content>#cloud-config\nhostname: a</content></file></files>", []string{"-files", "userData.layers[0].name = file /x"}},
	} {
		check(t, name, initialization(tt.inner), tt.want...)
	}
}

// TestScripts hands on custom scripts of every kind.
func TestScripts(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"fragment":               {"runcmd:\n- a\n", []string{"userData.layers[0].name = custom_script", "\t#cloud-config", "\truncmd:"}},
		"fragment behind a line": {"\nruncmd:\n- a\n", []string{"\t#cloud-config", "\truncmd:"}},
		"fragment with a header": {"\n#cloud-config\nruncmd:\n- a\n", []string{"\t#cloud-config", "\truncmd:"}},
		"indented fragment":      {"  runcmd:\n  - a\n", []string{"\t#cloud-config", "\t  runcmd:"}},
		"document mark":          {"---\nruncmd:\n- a\n", []string{"\t#cloud-config", "\t---"}},
		"JSON":                   {`{"runcmd": ["a"]}`, []string{"\t#cloud-config", "\t{\"runcmd\""}},
		"script":                 {"#!/bin/sh\necho\n", []string{"\t#!/bin/sh", "-\t#cloud-config"}},
		"boothook":               {"#cloud-boothook\n#!/bin/sh\n", []string{"\t#cloud-boothook", "-\t#cloud-config"}},
		"include":                {"#include\nhttps://example.com/\n", []string{"\t#include"}},
		"jinja":                  {"## template: jinja\n#cloud-config\nruncmd: [\"{{ x }}\"]\n", []string{"\t## template: jinja"}},
		"MIME":                   {"Content-Type: multipart/mixed; boundary=\"b\"\nMIME-Version: 1.0\n\n--b--\n", []string{"\tContent-Type: multipart/mixed", "-\t#cloud-config"}},
		"gzip in base64":         {"H4sIAAAAAAAAA1NWVNRPysyTAABb0T8gCgAAAA==", []string{"userData.layers[0].data"}},
		"script in base64":       {"IyEvYmluL3NoCmVjaG8K", []string{"\t#!/bin/sh"}},
		"blank":                  {" \n", []string{"-userData", "name = v"}},
		"Ignition":               {"\n{\"ignition\": {\"version\": \"3.0.0\"}}\n", []string{"dataSource = ignition", "guest.os = coreos", "guest.ignitionPlatform = openstack", "ignition[0].data = |", "-userData", "-ssh"}},
		"Butane":                 {"variant: fcos\nversion: 1.5.0\n", []string{"dataSource = ignition"}},
		"a word":                 {"Automatic configuration", []string{"-userData", "f:1:50: error[VS30"}},
		"a list":                 {"- a\n- b\n", []string{"-userData", "f:1:50: error[VS30"}},
		"broken YAML":            {"runcmd:\n- a\n b: [\n", []string{"-userData", "f:3:1: error[VS"}},
	} {
		check(t, name, initialization("<custom_script>"+strings.ReplaceAll(tt.text, "&", "&amp;")+"</custom_script>"), tt.want...)
	}
}

// TestScriptPlaces holds that what is wrong in a custom script is said with its line of the document, whatever stands before.
func TestScriptPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"<vm>\n<name>v</name>\n<initialization>\n <custom_script>\nruncmd:\n- a\nruncmd: []\n</custom_script></initialization></vm>": "f:7:1: error[VS1205]",
		"<vm>\n<name>v</name>\n<initialization>\n <custom_script>&#10;a: 1\na: 2</custom_script></initialization></vm>":              "f:5:1: error[VS1205]",
		"<vm>\n<name>v</name>\n<initialization>\n <custom_script><![CDATA[\n\na: <\na: &]]></custom_script></initialization></vm>":   "f:7:1: error[VS",
	} {
		_, l := read("f", text)
		if !strings.HasPrefix(l.Error(), want) {
			t.Errorf("got %v, want %s", l.Error(), want)
		}
	}
}

//go:build linux

package ovirtapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// TestStart holds what an action asks for against the machine that is started for it. The VM has a host name and a
// password of its own.
func TestStart(t *testing.T) {
	const stored = `<initialization><host_name>stored</host_name><root_password>old</root_password></initialization>`
	for _, c := range []struct {
		name, vm, action string
		// once is whether the run is a run-once, want what the machine or its seed must say.
		once bool
		want func(m machine.Machine, s seed.Seed) string
	}{
		{"plain", stored, `<action/>`, false, nil},
		{"asynchronous", stored, `<action><async>true</async></action>`, false, nil},
		{"cloud-init again", stored, `<action><use_cloud_init>true</use_cloud_init></action>`, true, func(m machine.Machine, s seed.Seed) string {
			return differ("host name", m.Identity.Hostname, "stored")
		}},
		{"laid over", stored, `<action><use_cloud_init>true</use_cloud_init><vm><initialization><custom_script>packages: [tree]
</custom_script></initialization></vm></action>`, true, func(m machine.Machine, s seed.Seed) string {
			return differ("host name", m.Identity.Hostname, "stored") + lacks(s, "tree")
		}},
		{"without a flag", stored, `<action><vm><initialization><host_name>other</host_name></initialization></vm></action>`, true,
			func(m machine.Machine, s seed.Seed) string {
				return differ("host name", m.Identity.Hostname, "other") + lacks(s, "other")
			}},
		{"a password", stored, `<action><vm><initialization><root_password>new</root_password></initialization></vm></action>`, true,
			func(m machine.Machine, s seed.Seed) string {
				if len(m.Users) != 1 || !strings.HasPrefix(m.Users[0].PasswordHash.Reveal(), "$6$") || !m.Users[0].Password.IsZero() {
					return "the password is not kept as a hash"
				}
				return ""
			}},
		{"Ignition under the flag of cloud-init", stored, `<action><use_cloud_init>true</use_cloud_init><vm><initialization><custom_script>
{"ignition": {"version": "3.0.0"}, "passwd": {"users": [{"name": "core"}]}}</custom_script></initialization></vm></action>`, true,
			func(m machine.Machine, s seed.Seed) string {
				return differ("data source", s.DataSource, "ignition") + lacks(s, "CnsiaWduaXRpb24iOiB7")
			}},
		{"the deprecated form", "", `<action><vm><initialization><cloud_init><host><address>rheltest001.example.com</address></host>
<users><user><user_name>root</user_name><password>secret</password></user></users>
<files><file><name>/etc/motd</name><content>Automatic configuration</content><type>PLAINTEXT</type></file></files></cloud_init></initialization></vm></action>`, true,
			func(m machine.Machine, s seed.Seed) string { return lacks(s, "rheltest001", "/etc/motd", "$6$") }},
		{"a CD", stored, `<action><use_cloud_init>true</use_cloud_init><vm><cdroms><cdrom><file id="tools.iso"/></cdrom></cdroms></vm></action>`, true,
			func(m machine.Machine, s seed.Seed) string {
				for _, d := range m.Disks {
					if d.Device == "cdrom" && strings.HasSuffix(d.Source.Path, "/images/tools.iso") && len(s.Volumes) > 0 {
						return ""
					}
				}
				return fmt.Sprintf("no CD among %v", m.Disks)
			}},
		{"a key", stored, `<action><authorized_key><key>ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJSMLXsWBGRjbSZKhDqvxcfXJ1K2YyFcsXLcNu3+kq1q me</key></authorized_key></action>`, true,
			func(m machine.Machine, s seed.Seed) string {
				return lacks(s, "AAAAC3NzaC1lZDI1NTE5AAAAIJSMLXsWBGRjbSZKhDqvxcfXJ1K2YyFcsXLcNu3+kq1q")
			}},
		{"hardware for one run", stored, `<action><vm><memory>2147483648</memory><cpu><topology><cores>3</cores></topology></cpu></vm></action>`, true,
			func(m machine.Machine, s seed.Seed) string {
				return differ("memory", m.Hardware.Memory, 2<<30) + differ("cores", m.Hardware.Cores, 3)
			}},
		{"an empty vm", stored, `<action><vm/></action>`, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := testAPI(t)
			importTemplate(t, api, "linux.raw", "linux")
			if answer := serve(t, api, "POST /ovirt-engine/api/vms HTTP/1.1\nContent-Type: application/xml\nExpect: 201-created\n\n<vm><name>a</name>"+
				"<cluster><name>Default</name></cluster><template><name>linux</name></template>"+c.vm+"</vm>"); answer.Code != 201 {
				t.Fatal(answer.Body)
			}
			m, err := api.d.FindByName("", "a")
			if err != nil {
				t.Fatal(err)
			}
			answer := serve(t, api, "POST /ovirt-engine/api/vms/"+m.ID+"/start HTTP/1.1\nContent-Type: application/xml\n\n"+c.action)
			if answer.Code != 200 {
				t.Fatal(answer.Body)
			}
			if m, err = api.d.Get(m.ID); err != nil || m.RunOnce != c.once {
				t.Fatalf("run once is %v, want %v (%v)", m.RunOnce, c.once, err)
			}
			if c.want == nil {
				return
			}
			renderings, list := api.d.Render(t.Context(), m.RunDocuments, daemon.RenderOptions{Machine: m.ID})
			if len(renderings) != 1 {
				t.Fatal(list)
			}
			if problem := c.want(renderings[0].Machine, renderings[0].Seed); problem != "" {
				t.Error(problem)
			}
		})
	}
}

func differ[T comparable](what string, got, want T) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("%s is %v, want %v\n", what, got, want)
}

// lacks says which texts no file of a seed holds.
func lacks(s seed.Seed, texts ...string) (problem string) {
	var all strings.Builder
	for _, v := range s.Volumes {
		for _, f := range v.Files {
			all.WriteString(f.Content.Reveal())
		}
	}
	for _, f := range s.Firmware.FwCfg {
		all.WriteString(f.Content.Reveal())
	}
	for _, text := range texts {
		if !strings.Contains(all.String(), text) {
			problem += fmt.Sprintf("%q is not in the seed:\n%s\n", text, all.String())
		}
	}
	return problem
}

// TestSysprep: what Windows is told in clear is kept apart, and nobody sees it.
func TestSysprep(t *testing.T) {
	api := testAPI(t)
	importTemplate(t, api, "linux.raw", "linux")
	answer := serve(t, api, "POST /ovirt-engine/api/vms HTTP/1.1\nContent-Type: application/xml\nExpect: 201-created\n\n"+
		"<vm><name>win</name><cluster><name>Default</name></cluster><template><name>linux</name></template><os><type>windows_2022</type></os>"+
		"<initialization><host_name>win</host_name><root_password>in clear</root_password></initialization></vm>")
	if answer.Code != 201 || strings.Contains(answer.Body.String(), "in clear") {
		t.Fatal(answer.Body)
	}
	m, err := api.d.FindByName("", "win")
	if err != nil {
		t.Fatal(err)
	}
	passwordsMissed := func() bool {
		events := api.d.Events(0)
		return slices.ContainsFunc(events, func(e daemon.Event) bool { return strings.Contains(e.Text, "masked") })
	}
	if passwordsMissed() {
		t.Error("an event says that the password is not known")
	}
	if len(m.FirstBootDocuments) != 1 || !strings.Contains(m.FirstBootDocuments[0].Text.Reveal(), "in clear") {
		t.Error("setup does not get the password in clear")
	}
	if text := m.Documents[0].Text.Reveal(); strings.Contains(text, "in clear") || strings.Contains(text, "$6$") || !strings.Contains(text, "******") {
		t.Error("the definition that is kept for good has the password in clear")
	}
	answer = serve(t, api, "PUT /ovirt-engine/api/vms/"+m.ID+" HTTP/1.1\nContent-Type: application/xml\n\n<vm><initialization><root_password>******</root_password>"+
		"<org_name>vmseed</org_name></initialization></vm>")
	if answer.Code != 200 {
		t.Fatal(answer.Body)
	}
	m, _ = api.d.Get(m.ID)
	if text := m.FirstBootDocuments[0].Text.Reveal(); !strings.Contains(text, "in clear") || !strings.Contains(text, "vmseed") {
		t.Error("a change of the definition lost what setup gets")
	}
	if passwordsMissed() {
		t.Error("an event of the change says that the password is not known")
	}
	if answer = serve(t, api, "POST /ovirt-engine/api/vms/"+m.ID+"/start HTTP/1.1\n\n"); answer.Code != 200 {
		t.Fatal(answer.Body)
	}
}

// TestForeign: VMs that came in another way are listed, started and removed; what is laid over a definition is refused.
func TestForeign(t *testing.T) {
	api := testAPI(t)
	m, err := api.d.Add(t.Context(), daemon.Machine{Documents: daemontest.Definition("native", "", "#cloud-config\n{}")})
	if err != nil {
		t.Fatal(err)
	}
	m = daemontest.WaitStatus(t, api.d, m.ID, daemon.Down)
	path := " /ovirt-engine/api/vms/" + m.ID
	for _, c := range []struct {
		request string
		status  int
		text    string
	}{
		{"GET /ovirt-engine/api/vms?search=name%3Dnative HTTP/1.1", 200, "<name>native</name>"},
		{"GET" + path + " HTTP/1.1", 200, "<name>vmseed_form</name>"},
		{"GET" + path + "/nics HTTP/1.1", 200, "<name>nic0</name>"},
		{"PUT" + path + " HTTP/1.1\nContent-Type: application/xml\n\n<vm><name>renamed</name></vm>", 200, "<name>renamed</name>"},
		{"PUT" + path + " HTTP/1.1\nContent-Type: application/xml\n\n<vm><description>x</description></vm>", 409, "did not come through this API"},
		{"POST" + path + "/start HTTP/1.1\nContent-Type: application/xml\n\n<action><vm><memory>2147483648</memory></vm></action>", 409, "did not come through this API"},
		{"POST" + path + "/start HTTP/1.1\nContent-Type: application/xml\n\n<action><use_cloud_init>true</use_cloud_init></action>", 200, "complete"},
		{"POST" + path + "/stop HTTP/1.1", 200, "complete"},
		{"DELETE" + path + " HTTP/1.1", 200, "complete"},
	} {
		answer := serve(t, api, c.request+"\n\n")
		if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.text) {
			t.Errorf("%.70q: %d %s", c.request, answer.Code, answer.Body)
		}
	}
}

// TestRepeatedStart: a request that comes again, as Ansible's do, does not make first boot run again; one with another
// password does. The same password of two VMs has two hashes.
func TestRepeatedStart(t *testing.T) {
	api := testAPI(t)
	importTemplate(t, api, "linux.raw", "linux")
	run := func(name, password string) (generation int, hash string) {
		t.Helper()
		m, err := api.d.FindByName("", name)
		if err != nil {
			t.Fatal(err)
		}
		path := "POST /ovirt-engine/api/vms/" + m.ID
		if answer := serve(t, api, path+"/start HTTP/1.1\nContent-Type: application/xml\n\n<action><use_cloud_init>true</use_cloud_init><vm><initialization>"+
			"<root_password>"+password+"</root_password></initialization></vm></action>"); answer.Code != 200 {
			t.Fatal(answer.Body)
		}
		m, _ = api.d.Get(m.ID)
		renderings, list := api.d.Render(t.Context(), m.RunDocuments, daemon.RenderOptions{Machine: m.ID})
		if len(renderings) != 1 || len(renderings[0].Machine.Users) != 1 {
			t.Fatal(list)
		}
		if answer := serve(t, api, path+"/stop HTTP/1.1\n\n"); answer.Code != 200 {
			t.Fatal(answer.Body)
		}
		return m.Generation, renderings[0].Machine.Users[0].PasswordHash.Reveal()
	}
	for _, name := range []string{"a", "b"} {
		if answer := serve(t, api, "POST /ovirt-engine/api/vms HTTP/1.1\nContent-Type: application/xml\nExpect: 201-created\n\n<vm><name>"+name+"</name>"+
			"<cluster><name>Default</name></cluster><template><name>linux</name></template></vm>"); answer.Code != 201 {
			t.Fatal(answer.Body)
		}
	}
	first, hash := run("a", "secret")
	if again, same := run("a", "secret"); again != first || same != hash {
		t.Errorf("the same start makes generation %d of %d", again, first)
	}
	if other, _ := run("a", "changed"); other != first+1 {
		t.Errorf("another password makes generation %d of %d", other, first)
	}
	if _, theirs := run("b", "secret"); !strings.HasPrefix(theirs, "$6$") || theirs == hash {
		t.Error("the same password of two VMs has one hash")
	}
}

// TestOtherWay: a document of oVirt's that came in another way is a VM as if it had come through this API.
func TestOtherWay(t *testing.T) {
	const initialization = "<initialization><host_name>web.example.com</host_name><user_name>deploy</user_name><root_password>in clear</root_password>" +
		"<nic_configurations><nic_configuration><name>eth0</name><boot_protocol>static</boot_protocol><on_boot>true</on_boot>" +
		"<ip><address>192.0.2.10</address><netmask>255.255.255.0</netmask></ip></nic_configuration></nic_configurations></initialization>"
	for name, document := range map[string]string{
		"vm":             "<vm><name>web</name>" + initialization + "</vm>",
		"vm with a NIC":  "<vm><name>web</name><nics><nic><name>front</name></nic></nics>" + initialization + "</vm>",
		"action":         "<action><use_cloud_init>true</use_cloud_init><vm><name>web</name>" + initialization + "</vm></action>",
		"initialization": initialization,
		"JSON":           `{"name": "web", "initialization": {"host_name": "web.example.com", "user_name": "deploy", "root_password": "in clear"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			api := testAPI(t)
			m, err := api.d.Add(t.Context(), daemon.Machine{Documents: []daemon.Document{{Name: "web.xml", Text: secret.New(document)}}})
			if err != nil {
				t.Fatal(err)
			}
			read := func() string {
				m, _ := api.d.Get(m.ID)
				renderings, list := api.d.Render(t.Context(), m.Documents, daemon.RenderOptions{Machine: m.ID})
				if len(renderings) != 1 {
					t.Fatal(list)
				}
				var b strings.Builder
				for _, v := range renderings[0].Seed.Volumes {
					for _, f := range v.Files {
						fmt.Fprintf(&b, "%s\n%s\n", f.Path, f.Content.Reveal())
					}
				}
				return crypted.ReplaceAllString(strings.ReplaceAll(b.String(), "in clear", "HASH"), "HASH")
			}
			before := read()
			path := " /ovirt-engine/api/vms/" + m.ID
			for _, c := range []struct {
				request string
				text    string
			}{
				{"GET" + path + " HTTP/1.1", "<root_password>******</root_password>"},
				{"GET" + path + " HTTP/1.1", "<host_name>web.example.com</host_name>"},
				{"GET" + path + " HTTP/1.1", "<memory>1073741824</memory>"},
				{"GET" + path + "/nics HTTP/1.1", "<address>"},
				{"PUT" + path + " HTTP/1.1\nContent-Type: application/xml\n\n<vm><description>moved</description></vm>", "<description>moved</description>"},
				{"GET" + path + " HTTP/1.1", "<user_name>deploy</user_name>"},
				{"POST" + path + "/start HTTP/1.1\nContent-Type: application/xml\n\n<action><use_cloud_init>true</use_cloud_init><vm><memory>2147483648</memory></vm></action>", "complete"},
			} {
				answer := serve(t, api, c.request+"\n\n")
				if answer.Code != 200 || !strings.Contains(answer.Body.String(), c.text) || strings.Contains(answer.Body.String(), "in clear") {
					t.Errorf("%.70q: %d, want %q in\n%s", c.request, answer.Code, c.text, answer.Body)
				}
			}
			if after := read(); after != before {
				t.Errorf("a change of the description changed what the guest reads from\n%s\nto\n%s", before, after)
			}
		})
	}
}

var crypted = regexp.MustCompile(`\$6\$[./A-Za-z0-9]+\$[./A-Za-z0-9]+`)

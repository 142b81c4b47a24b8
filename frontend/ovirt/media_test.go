package ovirt

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/format/unattend"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// readOne reads the machine of a document. What is said of it is one line for each diagnostic but notes.
func readOne(t *testing.T, text string) (machine.Machine, string) {
	t.Helper()
	values, l := element.Documents("f", []byte(text), bounded.Limits{})
	if l.HasErrors() || len(values) != 1 {
		t.Fatalf("%d documents, %v", len(values), l.Err())
	}
	machines, l := Frontend{}.Read(context.Background(), frontend.Source{Documents: []frontend.Document{{File: "f", Data: []byte(text), Tree: values[0]}}})
	l = slices.DeleteFunc(l, func(d diag.Diagnostic) bool { return d.Severity == diag.Note })
	var out strings.Builder
	if err := diag.Write(&out, diag.Text, l); err != nil {
		t.Fatal(err)
	}
	if len(machines) != 1 {
		return machine.Machine{}, out.String()
	}
	return machines[0], out.String()
}

func windows(kind, vm, init string) string {
	return "<action><use_sysprep>true</use_sysprep><vm><name>desk_7.corp</name><os><type>" + kind + "</type></os>" + vm + "<initialization>" + init + "</initialization></vm></action>"
}

const rootPassword = "<root_password>CANARY</root_password>"

func TestSysprep(t *testing.T) {
	m, said := readOne(t, windows("windows_2019x64", `<domain><name>corp.example.com</name><user><user_name>joiner</user_name><password>CANARY-join</password></user></domain>`,
		`<host_name>DESK-7</host_name><timezone>Europe/Berlin</timezone><domain>old.example.com</domain><active_directory_ou>OU=Desks,DC=corp</active_directory_ou>
<org_name>Smith &amp; Sons</org_name><windows_license_key>aaaaa-bbbbb-ccccc-ddddd-eeeee</windows_license_key><input_locale>de-DE</input_locale>
<user_locale>de-DE</user_locale><user_name>ann</user_name><regenerate_ssh_keys>false</regenerate_ssh_keys><nic_configurations/>`+rootPassword))
	if said != "" {
		t.Errorf("%s", said)
	}
	want := unattend.Answers{ComputerName: "DESK-7", TimeZone: "W. Europe Standard Time", Domain: "corp.example.com", OU: "OU=Desks,DC=corp",
		Join: unattend.Credentials{User: "joiner", Password: secret.New("CANARY-join")}, Organization: "Smith & Sons", ProductKey: secret.New("AAAAA-BBBBB-CCCCC-DDDDD-EEEEE"),
		InputLocale: "de-DE", SystemLocale: "en-US", UserLocale: "de-DE", UILanguage: "en-US", UserName: "ann",
		AdministratorPassword: secret.New("CANARY"), Password: secret.New("CANARY")}
	if len(m.Media) != 1 || len(m.Media[0].Files) != 1 || m.Guest.OS != "windows" {
		t.Fatalf("%d media, %q", len(m.Media), m.Guest.OS)
	}
	x := m.Media[0]
	if x.Kind != "sysprep" || x.Format != "iso" || x.Bus != "sata" || x.Files[0].Path != "/Unattend.xml" {
		t.Errorf("%s on %s as %s: %s", x.Kind, x.Bus, x.Format, x.Files[0].Path)
	}
	if !x.Files[0].Content.Equal(unattend.Write(want)) {
		t.Errorf("the answer file is\n%s", x.Files[0].Content.Reveal())
	}
}

func TestSysprepDefaults(t *testing.T) {
	m, said := readOne(t, windows("windows_2008", "", rootPassword))
	want := unattend.Answers{Arch: "x86", Before8: true, ComputerName: "desk-7-corp", TimeZone: "GMT Standard Time", InputLocale: "en-US", SystemLocale: "en-US",
		UserLocale: "en-US", UILanguage: "en-US", AdministratorPassword: secret.New("CANARY"), Password: secret.New("CANARY")}
	if said != "" || !m.Media[0].Files[0].Content.Equal(unattend.Write(want)) {
		t.Errorf("%s\n%s", said, m.Media[0].Files[0].Content.Reveal())
	}
	if m, _ := readOne(t, strings.Replace(windows("windows_8x64", "", rootPassword), "desk_7.corp", "a-very-long-name-indeed", 1)); !strings.Contains(m.Media[0].Files[0].Content.Reveal(), "<ComputerName>a-very-long-nam</ComputerName>") {
		t.Error(m.Media[0].Files[0].Content.Reveal())
	}
}

func TestSysprepScript(t *testing.T) {
	script := func(text string) string { return "<custom_script><![CDATA[" + text + "]]></custom_script>" }
	whole := `<unattend xmlns="urn:schemas-microsoft-com:unattend"><settings pass="%s"><a>$ComputerName$ $AdminPassword$</a></settings></unattend>`
	m, said := readOne(t, windows("windows_2022", "", "<host_name>WEB</host_name>"+rootPassword+script(fmt.Sprintf(whole, "specialize"))))
	if f := m.Media[0].Files[0]; said != "" || f.Path != "/Unattend.xml" || f.Content.Reveal() != strings.ReplaceAll(strings.ReplaceAll(fmt.Sprintf(whole, "specialize"), "$ComputerName$", "WEB"), "$AdminPassword$", "CANARY") {
		t.Errorf("%s\n%s: %s", said, f.Path, f.Content.Reveal())
	}
	if m, _ := readOne(t, windows("windows_2022", "", rootPassword+script(fmt.Sprintf(whole, "windowsPE")))); len(m.Media[0].Files) != 2 ||
		m.Media[0].Files[0].Path != "/Unattend.xml" || m.Media[0].Files[1].Path != "/Autounattend.xml" || !m.Media[0].Files[1].Content.Equal(m.Media[0].Files[0].Content) {
		t.Errorf("a file for Windows' own setup is called %s", m.Media[0].Files[0].Path)
	}
}

// Every row is an initialization of Windows and what is said of it: the code, and a part of the message.
func TestSysprepTroubles(t *testing.T) {
	for name, c := range map[string]struct{ kind, vm, init, want string }{
		"name too long":      {"windows_10x64", "", "<host_name>ABCDEFGHIJKLMNOP</host_name>" + rootPassword, "error[VS2560]: action.vm.initialization.host_name: the name of a Windows computer has at most 15"},
		"no zone":            {"windows_10x64", "", "<timezone>Mars/Olympus</timezone>" + rootPassword, "error[VS2560]: action.vm.initialization.timezone: Windows has no such time zone"},
		"key":                {"windows_10x64", "", "<windows_license_key>CANARY</windows_license_key>" + rootPassword, "error[VS2560]: action.vm.initialization.windows_license_key"},
		"unit":               {"windows_10x64", "", "<domain>a.b</domain><active_directory_ou>Desks</active_directory_ou>" + rootPassword, "error[VS2560]: action.vm.initialization.active_directory_ou"},
		"hash":               {"windows_10x64", "", "<root_password>$6$salt$CANARY</root_password>", "error[VS2564]: action.vm.initialization.root_password: the password is a hash of Linux"},
		"masked":             {"windows_10x64", "", "<root_password>******</root_password>", "warning[VS2564]: action.vm.initialization.root_password: the password is masked"},
		"no password":        {"windows_10x64", "", "<host_name>A</host_name>", "warning[VS2563]: action.vm.initialization: nobody gives the administrator a password"},
		"nobody at a desk":   {"windows_11", "", rootPassword, "warning[VS2563]: action.vm.os.type: nobody has an account"},
		"no account":         {"windows_10x64", "", "<domain>a.b</domain>" + rootPassword, "warning[VS2563]: action.vm.initialization: there is no account that may add the computer"},
		"XP":                 {"windows_xp", "", rootPassword, "error[VS2565]: action.vm.os.type: windows_xp reads no answer file"},
		"DNS":                {"windows_10x64", "", "<dns_servers>192.0.2.1</dns_servers>" + rootPassword, "warning[VS2562]: action.vm.initialization.dns_servers: Windows' answer file has no place for dns_servers"},
		"script is YAML":     {"windows_10x64", "", "<custom_script>packages: [git]</custom_script>", "error[VS2561]: the custom script is no answer file"},
		"script is broken":   {"windows_10x64", "", "<custom_script><![CDATA[<unattend>\n<a>\n</b>]]></custom_script>", "f:3:5: error[VS2561]: the custom script is no answer file: an element is closed by the tag of another"},
		"script is a vm":     {"windows_10x64", "", "<custom_script><![CDATA[<vm/>]]></custom_script>", "the custom script is no answer file: the outermost element is not unattend"},
		"field beside":       {"windows_10x64", "", "<org_name>A</org_name><custom_script><![CDATA[<unattend/>]]></custom_script>", "warning[VS2562]: action.vm.initialization.org_name: the custom script is the whole answer file"},
		"placeholder":        {"windows_10x64", "", "<custom_script><![CDATA[<unattend>$ProductKey$</unattend>]]></custom_script>", "warning[VS2563]: action.vm.initialization.custom_script: nothing is stated for the placeholder $ProductKey$"},
		"password of nobody": {"windows_10x64", "<domain><user><password>CANARY</password></user></domain>", "<domain>a.b</domain>" + rootPassword, "error[VS2560]: action.vm.domain.user.password: the password is for no account"},
	} {
		t.Run(name, func(t *testing.T) {
			_, said := readOne(t, windows(c.kind, c.vm, c.init))
			if !strings.Contains(said, c.want) {
				t.Errorf("%s\nwant %s", said, c.want)
			}
			if strings.Contains(said, "CANARY") {
				t.Errorf("a secret is said: %s", said)
			}
		})
	}
}

func TestPayloads(t *testing.T) {
	const files = `<files><file><name>a/b.txt</name><content> one
</content></file><file><name>c</name><content>dHdv</content><type>BASE64</type></file></files>`
	want := []machine.File{{Path: "/a/b.txt", Content: secret.New(" one\n")}, {Path: "/c", Content: secret.New("two")}}
	equal := cmp.Comparer(secret.Text.Equal)
	for name, payload := range map[string]string{
		"API 4":     `<payload><type>cdrom</type><volume_id>DATA</volume_id>` + files + `</payload>`,
		"API 3":     `<payload type="cdrom"><volume_id>DATA</volume_id>` + files + `</payload>`,
		"API 3.3.0": `<payload type="cdrom" volume_id="DATA"><file name="a/b.txt"><content> one` + "\n" + `</content></file><file name="c"><content>two</content></file></payload>`,
	} {
		m, said := readOne(t, "<vm><name>a</name><payloads>"+payload+"</payloads></vm>")
		if said != "" || len(m.Media) != 1 {
			t.Errorf("%s: %d media\n%s", name, len(m.Media), said)
			continue
		}
		x := m.Media[0]
		if x.Kind != "payload" || x.Format != "iso" || x.Label != "DATA" || x.Bus != "scsi" || !cmp.Equal(x.Files, want, equal) {
			t.Errorf("%s: %+v", name, x)
		}
	}
	m, said := readOne(t, `{"name": "a", "payloads": {"payload": [{"type": "floppy", "files": {"file": [{"name": "x", "content": "1"}]}},
{"files": {"file": [{"name": "x", "content": "1"}]}}]}}`)
	if !strings.Contains(said, "warning[VS2568]") || len(m.Media) != 2 || m.Media[0].Format != "floppy" || m.Media[0].Bus != "usb" || m.Media[1].Name != "payload2" {
		t.Errorf("%+v\n%s", m.Media, said)
	}
}

// A payload and cloud-init do not fight for a drive: both are attached.
func TestPayloadBesideSeed(t *testing.T) {
	m, said := readOne(t, `<vm><name>a</name><initialization><host_name>h</host_name></initialization><payloads><payload><type>cdrom</type>
<files><file><name>x</name><content>1</content></file></files></payload></payloads></vm>`)
	if said != "" || len(m.Media) != 1 || m.DataSource != "configdrive" || m.Identity.Hostname != "h" {
		t.Errorf("%d media, data source %s\n%s", len(m.Media), m.DataSource, said)
	}
}

// Who attaches a seed made by hand, and asks for no other, gets no second one.
func TestPreparedSeed(t *testing.T) {
	payload := func(label string) string {
		return `<payloads><payload><volume_id>` + label + `</volume_id><files><file><name>openstack/latest/user_data</name><content>#cloud-config</content></file></files></payload></payloads>`
	}
	const cd, init = `<cdroms><cdrom><file id="/srv/config.iso"/></cdrom></cdroms>`, `<initialization><host_name>h</host_name></initialization>`
	for inner, want := range map[string]string{
		payload("config-2"):    machine.NoDataSource,
		payload("CIDATA"):      machine.NoDataSource,
		payload("DATA"):        "",
		payload("DATA") + init: "configdrive",
		cd:                     machine.NoDataSource,
		cd + init:              "configdrive",
		`<cdroms><cdrom id="00000000-0000-0000-0000-000000000000"/></cdroms>`: "",
	} {
		m, said := readOne(t, "<vm><name>a</name>"+inner+"</vm>")
		if said != "" || m.DataSource != want {
			t.Errorf("%s: data source %q, want %q\n%s", inner, m.DataSource, want, said)
		}
	}
	if _, said := readOne(t, "<vm><name>a</name>"+payload("config-2")+init+"</vm>"); !strings.Contains(said, "error[VS2566]: vm.payloads.payload.volume_id: the label makes this volume a seed") {
		t.Errorf("two seeds: %s", said)
	}
}

func TestPayloadTroubles(t *testing.T) {
	for payload, want := range map[string]string{
		`<payload><type>disk</type></payload>`:  `error[VS2566]: vm.payloads.payload.type: no payload has the type "disk"`,
		`<payload/>`:                            "",
		`<payload><type>cdrom</type></payload>`: "the payload has no file",
		`<payload><volume_id>0123456789012345678901234567890123</volume_id><file name="a"/></payload>`:  "at most 32 letters",
		`<payload type="floppy"><volume_id>0123456789ab</volume_id><file name="a"/></payload>`:          "at most 11 letters",
		`<payload><volume_id>a b</volume_id><file name="a"/></payload>`:                                 "letters, digits and . _ -",
		`<payload><file name="../a"/></payload>`:                                                        "a relative path without ..",
		`<payload><file><content>CANARY</content></file></payload>`:                                     "a relative path without ..",
		`<payload><file name="A"/><file name="a"/></payload>`:                                           `two files of the payload are called "a"`,
		`<payload><file name="a"><content>CANARY!</content><type>base64</type></file></payload>`:        "the content is no Base64",
		`<payload><file name="a"><type>gzip</type></file></payload>`:                                    `no file has the type "gzip"`,
		`<payload><file name="a"><content>` + strings.Repeat("ä", 8193) + `</content></file></payload>`: "error[VS2567]: vm.payloads.payload.file.content: the file has 8193 characters, and an engine takes at most 8192",
		`<payload><file name="a"><content>` + strings.Repeat("ä", 8192) + `</content></file></payload>`: "",
		`<payload><image>a</image><file name="a"/></payload>`:                                           "image",
	} {
		_, said := readOne(t, "<vm><name>a</name><payloads>"+payload+"</payloads></vm>")
		if (said == "") != (want == "") || !strings.Contains(said, want) || strings.Contains(said, "CANARY") {
			t.Errorf("%.120s\n%s\nwant %s", payload, said, want)
		}
	}
}

func example(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../examples/ovirt/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

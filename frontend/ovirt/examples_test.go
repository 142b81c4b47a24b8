package ovirt

import (
	"os"
	"strings"
	"testing"
)

// TestExamples reads the examples that users see. The first two are those of oVirt's feature pages.
func TestExamples(t *testing.T) {
	for name, want := range map[string]struct{ machine, source string }{
		"cloud-init.xml": {"cloudInitInstanceName", "configdrive"}, "start-ignition.xml": {"vm", "ignition"}, "vm.xml": {"web-1", "configdrive"},
		"vm.json": {"web-1", "configdrive"}, "windows.xml": {"desk-7", "none"}, "web.ovf": {"web", "configdrive"},
	} {
		m, said := readOne(t, example(t, name))
		if said != "" || m.Name != want.machine || m.DataSource != want.source || m.Compat != "ovirt" {
			t.Errorf("%s: %s for %q\n%s", name, m.Name, m.DataSource, said)
		}
	}
}

// TestTwins reads one machine in both spellings of the API.
func TestTwins(t *testing.T) {
	inXML, _ := readOne(t, example(t, "vm.xml"))
	inJSON, _ := readOne(t, example(t, "vm.json"))
	if len(inXML.UserData.Layers) != 1 || len(inXML.Media) != 1 || len(inXML.Network.NICs) != 2 {
		t.Fatalf("the example has lost something: %+v", inXML)
	}
	for i := range inXML.UserData.Layers {
		inXML.UserData.Layers[i].Origin = inJSON.UserData.Layers[i].Origin
	}
	sameMachine(t, inJSON, inXML)
}

// The example of the feature page is word for word that of the page: only the middle of its key, which the page shows as
// dots, is our own.
func TestFeaturePage(t *testing.T) {
	text := example(t, "cloud-init.xml")
	for _, words := range []string{"<vm><initialization>\n      <host>\n        <address>cloudInitInstanceName</address>", "<key>ssh-rsa AAAAB3Nza", "75zkdD user@domain.com</key>",
		"<dns_search>qa.lab redhat.com</dns_search>", "<type>PLAINTEXT</type>"} {
		if !strings.Contains(text, words) {
			t.Errorf("%q is not in the example", words)
		}
	}
}

// TestEngineDocument reads a VM as an engine of 4.5 returns it with all content: everything in it is known, and what is
// missing is the password alone.
func TestEngineDocument(t *testing.T) {
	data, err := os.ReadFile("testdata/engine.xml")
	if err != nil {
		t.Fatal(err)
	}
	m, said := readOne(t, string(data))
	if !strings.Contains(said, "f:127:24: warning[VS2512]: vm.initialization.root_password: an engine shows ******") || strings.Count(said, "[VS") != 1 {
		t.Errorf("%s", said)
	}
	if m.Name != "shop" || m.Identity.Hostname != "shop.example.com" || m.Hardware.CPUs != 2 || len(m.Disks) != 1 || m.Disks[0].Name != "shop_Disk1" ||
		len(m.Network.NICs) != 1 || m.Network.NICs[0].MAC != "56:6f:07:1c:00:0a" || !m.Network.NICs[0].DHCP4 || m.DataSource != "configdrive" {
		t.Errorf("%+v", m)
	}
}

package ovirt

import (
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

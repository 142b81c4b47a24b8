//go:build linux

package api_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/secret"
)

// TestSized: a VM of oVirt's stays one when a request says how large it shall be; what is said of the document has its place in
// what was sent.
func TestSized(t *testing.T) {
	s := begin(t)
	const text = `{"use_cloud_init": true,
 "vm": {"name": "web",
  "initialisation": {"host_name": "x"},
  "initialization": {"host_name": "web.example.com"}}}`
	result, err := s.Create(t.Context(), client.CreateRequest{Documents: []client.Document{{Name: "web.json", Text: secret.New(text)}},
		Settings: client.Settings{Memory: 3 << 30, CPUs: 2, Pick: "web"}})
	if err != nil || len(result.Machines) != 1 {
		t.Fatal(result, err)
	}
	m, err := s.daemon.Get(result.Machines[0].ID)
	if err != nil || len(m.Documents) != 1 {
		t.Fatal(m, err)
	}
	for _, want := range []string{"<vm>", "<memory>3221225472</memory>", "<cores>2</cores>", "<host_name>web.example.com</host_name>"} {
		if stored := m.Documents[0].Text.Reveal(); !strings.Contains(stored, want) {
			t.Errorf("no %s in\n%s", want, stored)
		}
	}
	placed, _, err := s.daemon.Placed(t.Context(), m.ID)
	if err != nil || placed.Hardware.Memory != 3<<30 || placed.Hardware.CPUs != 2 {
		t.Errorf("%v of memory, %d processors (%v)", placed.Hardware.Memory, placed.Hardware.CPUs, err)
	}
	place := ""
	for _, d := range client.List(result.Diagnostics) {
		if strings.Contains(d.Summary, "initialisation") {
			place = d.Range.String()
		}
	}
	if !strings.HasPrefix(place, "web.json:3:") {
		t.Errorf("the member that is not known stands at %q of what was sent: %v", place, result.Diagnostics)
	}
}

// TestHashed: of a VM of oVirt's no password is kept in clear, whatever the request says beside it, but for Windows, which takes
// no hash.
func TestHashed(t *testing.T) {
	s := begin(t)
	for name, tt := range map[string]struct {
		vm       string
		settings client.Settings
		clear    bool
	}{
		"alone":   {"<vm><name>a</name><initialization><root_password>changeme</root_password></initialization></vm>", client.Settings{}, false},
		"sized":   {"<vm><name>b</name><initialization><root_password>changeme</root_password></initialization></vm>", client.Settings{CPUs: 2}, false},
		"windows": {"<vm><name>c</name><os><type>windows_2022</type></os><initialization><root_password>changeme</root_password></initialization></vm>", client.Settings{}, true},
	} {
		result, err := s.Create(t.Context(), client.CreateRequest{Documents: []client.Document{{Name: "vm.xml", Text: secret.New(tt.vm)}}, Settings: tt.settings})
		if err != nil || len(result.Machines) != 1 {
			t.Fatal(name, result, err)
		}
		m, err := s.daemon.Get(result.Machines[0].ID)
		if err != nil || len(m.Documents) != 1 {
			t.Fatal(name, m, err)
		}
		stored := m.Documents[0].Text.Reveal()
		if strings.Contains(stored, "changeme") != tt.clear || strings.Contains(stored, "$6$") == tt.clear {
			t.Errorf("%s: what is kept is\n%s", name, stored)
		}
	}
}

package ovirt_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
)

// FuzzRead reads what comes. Every diagnostic is complete and stands in the input, every value of a machine has a place, no
// diagnostic shows a secret, two readings agree, and neither sniffing nor merging nor masking fails.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"testdata/*.xml", "testdata/*.json"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			f.Fatal(pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			if len(data) < 2000 { // more takes minutes to minimise
				f.Add(string(data))
			}
		}
	}
	f.Add(nic("<boot_protocol>static</boot_protocol><ip address='192.0.2.1'/>"))
	f.Add("<vms><vm/><vm><os><type>windows_10</type></os><initialization><domain>d</domain></initialization></vm></vms>")
	f.Add("<vm><initialization><regenerate_ids>true</regenerate_ids><configuration><type>ovf</type><data>&lt;Envelope>&lt;Content>&lt;Name>n&lt;/Name>" +
		"&lt;VmInit hostname='h' networks='[]'/>&lt;/Content>&lt;/Envelope></data></configuration></initialization></vm>")
	f.Add("<Envelope><VirtualSystem id='a'><VirtualHardwareSection><Item><ResourceType>4</ResourceType><VirtualQuantity>1</VirtualQuantity></Item></VirtualHardwareSection></VirtualSystem></Envelope>")
	f.Add("<vm><payloads><payload type='cdrom'><files><file><name>a</name><content>b</content></file></files></payload></payloads></vm>")
	f.Fuzz(func(t *testing.T, text string) {
		(ovirt.Frontend{}).Sniff([]byte(text))
		machines, l := read("in", text)
		lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
		printed, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range l {
			if d.Summary == "" || d.Code == 0 || d.Severity < diag.Note || d.Severity > diag.Error {
				t.Errorf("incomplete: %+v", d)
			}
			if p := d.Range.Start; element.IsXML([]byte(text)) && (d.Range.File != "in" || p.Line < 1 || p.Line > len(lines) || p.Column < 1) {
				t.Errorf("%s stands outside of the input", d.Error())
			}
		}
		for _, m := range machines {
			for _, u := range m.Users {
				if secret := u.Password.Reveal(); len(secret) > 20 && strings.Count(text, secret) == 1 && strings.Contains(string(printed), secret) {
					t.Errorf("a password shows in %s", printed)
				}
			}
			if m.Name == "" {
				t.Error("a machine has no name")
			}
			for _, u := range machine.Used(m) {
				if !l.HasErrors() && m.Places.Find(u.Path).IsZero() {
					t.Errorf("%s has no place", u.Path)
				}
			}
		}
		again, l2 := read("in", text)
		if a, b := dump(machines, l), dump(again, l2); a != b {
			t.Errorf("two readings differ:\n%s\n%s", a, b)
		}
		if e, l := element.ParseXML("in", []byte(text), bounded.Limits{}); !l.HasErrors() {
			ovirt.KindOf(e)
			if masked := ovirt.Mask(e); !ovirt.Merge(masked, masked).Equal(ovirt.Merge(ovirt.Merge(masked, masked), masked)) {
				t.Error("merging does not come to an end")
			}
		}
	})
}

// TestHostile reads and merges documents that are as large as documents may be. What takes time with the square of a size
// takes many minutes here, and clients of a daemon could have it done again and again.
func TestHostile(t *testing.T) {
	fill := func(before, each, after string) string {
		var b strings.Builder
		b.WriteString(before)
		for i := range 40_000 {
			fmt.Fprintf(&b, each, i)
		}
		return b.String() + after
	}
	start := time.Now()
	for name, text := range map[string]string{
		"members":    fill("<vm><name>v</name>", "<a%d/>", "</vm>"),
		"attributes": fill("<vm><x", " a%d='1'", "/><name>v</name></vm>"),
		"NICs":       fill("<vm><nics>", "<nic><name>n%d</name></nic>", "</nics></vm>"),
		"guest NICs": fill("<vm><initialization><nic_configurations>", "<nic_configuration><name>n%d</name></nic_configuration>", "</nic_configurations></initialization></vm>"),
		"users":      fill("<vm><initialization><users>", "<user><user_name>u%[1]d</user_name><password>p%[1]d</password></user>", "</users></initialization></vm>"),
		"files":      fill("<vm><initialization><files>", "<file><name>/f%d</name></file>", "</files></initialization></vm>"),
		"keys":       fill("<vm><initialization><authorized_ssh_keys>", "key %d\n", "</authorized_ssh_keys></initialization></vm>"),
		"servers":    fill("<vm><initialization><dns_servers>", " 2001:db8::%x", "</dns_servers></initialization></vm>"),
		"blanks":     "<vm><name>v</name>" + strings.Repeat("\n \n<x/>", 100_000) + "</vm>",
	} {
		if machines, _ := read("in", text); len(machines) != 1 {
			t.Errorf("%s: %d machines", name, len(machines))
		}
		e, l := element.ParseXML("in", []byte(text), bounded.Limits{})
		if l.HasErrors() {
			t.Fatalf("%s: %v", name, l)
		}
		if merged := ovirt.Merge(e, ovirt.Mask(e)); !merged.Equal(e) {
			t.Errorf("%s: laid over itself it is another", name)
		}
	}
	if d := time.Since(start); d > 3*time.Minute {
		t.Errorf("it took %v", d)
	}
}

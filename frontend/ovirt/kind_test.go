package ovirt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
)

// TestKind holds the choice of the kind of first boot: content, flag, operating system; and that contradictions are errors,
// never a guest without what was asked for.
func TestKind(t *testing.T) {
	const (
		yaml     = "<custom_script>runcmd: [a]</custom_script>"
		ignition = `<custom_script>{"ignition": {"version": "3.0.0"}}</custom_script>`
		fields   = "<host_name>h</host_name>"
	)
	flag := func(kinds ...string) string {
		out := ""
		for _, k := range kinds {
			name, value, _ := strings.Cut(k, "=")
			if value == "" {
				value = "true"
			}
			out += fmt.Sprintf("<use_%s>%s</use_%[1]s>", name, value)
		}
		return out
	}
	for _, tt := range []struct {
		name, flags, os, inner string
		want                   ovirt.Kind
		said                   string
	}{
		{"fields alone", "", "", fields, ovirt.CloudInit, ""},
		{"the snippet of oVirt's page", flag("cloud_init"), "", ignition, ovirt.Ignition, ""},
		{"the snippet on its system", flag("cloud_init"), "rhcos_x64", ignition, ovirt.Ignition, ""},
		{"content without a flag", "", "other", ignition, ovirt.Ignition, ""},
		{"content against Linux", "", "rhel_8x64", ignition, ovirt.Ignition, ""},
		{"content against sysprep", flag("sysprep"), "", ignition, ovirt.Ignition, "VS2505"},
		{"content against Windows", "", "windows_10x64", ignition, ovirt.Ignition, "VS2505"},
		{"content and flag against Windows", flag("ignition"), "windows_10x64", ignition, ovirt.Ignition, ""},
		{"flag cloud-init", flag("cloud_init"), "", yaml, ovirt.CloudInit, ""},
		{"flag on Linux", flag("cloud_init"), "rhel_6x64", yaml, ovirt.CloudInit, ""},
		{"flag ignition with fields", flag("ignition"), "", fields, ovirt.Ignition, ""},
		{"flag ignition on Linux", flag("ignition"), "rhel_8x64", fields, ovirt.Ignition, ""},
		{"flag ignition with YAML", flag("ignition"), "", yaml, ovirt.Ignition, "VS2505"},
		{"flag ignition on Windows", flag("ignition"), "windows_10x64", fields, ovirt.Ignition, "VS2505"},
		{"flag cloud-init on CoreOS", flag("cloud_init"), "rhcos_x64", fields, ovirt.CloudInit, "VS2505"},
		{"flag cloud-init on Windows", flag("cloud_init"), "windows_10x64", fields, ovirt.CloudInit, ""},
		{"flag sysprep on Linux", flag("sysprep"), "rhel_8x64", fields, ovirt.Sysprep, "VS2505"},
		{"flag sysprep", flag("sysprep"), "windows_10x64", fields, ovirt.Sysprep, ""},
		{"flag sysprep on any", flag("sysprep"), "other", fields, ovirt.Sysprep, ""},
		{"system CoreOS", "", "rhcos_x64", fields, ovirt.Ignition, ""},
		{"system CoreOS with YAML", "", "rhcos_x64", yaml, ovirt.Ignition, "VS2505"},
		{"system Windows", "", "windows_10x64", fields, ovirt.Sysprep, ""},
		{"two flags", flag("cloud_init", "ignition"), "", fields, ovirt.CloudInit, "VS2505"},
		{"one of two flags", flag("cloud_init", "ignition=false"), "", fields, ovirt.CloudInit, ""},
		{"all flags false", flag("cloud_init=false", "sysprep=0"), "", fields, ovirt.NoInit, ""},
		{"all flags false with a config", flag("cloud_init=false"), "", ignition, ovirt.NoInit, ""},
		{"use what is stored", flag("initialization"), "rhcos_x64", fields, ovirt.Ignition, ""},
		{"use what is stored, of nothing", flag("initialization"), "", "", ovirt.CloudInit, ""},
		{"do not use what is stored", flag("initialization=false"), "", fields, ovirt.NoInit, ""},
		{"a flag and nothing else", flag("cloud_init"), "", "", ovirt.CloudInit, ""},
		{"nothing", "", "rhel_8x64", "", ovirt.NoInit, ""},
		{"a flag that is none", flag("cloud_init=maybe"), "", fields, ovirt.CloudInit, "VS2503"},
	} {
		vm := "<vm><name>v</name>"
		if tt.os != "" {
			vm += "<os><type>" + tt.os + "</type></os>"
		}
		text := "<action>" + tt.flags + vm + "<initialization>" + tt.inner + "</initialization></vm></action>"
		e, l := element.ParseXML("f", []byte(text), bounded.Limits{})
		if l.HasErrors() {
			t.Fatal(l)
		}
		if got := ovirt.KindOf(e); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		machines, l := read("f", text)
		switch errors := l.Error(); {
		case tt.said == "" && tt.want != ovirt.Sysprep && errors != "", tt.said != "" && !strings.Contains(errors, tt.said):
			t.Errorf("%s: said %v", tt.name, errors)
		case len(machines) != 1:
			t.Errorf("%s: %d machines", tt.name, len(machines))
		default:
			source := map[ovirt.Kind]string{ovirt.CloudInit: "configdrive", ovirt.Ignition: "ignition", ovirt.Sysprep: machine.NoDataSource}[tt.want]
			if machines[0].DataSource != source {
				t.Errorf("%s: the data source is %q, want %q", tt.name, machines[0].DataSource, source)
			}
		}
	}
}

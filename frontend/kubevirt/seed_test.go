package kubevirt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/kubevirt"
	"github.com/vmseed/vmseed/machine"
)

// secrets are the Secrets that the tests of this file refer to, all in the namespace of their machines.
const secrets = `apiVersion: v1
kind: Secret
metadata: {name: lower}
stringData: {userdata: "#cloud-config\n# lower", networkdata: "{\"links\": []}"}
---
apiVersion: v1
kind: Secret
metadata: {name: camel}
stringData: {userData: "#cloud-config\n# camel", networkData: "{\"links\": []}"}
---
apiVersion: v1
kind: Secret
metadata: {name: both}
stringData: {userdata: "#cloud-config\n# first", userData: "#cloud-config\n# second"}
---
apiVersion: v1
kind: Secret
metadata: {name: misspelt}
stringData: {user-data: "#cloud-config\n# canary-in-misspelt", ignition: "x"}
---
apiVersion: v1
kind: Secret
metadata: {name: hollow}
stringData: {userdata: ""}
---
apiVersion: v1
kind: Secret
metadata: {name: large}
stringData: {userdata: "` + "#cloud-config\\n# " + `LARGE"}
---
apiVersion: v1
kind: Secret
metadata: {name: elsewhere, namespace: other}
stringData: {userdata: "#cloud-config"}
---
apiVersion: v1
kind: Secret
metadata: {name: more}
stringData: {asset: "17", rack: r1}
`

func secretsFile() frontendtest.File {
	return frontendtest.File{Name: "secrets.yaml", Text: strings.ReplaceAll(secrets, "LARGE", strings.Repeat("x", 9000))}
}

// TestData reads cloud-init volumes from every source. The machine's layers are those of want, as user-data, network
// document, vendor-data and meta-data.
func TestData(t *testing.T) {
	for _, c := range []struct{ kind, source, user, network, vendor, meta string }{
		{"cloudInitNoCloud", "userData: |\n  #cloud-config\n  {}", "#cloud-config\n{}\n", "", "", ""},
		{"cloudInitNoCloud", "userDataBase64: I2Nsb3VkLWNvbmZpZw==", "#cloud-config", "", "", ""},
		{"cloudInitNoCloud", "userDataBase64: |\n  I2Nsb3Vk\n  LWNvbmZpZw==\n", "#cloud-config", "", "", ""},
		{"cloudInitNoCloud", "secretRef: {name: lower}", "#cloud-config\n# lower", "", "", ""},
		{"cloudInitConfigDrive", "secretRef: {name: camel}", "#cloud-config\n# camel", "", "", ""},
		{"cloudInitConfigDrive", "secretRef: {name: both}", "#cloud-config\n# first", "", "", ""},
		{"cloudInitNoCloud", "networkData: 'version: 2'", "", "version: 2", "", ""},
		{"cloudInitNoCloud", "networkDataBase64: dmVyc2lvbjogMg==", "", "version: 2", "", ""},
		{"cloudInitConfigDrive", "secretRef: {name: lower}\nnetworkDataSecretRef: {name: lower}", "#cloud-config\n# lower", `{"links": []}`, "", ""},
		{"cloudInitConfigDrive", "secretRef: {name: lower}\nnetworkDataSecretRef: {name: camel}", "#cloud-config\n# lower", `{"links": []}`, "", ""},
		{"cloudInitNoCloud", "secretRef: {name: hollow}\nnetworkData: 'version: 2'", "", "version: 2", "", ""},
		{"cloudInitNoCloud", "userData: x\nsecretRef: {name: \"\"}", "x", "", "", ""},
		{"cloudInitNoCloud", "userData: \" \"", " ", "", "", ""},
		{"cloudInitNoCloud", "userData: x\nvendorData: y", "x", "", "y", ""},
		{"cloudInitNoCloud", "userData: x\nvendorDataBase64: eXl5", "x", "", "yyy", ""},
		{"cloudInitNoCloud", "userData: x\nmetaData: {b: \"1\", a: <x>}", "x", "", "", `{"a":"\u003cx\u003e","b":"1"}`},
		{"cloudInitConfigDrive", "userData: x\nmetaData: {b: \"1\"}\nmetaDataSecretRef: {name: more}", "x", "", "", `{"asset":"17","b":"1","rack":"r1"}`},
		{"cloudInitNoCloud", "userData: '{\"ignition\": {\"version\": \"3.3.0\"}}'", `{"ignition": {"version": "3.3.0"}}`, "", "", ""},
		{"cloudInitNoCloud", "userData: null\nuserDataBase64: eHh4", "xxx", "", "", ""},
	} {
		m, _ := one(t, frontend.Options{}, instance(withVolume(c.kind, c.source)), secretsFile())
		got := []string{join(m.UserData.Layers), m.Network.Document.Data.Reveal(), join(m.VendorData), join(m.MetaData)}
		if want := []string{c.user, c.network, c.vendor, c.meta}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.source, got, want)
		}
		if want := map[string]string{"cloudInitNoCloud": "nocloud", "cloudInitConfigDrive": "configdrive"}[c.kind]; m.DataSource != want {
			t.Errorf("%s: data source %q, want %q", c.source, m.DataSource, want)
		}
		for _, layer := range slices.Concat(m.UserData.Layers, m.VendorData, m.MetaData) {
			if layer.Origin.IsZero() || layer.Name == "" {
				t.Errorf("%s: a layer comes from nowhere", c.source)
			}
		}
	}
}

func join(layers []machine.Layer) string {
	var out []string
	for _, l := range layers {
		out = append(out, l.Data.Reveal())
	}
	return strings.Join(out, "\n---\n")
}

// TestLargeSecret holds that the limit is for inline data alone.
func TestLargeSecret(t *testing.T) {
	m, _ := one(t, frontend.Options{}, instance(withVolume("cloudInitNoCloud", "secretRef: {name: large}")), secretsFile())
	if n := m.UserData.Layers[0].Data.Len(); n < 9000 {
		t.Errorf("the user-data has %d bytes", n)
	}
}

// TestBadData holds what is said about data that KubeVirt takes and no guest reads, or that it refuses in other words
// than those of TestAdmission. The mark says where.
func TestBadData(t *testing.T) {
	sixteen := ""
	for i := range 17 {
		sixteen += fmt.Sprintf("  k%d: v\n", i)
	}
	for _, c := range []struct {
		kind, source string
		code         diag.Code
		says         []string
	}{
		{"cloudInitNoCloud", "secretRef: {name: §nobody}", kubevirt.CodeMissingObject, []string{"Secret default/nobody", "the input has", "Secret default/lower"}},
		{"cloudInitNoCloud", "secretRef: {name: §elsewhere}", kubevirt.CodeMissingObject, []string{"Secret default/elsewhere", "Secret other/elsewhere"}},
		{"cloudInitNoCloud", "secretRef: {name: §Not_A_Name}", kubevirt.CodeMissingObject, []string{"cannot be the name"}},
		{"cloudInitNoCloud", "secretRef: {name: §misspelt}", kubevirt.CodeMissingKey,
			[]string{"no cloud-init data-source found at volume: seed", "neither key userdata nor userData", `rename its key "user-data" to "userdata"`}},
		{"cloudInitNoCloud", "secretRef: {name: lower}\nnetworkDataSecretRef: {name: §misspelt}", kubevirt.CodeMissingKey,
			[]string{"neither key networkdata nor networkData", `give it the key "networkdata"; it has ignition, user-data`}},
		{"cloudInitConfigDrive", "secretRef: {name: §misspelt}\nnetworkDataSecretRef: {name: lower}", kubevirt.CodeMissingKey, []string{"userdata"}},
		{"cloudInitNoCloud", "secretRef: {name: §hollow}", kubevirt.CodeEmptyData,
			[]string{"userDataBase64, userData, networkDataBase64 or networkData is required for a cloud-init data source", "Secret default/hollow"}},
		{"cloudInitNoCloud", "userData: x\nvendorDataSecretRef: {name: §lower}", kubevirt.CodeMissingKey, []string{"vendordata"}},
		{"cloudInitNoCloud", "userDataBase64: §Iy0tLQ", kubevirt.CodeBase64, []string{"it lacks the = at its end"}},
		{"cloudInitNoCloud", "userDataBase64: §Pz8_Pz8_", kubevirt.CodeBase64, []string{"write + for - and / for _"}},
		{"cloudInitNoCloud", "userDataBase64: §Pz8_Pw", kubevirt.CodeBase64, []string{"write + for - and / for _, and = at its end"}},
		{"cloudInitNoCloud", "userDataBase64: §>-\n  I2Nsb3Vk\n  LWNvbmZpZw==\n", kubevirt.CodeBase64, []string{"behind | instead of >"}},
		{"cloudInitNoCloud", "userDataBase64: §\"#cloud-config\"", kubevirt.CodeBase64, []string{"encode it with base64"}},
		{"cloudInitNoCloud", "userData: x\nmetaData:\n  §" + strings.TrimSpace(sixteen), kubevirt.CodeMetaData, []string{"17 members", "16"}},
		{"cloudInitNoCloud", "userData: x\nmetaData: {a: §" + strings.Repeat("x", 257) + "}", kubevirt.CodeMetaData, []string{"257 bytes", "256"}},
		{"cloudInitNoCloud", "userData: x\nmetaData: {rack: x}\nmetaDataSecretRef: {name: §more}", kubevirt.CodeMetaData, []string{`"rack"`}},
	} {
		checkMarked(t, withVolume(c.kind, c.source), diag.Error, c.code, c.says)
	}
}

// TestTraps holds the warnings about what KubeVirt accepts and hands on to guests that cannot read it.
func TestTraps(t *testing.T) {
	for _, c := range []struct {
		kind, source string
		severity     diag.Severity
		code         diag.Code
		says         []string
	}{
		{"cloudInitConfigDrive", "networkData: §'{version: 2, ethernets: {}}'", diag.Warning, kubevirt.CodeNetworkForm, []string{"does not read there", "vmseed converts it", "network_data.json"}},
		{"cloudInitConfigDrive", "networkData: §'{network: {version: 1, config: []}}'", diag.Warning, kubevirt.CodeNetworkForm, nil},
		{"cloudInitNoCloud", "networkDataSecretRef: {name: §lower}", diag.Warning, kubevirt.CodeNetworkForm, []string{"network_data.json"}},
		{"cloudInitConfigDrive", "userData: x\nmetaData: {instance-id: §x, rack: y}", diag.Warning, kubevirt.CodeMetaData, []string{`"instance-id"`, "takes its place"}},
		{"cloudInitNoCloud", "userData: x\nmetaData: {public_keys: §x, uuid: y}", diag.Warning, kubevirt.CodeMetaData, []string{`"public_keys"`, "takes its place"}},
		{"cloudInitNoCloud", "userData: x\n§userDatum: x", diag.Error, 1215, []string{`did you mean "userData"?`}},
		{"cloudInitNoCloud", "userDataSecretRef: §{name: lower}", diag.Error, 1215, []string{"secretRef: {name"}},
	} {
		checkMarked(t, withVolume(c.kind, c.source), c.severity, c.code, c.says)
	}
	checkMarked(t, "  domain: {memory: {guest: 1Gi}, devices: {filesystems: [{name: tokens, virtiofs: {}}]}}\n"+
		"  volumes: [§{name: tokens, containerPath: {path: /var/run/secrets, readOnly: true}}]\n", diag.Warning, kubevirt.CodeNoEffect, []string{"containerPath"})
	checkMarked(t, "  domain: {memory: {guest: 1Gi}, devices: {}}\n  volumes: [{name: a, containerDisk: {image: §'example.org/a:1#path=/disk/b'}}]\n", diag.Error,
		kubevirt.CodeVolume, []string{"the field path"})
	const two = "  domain: {memory: {guest: 1Gi}, devices: {}}\n  volumes:\n  - {name: a, cloudInitNoCloud: {userData: x}}\n" +
		"  - {name: b, cloudInitConfigDrive: §{userData: x}}\n"
	checkMarked(t, two, diag.Error, kubevirt.CodeSecondSeed, []string{`"a" and "b"`, "fills the first"})
	checkMarked(t, "  domain: {resources: {requests: {memory: §64M}}, devices: {}}\n", diag.Warning, kubevirt.CodeMemory, []string{"61 MiB", "--memory"})
	checkMarked(t, "  domain: {memory: {guest: 1Gi}, devices: {}}\n  volumes: [{name: a, §cloudInitNoclod: {userData: x}}]\n", diag.Error, 1215, []string{`did you mean "cloudInitNoCloud"?`})
	checkMarked(t, "  domain: {memory: {guest: 1Gi}, devices: {}}\n  §volume: []\n", diag.Error, 1215, []string{`did you mean "volumes"?`})
}

// checkMarked reads an instance with a mark and demands a diagnostic where that stands, and no other of its severity.
func checkMarked(t *testing.T, spec string, severity diag.Severity, code diag.Code, says []string) {
	t.Helper()
	head, tail, marked := strings.Cut(instance(spec).Text, mark)
	_, l := load(frontend.Options{}, frontendtest.File{Name: "vmi.yaml", Text: head + tail}, secretsFile())
	var found diag.List
	for _, d := range l {
		if d.Severity >= severity {
			found = append(found, d)
		}
	}
	if len(found) != 1 || found[0].Code != code || !marked {
		t.Errorf("%s: got %v", spec, []diag.Diagnostic(found))
		return
	}
	if want := diag.Index(head+tail, len(head)); found[0].Range.Start != want {
		t.Errorf("%s: it stands at %v, not %v: %s", spec, found[0].Range.Start, want, found[0].Error())
	}
	for _, s := range says {
		if !strings.Contains(found[0].Error(), s) {
			t.Errorf("it does not say %q: %s", s, found[0].Error())
		}
	}
	if strings.Contains(fmt.Sprintf("%+v", l), "canary") {
		t.Errorf("a Secret shows in %v", l)
	}
}

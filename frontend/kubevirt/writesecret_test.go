package kubevirt

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestSecretsStandInSecrets writes user-data of different origins: what its author wrote in clear text stays in the
// definition, what was made or came out of a Secret stands in one, under a name that is vmseed's.
func TestSecretsStandInSecrets(t *testing.T) {
	const data = "#cloud-config\npassword: canary\n"
	for name, x := range map[string]struct {
		origin diag.Origin
		inline bool
	}{
		"author's": {diag.Origin{Whole: diag.At("pod.yaml", 3, 1), What: "annotation"}, true},
		"rendered": {diag.Origin{}, false},
		"Secret's": {diag.Origin{Whole: diag.At("pod.yaml", 3, 1), What: "Secret shop/user-data, key userdata"}, false},
	} {
		m := machine.Machine{Name: "vm", UserData: machine.UserData{Layers: []machine.Layer{{Data: secret.New(data), Origin: x.origin}}},
			SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA"}}}
		text, _, l := written(m)
		if l.HasErrors() {
			t.Fatal(name, l.Err())
		}
		_, definition, _ := strings.Cut(text, "kind: VirtualMachine")
		if got := strings.Contains(definition, "canary"); got != x.inline {
			t.Errorf("%s: it stands in the definition: %v\n%s", name, got, text)
		}
		if !strings.Contains(text, "secretName: vm-vmseed-keys") || !x.inline && !strings.Contains(definition, "name: vm-vmseed-userdata") {
			t.Errorf("%s: the Secrets have other names:\n%s", name, text)
		}
		if again := load(t, text)[0]; again.UserData.Layers[0].Data.Reveal() != data {
			t.Errorf("%s: read again it is something else:\n%s", name, text)
		}
	}
}

// TestRemoteImages writes disks whose contents a server has. The guest keeps them, so it keeps a blank disk beside them too.
func TestRemoteImages(t *testing.T) {
	const url = "https://images.example.org/debian-12.qcow2"
	m := machine.Machine{Name: "vm", Disks: []machine.Disk{
		{Name: "root", Root: true, Size: 8 << 30, Source: machine.DiskSource{Image: url}},
		{Name: "other", Source: machine.DiskSource{Image: url}},
		{Name: "data", Ephemeral: true, Size: 2 << 30, Source: machine.DiskSource{Blank: true}}}}
	text, said, l := written(m)
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	if strings.Contains(said, "disks[0].size") || !strings.Contains(said, "disks[1].size") || !strings.Contains(said, "CDI") {
		t.Errorf("it says:\n%s", said)
	}
	disks := load(t, text)[0].Disks
	if len(disks) != 3 || disks[0].Source.Image != url || disks[0].Size != 8<<30 || disks[1].Size != imageSize || !disks[2].Source.Blank || disks[2].Size != 2<<30 {
		t.Errorf("read again the disks are %+v\n%s", disks, text)
	}
}

// TestButane renews a definition with Butane where KubeVirt hands on Ignition configs.
func TestButane(t *testing.T) {
	m := machine.Machine{Name: "vm", Document: machine.Document{Form: "kubevirt", Text: secret.New("apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata:\n" +
		"  name: vm # mine\n  annotations:\n    kubevirt.io/ignitiondata: |\n      variant: fcos\n      version: 1.5.0\n" +
		"      storage: {files: [{path: /etc/x, contents: {inline: canary}}]}\nspec:\n  domain: {devices: {}}\n  volumes:\n  - name: seed\n    cloudInitConfigDrive:\n      userData: |\n        variant: flatcar\n        version: 1.1.0\n")}}
	text, said, l := written(m)
	if l.HasErrors() || strings.Contains(said, "canary") || !strings.Contains(said, "Butane") {
		t.Fatalf("it says:\n%s", said)
	}
	if strings.Contains(text, "variant") || !strings.Contains(text, `\"version\":\"3.4.0\"`) || !strings.Contains(text, "# mine") || strings.Count(text, "version") != 2 {
		t.Errorf("it is written as\n%s", text)
	}
}

package someothersource

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/volume"
	"github.com/vmseed/vmseed/format/iso9660"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/kubevirt"
)

// TestEngine puts the data source into an engine and renders the definition that KubeVirt's documentation shows for it.
func TestEngine(t *testing.T) {
	engine := vmseed.Engine{
		Frontends:   []frontend.Frontend{kubevirt.Frontend{Sources: []kubevirt.Source{{Member: "SomeOtherProviderData", DataSource: "someothersource"}}}},
		DataSources: []datasource.DataSource{Source{}},
		Deliveries:  []delivery.Delivery{volume.ISO()},
	}
	definition, err := os.ReadFile("../../kubevirt/testvm-provider.yaml")
	if err != nil {
		t.Fatal(err)
	}
	machines, l := engine.Load(context.Background(), []vmseed.Input{{File: "testvm-provider.yaml", Data: definition}}, vmseed.LoadOptions{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	s, l := engine.Render(machines[0], vmseed.RenderOptions{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	var image bytes.Buffer
	if _, err := engine.Deliver(context.Background(), s, "iso", delivery.Target{Writer: &image}); err != nil {
		t.Fatal(err)
	}
	disk, err := iso9660.NewReader(bytes.NewReader(image.Bytes()), int64(image.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if disk.Label() != "someother" {
		t.Errorf("the volume is labelled %q", disk.Label())
	}
	for path, want := range map[string]string{
		"provider.json": `{"Whatever1":"somethingelse","Whatever2":"otherstuff","hostname":"testvm-provider","instance-id":"` + s.Identity.InstanceID + `"}`,
		"user-data":     "#cloud-config\npassword: atomic\nssh_pwauth: True\nchpasswd: { expire: False }\n",
	} {
		got, err := disk.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", path, err, got, want)
		}
	}
}

package plain_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/plain"
)

func TestExamples(t *testing.T) {
	var docs []frontend.Document
	for _, role := range (plain.Frontend{}).Roles() {
		name := filepath.Join("../../examples/plain", string(role))
		data, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc(role, name, string(data)))
	}
	m, l := read(frontend.Options{}, docs...)
	if len(l) > 0 || len(docs) < 3 || m.Name != "hello" || m.Identity.InstanceID != "i-hello-1" || m.Network.Document.Data.IsZero() {
		t.Errorf("%d files: %v, %s", len(docs), l, m.Name)
	}
	if got := plain.New().Sniff(docs[0].Data); got != frontend.Strong {
		t.Errorf("the example's user-data is matched %d", got)
	}
}

func ExampleParseLocalds() {
	o, err := plain.ParseLocalds([]string{"-H", "web", "--filesystem=vfat", "seed.img", "user-data"})
	if err != nil {
		fmt.Println(err)
		return
	}
	docs, _ := o.Documents(func(string) ([]byte, error) { return []byte("#cloud-config\n"), nil })
	fmt.Println(o.Output, o.Filesystem)
	for _, d := range docs {
		fmt.Printf("%s: %s", o.Path(d.Role), d.Data)
	}
	// Output:
	// seed.img vfat
	// user-data: #cloud-config
	// meta-data: {
	// "instance-id": "iid-local01",
	// "local-hostname": "web"
	// }
}

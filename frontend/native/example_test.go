package native_test

import (
	"context"
	"fmt"

	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/native"
	"github.com/vmseed/vmseed/machine"
)

// Bad input is reported where it stands.
func ExampleFrontend_Read() {
	const text = `apiVersion: vmseed.dev/v1alpha1
kind: Machine
metadata: {name: web}
spec:
  files:
  - path: /etc/motd
    mode: 0644
`
	machines, l := native.New().Read(context.Background(), frontend.Source{
		Documents: []frontend.Document{{File: "web.yaml", Data: []byte(text)}},
		Resolver:  &kubeobject.Manifest{},
	})
	fmt.Println(machines[0].Name, machines[0].Files[0].Path)
	fmt.Println(l)
	// Output:
	// web /etc/motd
	// web.yaml:7:11: error[VS1211]: spec.files[0].mode: a text should stand here, but YAML readers take this for a number; put it into quotes
}

func ExampleFrontend_Write() {
	text, _ := native.New().Write(machine.Machine{
		Name: "web", Identity: machine.Identity{Hostname: "web"},
		Files: []machine.File{{Path: "/etc/motd", Mode: 0o644}}, Hardware: machine.Hardware{Memory: 2 << 30},
	})
	fmt.Print(string(text))
	// Output:
	// apiVersion: vmseed.dev/v1alpha1
	// kind: Machine
	// metadata:
	//   name: web
	// spec:
	//   identity:
	//     hostname: web
	//   files:
	//     - path: /etc/motd
	//       mode: "0644"
	//   hardware:
	//     memory: 2Gi
}

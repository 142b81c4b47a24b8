package vmseed_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/configdrive"
	"github.com/vmseed/vmseed/datasource/nocloud"
	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/volume"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/native"
	"github.com/vmseed/vmseed/frontend/virtlet"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

const pod = `
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    kubernetes.io/target-runtime: virtlet.cloud
    VirtletCloudInitUserData: |
      runcmd: [[touch, /run/ready]]
spec:
  containers:
  - name: web
    image: virtlet.cloud/debian-12
    volumeMounts:
    - {name: config, mountPath: /etc/web}
  volumes:
  - name: config
    configMap: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {port: "80"}
`

// A definition goes in, and what its guest reads at the first boot comes out.
func Example() {
	e := vmseed.Engine{
		Frontends:   []frontend.Frontend{virtlet.Frontend{}, native.New()},
		DataSources: []datasource.DataSource{nocloud.New(), configdrive.New()},
		Deliveries:  []delivery.Delivery{volume.ISO()},
	}
	machines, problems := e.Load(context.Background(), []vmseed.Input{{File: "pod.yaml", Data: []byte(pod)}}, vmseed.LoadOptions{})
	if problems.HasErrors() {
		log.Fatal(problems)
	}
	seed, problems := e.Render(machines[0], vmseed.RenderOptions{})
	if problems.HasErrors() {
		log.Fatal(problems)
	}
	userData, _ := seed.Volumes[0].File("user-data")
	fmt.Print(userData.Reveal())

	var image bytes.Buffer
	if _, err := e.Deliver(context.Background(), seed, "iso", delivery.Target{Writer: &image}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(seed.Identity.InstanceID, seed.Volumes[0].Label, image.Len())
	// Output:
	// #cloud-config
	// runcmd: [[touch, /run/ready]]
	// write_files:
	//   - path: /etc/web/port
	//     permissions: "0644"
	//     encoding: b64
	//     content: ODA=
	// web.default cidata 57344
}

// A library that has its own idea of a VM fills a Machine itself.
func ExampleEngine_Render() {
	e := vmseed.Engine{DataSources: []datasource.DataSource{nocloud.New()}}
	m := machine.Machine{
		Name:     "db",
		Identity: machine.Identity{Hostname: "db", InstanceID: "db-1"},
		Users:    []machine.User{{Name: "admin", SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA admin"}}},
		UserData: machine.UserData{Layers: []machine.Layer{{Name: "the user's", Data: secret.New("#cloud-config\ntimezone: Europe/Oslo\n")}}},
	}
	seed, problems := e.Render(m, vmseed.RenderOptions{})
	fmt.Println(problems.HasErrors())
	for _, f := range seed.Volumes[0].Files {
		fmt.Printf("-- %s --\n%s\n", f.Path, f.Content.Reveal())
	}
	// Output:
	// false
	// -- meta-data --
	// {"instance-id":"db-1","local-hostname":"db"}
	// -- user-data --
	// #cloud-config
	// timezone: Europe/Oslo
	// users:
	//   - name: admin
	//     ssh_authorized_keys:
	//       - ssh-ed25519 AAAA admin
}

// A field that the data source has no words for is never dropped in silence.
func ExampleEngine_Render_lost() {
	e := vmseed.Engine{DataSources: []datasource.DataSource{nocloud.New()}}
	m := machine.Machine{Name: "win", AdminPassword: secret.New("hunter2")}
	_, problems := e.Render(m, vmseed.RenderOptions{})
	for _, d := range problems {
		fmt.Println(d.Error())
	}
	// Output:
	// warning[VS1001]: adminPassword: the data source nocloud cannot tell the guest this; choose another data source, or do it in the user-data
}

package cloudconfig_test

import (
	"fmt"
	"log"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
)

// A generated document is merged into a user's, whose spelling and comments stay.
func Example() {
	user, findings := cloudconfig.Parse(diag.File("user-data"), []byte(`#cloud-config
hostname: web # short name
write_files:
  - path: /etc/motd
    permissions: 0644
`))
	if findings.HasErrors() {
		log.Fatal(findings)
	}
	generated, err := cloudconfig.Value(cloudconfig.Mapping{
		{Key: "write_files", Value: []cloudconfig.Mapping{{{Key: "path", Value: "/etc/mac"}, {Key: "content", Value: "52:54:00:12:34:56"}}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	merged, err := cloudconfig.Merge(user.Root(), generated, cloudconfig.AppendHow())
	if err != nil {
		log.Fatal(err)
	}
	text, err := cloudconfig.FromNode(merged).Encode()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output:
	// #cloud-config
	// hostname: web # short name
	// write_files:
	//   - path: /etc/motd
	//     permissions: 0644
	//   - path: /etc/mac
	//     content: "52:54:00:12:34:56"
}

// Several parts are merged as a guest merges them: each says how.
func ExampleMergeParts() {
	var parts []cloudconfig.Part
	for _, text := range []string{"runcmd: [first]\n", "merge_how: list(append)+dict(recurse_list)+str()\nruncmd: [second]\n"} {
		d, findings := cloudconfig.Parse(diag.File("part"), []byte(text))
		if findings.HasErrors() {
			log.Fatal(findings)
		}
		parts = append(parts, cloudconfig.Part{Document: d})
	}
	merged, _ := cloudconfig.MergeParts(parts...)
	text, err := merged.Encode()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output:
	// #cloud-config
	// runcmd:
	//   - first
	//   - second
}

// The kind of user-data is told by its first line.
func ExampleRecognise() {
	for _, text := range []string{"#cloud-config\nhostname: web\n", "#!/bin/sh\n", "hostname: web\n"} {
		fmt.Println(cloudconfig.Recognise([]byte(text)))
	}
	// Output:
	// text/cloud-config
	// text/x-shellscript
	// unknown
}

// Command virtctl is KubeVirt's own command, made from KubeVirt's published module: the conformance tests of
// kube/subresources run it against vmseed's API. Nothing of vmseed links to it.
package main

import (
	"os"

	"kubevirt.io/kubevirt/pkg/virtctl"
)

func main() {
	os.Exit(virtctl.Execute())
}

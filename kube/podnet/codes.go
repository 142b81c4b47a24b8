package podnet

import (
	"fmt"

	"github.com/vmseed/vmseed/diag"
)

// The diagnostics of this package.
const (
	// CodePorts is for ports of the node that no plugin leads to the pod.
	CodePorts diag.Code = 8100 + iota
	// CodeBandwidth is for limits of bandwidth that no plugin holds.
	CodeBandwidth
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodePorts, Title: "hostPort without effect",
			Text: "The pod asks for ports of the node (`hostPort`), and no plugin of the node's CNI network has the capability `portMappings`. " +
				"The pod runs without them, as a container would: on some clusters the network's own agent maps the ports. Elsewhere add the " +
				"plugin `portmap` to the configuration in `/etc/cni/net.d`."},
		{Code: CodeBandwidth, Title: "bandwidth limit without effect",
			Text: "The pod has `kubernetes.io/ingress-bandwidth` or `kubernetes.io/egress-bandwidth`, and no plugin of the node's CNI network has " +
				"the capability `bandwidth`. The pod runs without the limit, as a container would. Add the plugin `bandwidth` to the " +
				"configuration in `/etc/cni/net.d` unless the network's own agent holds the limit."},
	}
}

// unheard is the diagnostic for a wish that no plugin of the cluster's network takes.
func unheard(capability, network string) diag.Diagnostic {
	d := diag.Diagnostic{Code: CodePorts, Severity: diag.Warning, Field: "spec.containers[0].ports",
		Summary: fmt.Sprintf("no plugin of the node's network %q maps ports of the node, so hostPort has no effect unless something else on the node sees to it", network),
		Remedy:  "add the plugin portmap with the capability portMappings to the network's configuration"}
	if capability == "bandwidth" {
		d.Code, d.Field = CodeBandwidth, "metadata.annotations"
		d.Summary = fmt.Sprintf("no plugin of the node's network %q limits bandwidth, so %s and %s have no effect", network, IngressAnnotation, EgressAnnotation)
		d.Remedy = "add the plugin bandwidth with the capability bandwidth to the network's configuration"
	}
	return d
}

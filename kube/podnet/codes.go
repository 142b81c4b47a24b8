package podnet

import "github.com/vmseed/vmseed/diag"

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

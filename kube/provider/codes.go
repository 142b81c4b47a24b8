package provider

import "github.com/vmseed/vmseed/diag"

// The diagnostics of pods on a node.
const (
	// CodeAnnotation is for annotations of vmseed's that cannot be read.
	CodeAnnotation diag.Code = 8000 + iota
	// CodeProbe is for probes that no guest can be asked.
	CodeProbe
	// CodeClaim is for claims that this node cannot find the file or device of.
	CodeClaim
	// CodeNetwork is for networks that a pod asks for and this node does not have.
	CodeNetwork
	// CodeHostPath is for files, directories and devices of the node that pods may not have.
	CodeHostPath
	// CodePullSecret is for Secrets that give no credentials for a registry.
	CodePullSecret
)

// Codes explains the diagnostics of this package and of its Runner.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeAnnotation, Title: "annotation that cannot be read",
			Text: "`vmseed.dev/first-boot-failure` is `Fail` or `Keep`, `vmseed.dev/first-boot-timeout` is a time such as `90s` or `15m`, " +
				"`vmseed.dev/fail-on` is `error`, `warning` or `deprecated`, and " +
				"`vmseed.dev/datasource` is one of the data sources that `vmseed-kube explain` lists."},
		{Code: CodeProbe, Title: "probe that no guest can be asked",
			Text: "The node asks probes of the kinds `exec` (by the guest agent), `httpGet` and `tcpSocket` (at a port of the guest). It has no client for " +
				"gRPC: ask for it by a program in the guest, or by `tcpSocket`."},
		{Code: CodeClaim, Title: "claim that this node cannot reach",
			Text: "A VM's disk can be a claim whose volume is a `local` or `hostPath` volume of its node: the node opens the device or file itself. Volumes that a " +
				"CSI driver would mount, no kubelet mounts here. Use a local volume, or attach the storage inside the guest."},
		{Code: CodeNetwork, Title: "network that the node does not have",
			Text: "The pod asks for networks of CNI plugins, and the node has no configuration for them. Without one its VMs have networks of their own, " +
				"from which they reach out, and into which only the node leads."},
		{Code: CodeHostPath, Title: "file or device of the node that pods may not have",
			Text: "Who may make pods is not thereby a user of their nodes, so volumes that name a path of the node themselves (`hostPath`, `hostDisk`, a flexVolume of " +
				"the type raw) are refused, unless the node's administrator has allowed the path: `vmseed-kube node --allow-host-path` for raw disks and devices in a " +
				"directory, `--allow-share` for a directory that guests mount, `--allow-host-device` for a device by its PCI address. Claims need none of that: " +
				"their volumes were made by the cluster's administrators. Disks are raw, because a guest could make its disk look like a qcow2 image that is based on any file."},
		{Code: CodePullSecret, Title: "pull secret that gives no credentials",
			Text: "A container disk is fetched with the credentials of its `imagePullSecret`, which the controller puts into `imagePullSecrets` of the launcher pod: a Secret of the " +
				"type `kubernetes.io/dockerconfigjson` (or the older `kubernetes.io/dockercfg`) in the namespace of the instance. One that is missing or of another type is passed over, and the image is asked for " +
				"without it. Images that Virtlet's names stand for come by https, for which these Secrets are not asked."},
	}
}

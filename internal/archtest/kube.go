package archtest

import "slices"

// api are the libraries that everything which speaks to an API server has.
var api = []string{"k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/client-go/...", "k8s.io/utils/..."}

// kubeLayers is the arrow rule of the module kube, whose packages may import the core's, but never the other way round.
var kubeLayers = []layer{
	{of: "kube/config", why: "the manifests are files, which kubectl and Helm read as well"},
	{of: "kube/manifests", may: []string{"kube/config"}, libraries: append([]string{"k8s.io/apiextensions-apiserver/...", "sigs.k8s.io/controller-runtime/pkg/client", "sigs.k8s.io/yaml"}, api...),
		why: "an installation is applied by whoever installs, and knows nothing of what it installs"},
	{of: "kube/launch", may: append([]string{".", "machine", "frontend", "frontend/kubevirt", "format/...", "internal/bounded"}, words...), libraries: append([]string{"kubevirt.io/api/..."}, api...),
		why: "controller and node agree on launcher pods in one place, which has no client"},
	{of: "kube/admission", libraries: append([]string{"kubevirt.io/api/core"}, api...), why: "what is filled in is said once, for the webhook and for the controller"},
	{of: "kube/controller", may: append([]string{"kube/admission", "kube/launch", "kube/manifests", "frontend/kubevirt"}, words...),
		libraries: append([]string{"github.com/go-logr/logr", "kubevirt.io/api/...", "sigs.k8s.io/controller-runtime/..."}, api...),
		why:       "the controller makes pods; only a node renders, because only a node may read a user's Secrets"},
	{of: "kube/subresources", libraries: append([]string{"github.com/gorilla/websocket", "golang.org/x/net/netutil", "k8s.io/apiserver/...", "kubevirt.io/api/...", "sigs.k8s.io/controller-runtime/..."}, api...),
		why: "it is a door between clients of KubeVirt and the API server, and knows of neither VMs nor nodes"},
	{of: "kube/objects", may: append([]string{"frontend", "format/kubeobject", "format/tree", "internal/bounded"}, words...), libraries: api,
		why: "front ends get objects of a cluster by their Resolver, one at a time, whether a node or a command asks"},
	{of: "kube/imagenames", may: append([]string{"image", "machine", "internal/boot", "internal/bounded"}, words...), libraries: []string{yaml},
		why: "what a name means is looked up; fetching and booting are done as for everybody"},
	{of: "kube/podnet", may: append([]string{"hypervisor", "machine", "frontend/cniresult", "internal/atomicfile", "internal/tap"}, words...),
		libraries: append([]string{"github.com/containernetworking/cni/...", "github.com/vishvananda/netlink", "github.com/vishvananda/netns", "golang.org/x/sys/unix"}, api...),
		why:       "namespaces and plugins are met in one package, which has no client and starts no VM"},
	{of: "kube/provider", may: append([]string{"kube/launch", "report", "frontend/kubevirt", "frontend/virtlet", "internal/atomicfile", "internal/supervisor"}, words...),
		libraries: append([]string{"github.com/virtual-kubelet/virtual-kubelet/...", "k8s.io/kubelet/..."}, api...),
		why:       "what becomes of a pod is decided without knowing how its VM is made, so that a benchmark can run it without VMs"},
	{of: "kube/provider/host", may: append([]string{".", "image", "machine", "seed", "report", "frontend", "frontend/...", "datasource", "datasource/all", "delivery", "delivery/all", "hypervisor", "hypervisor/...", "format/...",
		"internal/atomicfile", "internal/boot", "internal/bounded", "internal/hostpath", "internal/supervisor", "internal/vmnet", "kube/imagenames", "kube/launch", "kube/objects", "kube/podnet", "kube/provider"}, words...),
		libraries: append([]string{"github.com/google/go-containerregistry/pkg/authn"}, api...), why: "a pod's VM is made as the command makes one, by the same plug-ins"},
	{of: "kube/node/certs", may: []string{"internal/atomicfile"}, libraries: append([]string{"github.com/go-logr/logr", "k8s.io/klog/v2"}, api...),
		why: "keys are in one package, which does nothing else"},
	{of: "kube/node/server", libraries: append([]string{"github.com/gorilla/mux", "github.com/gorilla/websocket", "github.com/prometheus/client_golang/...", "github.com/virtual-kubelet/virtual-kubelet/...", "k8s.io/apiserver/...", "k8s.io/kubelet/..."}, api...),
		why: "who may see a console is decided in a package that has no console"},
	{of: "kube/node", may: []string{"kube/node/server"}, libraries: append([]string{"github.com/virtual-kubelet/virtual-kubelet/...", "github.com/go-logr/logr", "golang.org/x/sync/errgroup", "golang.org/x/sys/unix", "k8s.io/klog/v2", "k8s.io/kubelet/..."}, api...),
		why: "a node is the same whatever its pods become"},
	{of: "kube/internal/cli", may: slices.Concat([]string{"frontend", "hypervisor", "image", "internal/atomicfile", "internal/cli", "kube/admission", "kube/controller", "kube/imagenames", "kube/launch", "kube/manifests", "kube/node", "kube/node/...", "kube/objects", "kube/podnet",
		"kube/provider", "kube/provider/host", "kube/subresources", "report"}, words), libraries: append([]string{cobra, pflag}, api...), why: "the command puts everything together"},
	{of: "kube/cmd/*", may: []string{"internal/cli", "kube/internal/cli"}, why: "a main that is more than a call cannot be tested"},
	{of: "kube/internal/controlplane", libraries: api, why: "a control plane is the same whatever runs on it"},
	{of: "kube/internal/controlplane/controlplanetest", may: []string{"kube/internal/controlplane"}, why: "a control plane is started and stopped the same way for every test"},
	{of: "kube/internal/hosttest", libraries: []string{"golang.org/x/sys/unix"}, why: "a host for tests knows nothing of what is tested on it"},
	{of: "kube/internal/tinyguest", why: "a guest of one sector is judge of what becomes of VMs, and shares none of our code"},
	{of: "kube/internal/cluster/...", may: []string{"internal/supervisor", "kube/internal/cluster", "kube/internal/controlplane", "kube/manifests"}, libraries: append([]string{"sigs.k8s.io/controller-runtime/pkg/client"}, api...),
		why: "tests and make kube-up run the programs that an administrator would"},
	{of: "kube/bench", may: []string{"internal/supervisor", "report", "diag", "kube/controller", "kube/internal/cluster", "kube/internal/controlplane", "kube/manifests", "kube/node", "kube/node/...", "kube/provider"},
		libraries: append([]string{"kubevirt.io/api/...", "sigs.k8s.io/controller-runtime/...", "github.com/prometheus/client_golang/...", "golang.org/x/time/rate"}, api...),
		why:       "what is measured is the product, but for the VMs"},
	{of: "kube/e2e/...", why: "the tests of whole clusters use the programs as administrators do"},
}

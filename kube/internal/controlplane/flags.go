package controlplane

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// controllers are those that pods, nodes and what vmseed installs need.
var controllers = []string{
	"bootstrap-signer-controller", "certificatesigningrequest-approving-controller", "certificatesigningrequest-cleaner-controller",
	"certificatesigningrequest-signing-controller", "clusterrole-aggregation-controller", "daemonset-controller", "deployment-controller",
	"disruption-controller", "endpoints-controller", "endpointslice-controller", "garbage-collector-controller", "job-controller", "namespace-controller",
	"node-lifecycle-controller", "persistentvolume-binder-controller", "persistentvolume-protection-controller",
	"persistentvolumeclaim-protection-controller", "pod-garbage-collector-controller", "replicaset-controller",
	"resourcequota-controller", "root-ca-certificate-publisher-controller", "serviceaccount-controller", "serviceaccount-token-controller",
	"statefulset-controller", "taint-eviction-controller", "token-cleaner-controller", "validatingadmissionpolicy-status-controller",
}

func (c *ControlPlane) pki(name string) string { return filepath.Join(c.dir, "pki", name) }

func (c *ControlPlane) apiServer(o Options, etcd string, port int) []string {
	flags := []string{
		"--etcd-servers=" + etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
		"--cert-dir=" + c.pki(""), "--tls-cert-file=" + c.pki("apiserver.crt"), "--tls-private-key-file=" + c.pki("apiserver.key"),
		"--client-ca-file=" + c.pki("ca.crt"), "--enable-bootstrap-token-auth",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + c.pki("sa.pub"),
		"--service-account-signing-key-file=" + c.pki("sa.key"), "--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--endpoint-reconciler-type=none",
		"--kubelet-client-certificate=" + c.pki("kubelet-client.crt"), "--kubelet-client-key=" + c.pki("kubelet-client.key"),
		"--kubelet-certificate-authority=" + c.pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		// The aggregation of other API servers. Without --enable-aggregator-routing a Service of type ExternalName may lead to one
		// on this machine; endpoints must not be on a loopback address.
		"--requestheader-client-ca-file=" + c.pki("front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--proxy-client-cert-file=" + c.pki("front-proxy-client.crt"),
		"--proxy-client-key-file=" + c.pki("front-proxy-client.key"),
	}
	if o.Alone {
		flags = append(flags, "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
	}
	return slices.Concat(o.APIServer, flags)
}

func (c *ControlPlane) scheduler(o Options, port string) []string {
	config := filepath.Join(c.dir, "scheduler.kubeconfig")
	return slices.Concat(o.Scheduler, []string{
		"--kubeconfig=" + config, "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config,
		"--bind-address=127.0.0.1", "--secure-port=" + port, "--cert-dir=" + c.pki("scheduler"), "--leader-elect=false",
		"--requestheader-client-ca-file=" + c.pki("front-proxy-ca.crt"),
	})
}

func (c *ControlPlane) controllerManager(o Options, port string) []string {
	config := filepath.Join(c.dir, "controller-manager.kubeconfig")
	return slices.Concat(o.ControllerManager, []string{
		"--kubeconfig=" + config, "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config,
		"--bind-address=127.0.0.1", "--secure-port=" + port, "--cert-dir=" + c.pki("controller-manager"), "--leader-elect=false",
		// Without accounts of their own RBAC refuses the controllers.
		"--use-service-account-credentials", "--root-ca-file=" + c.pki("ca.crt"), "--service-account-private-key-file=" + c.pki("sa.key"),
		"--cluster-signing-cert-file=" + c.pki("ca.crt"), "--cluster-signing-key-file=" + c.pki("ca.key"),
		"--requestheader-client-ca-file=" + c.pki("front-proxy-ca.crt"), "--kube-api-qps=500", "--kube-api-burst=1000",
		"--controllers=" + strings.Join(controllers, ","),
	})
}

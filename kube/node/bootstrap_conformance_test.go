//go:build conformance

package node_test

import (
	"context"
	"crypto/x509"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/vmseed/vmseed/kube/node/certs"
)

// bootstrap: a node that has nothing but a token gets its own certificate from the cluster, and one to serve with when an
// administrator approves it. It finds both again when it starts anew.
func (w *world) bootstrap(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "node")
	o := certs.ClientOptions{Node: "boot", Bootstrap: w.token(t), Dir: dir, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	alive, stop := context.WithCancel(ctx)
	config, err := certs.Client(alive, o)
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(rest.CopyConfig(config))
	w.isNode(t, client)

	serving, err := certs.Serving(alive, certs.ServingOptions{Node: "boot", Client: client, Dir: dir, Logger: o.Logger,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}})
	if err != nil {
		t.Fatal(err)
	}
	request := until(t, "the request for a serving certificate", func() (string, error) {
		list, err := w.admin.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		for _, r := range list.Items {
			if r.Spec.SignerName == certificatesv1.KubeletServingSignerName && r.Spec.Username == "system:node:boot" {
				return r.Name, nil
			}
		}
		return "", nil
	}, func(name string) bool { return name != "" })
	if _, err := serving(nil); err == nil {
		t.Error("a serving certificate is there before anybody approved it")
	}
	if out, err := exec.CommandContext(ctx, w.Kubectl, "--kubeconfig", w.Kubeconfig, "certificate", "approve", request).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	leaf := until(t, "the serving certificate", func() (*x509.Certificate, error) {
		c, err := serving(nil)
		if err != nil {
			return nil, err
		}
		return c.Leaf, nil
	}, func(*x509.Certificate) bool { return true })
	authority, err := os.ReadFile(w.CA())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "127.0.0.1"}); err != nil {
		t.Error(err)
	}
	stop()

	o.Bootstrap = filepath.Join(t.TempDir(), "expired")
	if err := os.WriteFile(o.Bootstrap, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := certs.Client(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	w.isNode(t, kubernetes.NewForConfigOrDie(again))
	byFile, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	w.isNode(t, kubernetes.NewForConfigOrDie(byFile))
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// isNode checks that the API server takes a client for the node, which may read its own Node, and not list Secrets.
func (w *world) isNode(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	if _, err := client.CoreV1().Nodes().Get(t.Context(), "boot", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the node, asking for itself before it is registered, gets %v", err)
	}
	if _, err := client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the node, asking for all Secrets, gets %v", err)
	}
}

// token makes a bootstrap token that may request certificates for nodes, which are approved by themselves, and returns the
// path of its kubeconfig.
func (w *world) token(t *testing.T) string {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-abcdef"}, Type: "bootstrap.kubernetes.io/token",
		StringData: map[string]string{"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
			"auth-extra-groups": "system:bootstrappers:vmseed"}}
	if _, err := w.admin.CoreV1().Secrets(metav1.NamespaceSystem).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"system:node-bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient"} {
		_, err := w.admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{GenerateName: "bootstrap-"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "system:bootstrappers:vmseed"}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "bootstrap.kubeconfig")
	err := clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"c": {Server: w.URL, CertificateAuthority: w.CA()}},
		AuthInfos:      map[string]*api.AuthInfo{"token": {Token: "abcdef.0123456789abcdef"}},
		Contexts:       map[string]*api.Context{"x": {Cluster: "c", AuthInfo: "token"}},
		CurrentContext: "x",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

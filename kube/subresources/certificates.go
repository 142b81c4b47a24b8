package subresources

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// How long a certificate is valid, and how long before its end the next one is made.
const (
	validity = 90 * 24 * time.Hour
	renewal  = 30 * 24 * time.Hour
	// skew is how far the clocks of a cluster may be apart.
	skew = time.Hour
	// checkEvery is how often the Secret and the APIServices are looked at. A replica that did not make the certificate
	// itself serves it this much later.
	checkEvery = 10 * time.Second
)

// certificates keeps the serving certificate in a Secret that the replicas share, and its authority in the APIServices. An
// authority signs one certificate and its key is then forgotten, so that a stolen Secret is worth no more than the server.
// The bundle holds the authority before it too, for replicas that have not seen the change yet.
type certificates struct {
	secrets  corev1client.SecretInterface
	services client.Client
	log      *slog.Logger
	name     string
	// host is the DNS name that the API server expects, that of the Service.
	host string
	now  func() time.Time

	current atomic.Pointer[tls.Certificate]
}

// certificate is that of tls.Config.
func (c *certificates) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if got := c.current.Load(); got != nil {
		return got, nil
	}
	return nil, errors.New("there is no serving certificate yet")
}

// run keeps everything as it should be until the context ends.
func (c *certificates) run(ctx context.Context) {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := ""
		if err := c.sync(ctx); err != nil {
			now = err.Error()
		}
		if now != "" && now != said && ctx.Err() == nil { // beside KubeVirt the APIServices stay another server's
			c.log.Error("the certificate of the API server of subresources", "error", now)
		}
		said = now
	}
}

// sync reads the Secret, fills it when the certificate in it is missing or about to end, and serves it once the API server
// has been told its authority.
func (c *certificates) sync(ctx context.Context) error {
	var secret *corev1.Secret
	// Replicas may start together: whoever comes second takes what the first has made.
	err := retry.OnError(retry.DefaultRetry, func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }, func() error {
		var err error
		secret, err = c.ensure(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("Secret %s: %w", c.name, err)
	}
	pair, err := c.parse(secret)
	if err != nil {
		return fmt.Errorf("Secret %s: %w", c.name, err)
	}
	foreign, err := c.publish(ctx, secret.Data[corev1.ServiceAccountRootCAKey])
	if err == nil || c.current.Load() == nil {
		c.current.Store(pair)
	}
	return errors.Join(foreign, err)
}

// ensure returns the Secret with a certificate that is good for a while.
func (c *certificates) ensure(ctx context.Context) (*corev1.Secret, error) {
	secret, err := c.secrets.Get(ctx, c.name, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	switch {
	case err == nil:
		if pair, err := c.parse(secret); err == nil && c.now().Add(renewal).Before(pair.Leaf.NotAfter) {
			return secret, nil
		}
	case missing:
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: c.name}, Type: corev1.SecretTypeTLS}
	default:
		return nil, err
	}
	made, err := issue(c.host, c.now())
	if err != nil {
		return nil, err
	}
	made[corev1.ServiceAccountRootCAKey] = append(made[corev1.ServiceAccountRootCAKey], c.previous(secret)...)
	secret.Data = made
	if missing {
		return c.secrets.Create(ctx, secret, metav1.CreateOptions{})
	}
	return c.secrets.Update(ctx, secret, metav1.UpdateOptions{})
}

// previous returns the authority of the certificate that a Secret holds, as long as that is valid.
func (c *certificates) previous(secret *corev1.Secret) []byte {
	block, _ := pem.Decode(secret.Data[corev1.ServiceAccountRootCAKey])
	if block == nil {
		return nil
	}
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil || c.now().After(authority.NotAfter) {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes})
}

// parse returns a Secret's certificate if it is one for this server that its authority signed.
func (c *certificates) parse(secret *corev1.Secret) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, errors.New("its keys " + corev1.TLSCertKey + " and " + corev1.TLSPrivateKeyKey + " are not a certificate and its key")
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data[corev1.ServiceAccountRootCAKey])
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: c.host, Roots: roots, CurrentTime: c.now()}); err != nil {
		return nil, fmt.Errorf("its certificate: %w", err)
	}
	return &pair, nil
}

// publish writes the authorities into the APIServices that lead to this server. One that is not installed, or leads to a
// server of somebody else, is left alone; foreign says which ones do.
func (c *certificates) publish(ctx context.Context, bundle []byte) (foreign, err error) {
	var errs, others []error
	for _, version := range Versions() {
		service := &unstructured.Unstructured{}
		service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
		name := types.NamespacedName{Name: version + "." + Group}
		if err := c.services.Get(ctx, name, service); err != nil {
			if !apierrors.IsNotFound(err) {
				errs = append(errs, fmt.Errorf("APIService %s: %w", name.Name, err))
			}
			continue
		}
		target, _, _ := unstructured.NestedString(service.Object, "spec", "service", "name")
		namespace, _, _ := unstructured.NestedString(service.Object, "spec", "service", "namespace")
		if target+"."+namespace+".svc" != c.host {
			others = append(others, fmt.Errorf("APIService %s leads to another server, %s/%s", name.Name, namespace, target))
			continue
		}
		encoded := base64.StdEncoding.EncodeToString(bundle)
		if has, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle"); has == encoded {
			continue
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"caBundle": encoded, "insecureSkipTLSVerify": nil}})
		if err != nil {
			return nil, err
		}
		if err := c.services.Patch(ctx, service, client.RawPatch(types.MergePatchType, patch)); err != nil {
			errs = append(errs, fmt.Errorf("APIService %s: %w", name.Name, err))
		}
	}
	return errors.Join(others...), errors.Join(errs...)
}

// issue makes an authority and a certificate of it for one name. The keys of the result are those of the Secret.
func issue(host string, now time.Time) (map[string][]byte, error) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	authority := template("vmseed subresources "+now.UTC().Format("2006-01-02T15:04:05Z"), now)
	authority.IsCA, authority.BasicConstraintsValid, authority.MaxPathLenZero = true, true, true
	authority.KeyUsage = x509.KeyUsageCertSign
	root, err := x509.CreateCertificate(rand.Reader, authority, authority, signer.Public(), signer)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := template(host, now)
	leaf.DNSNames, leaf.KeyUsage = []string{host}, x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	certificate, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	encode := func(kind string, der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	return map[string][]byte{
		corev1.ServiceAccountRootCAKey: encode("CERTIFICATE", root),
		corev1.TLSCertKey:              encode("CERTIFICATE", certificate),
		corev1.TLSPrivateKeyKey:        encode("PRIVATE KEY", private),
	}, nil
}

// template is what both certificates have in common.
func template(name string, now time.Time) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // crypto/rand does not fail
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-skew), NotAfter: now.Add(validity),
	}
}

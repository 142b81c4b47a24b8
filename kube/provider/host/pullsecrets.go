package host

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/kube/provider"
)

// pullSecrets are the credentials for registries that a pod names (imagePullSecrets), and after them those that the node's user has.
// They are read when a registry is asked and not before, since most images are on the node already.
type pullSecrets struct {
	ctx    context.Context
	client kubernetes.Interface
	pod    *corev1.Pod

	once    sync.Once
	entries []pullEntry
	// problems are those of Secrets that gave nothing.
	problems diag.List
}

// pullEntry is what one Secret says about the registries that match a pattern.
type pullEntry struct {
	pattern string
	config  authn.AuthConfig
}

// launcherOf is the launcher for a pod, which fetches images with the credentials that the pod names.
func (h *Host) launcherOf(ctx context.Context, pod *corev1.Pod) (boot.Launcher, *pullSecrets, error) {
	launcher, keys := h.launcher, &pullSecrets{ctx: ctx, client: h.options.Client, pod: pod}
	if len(pod.Spec.ImagePullSecrets) == 0 {
		return launcher, keys, nil
	}
	if launcher.Images == nil {
		var err error
		if launcher.Images, err = boot.UserImages(); err != nil {
			return launcher, keys, err
		}
	}
	store := *launcher.Images
	store.Keychain, launcher.Images = keys, &store
	return launcher, keys, nil
}

// Resolve finds the credentials for a repository. Among patterns that match it the longest counts, as for a kubelet, and among
// equal ones that of the first Secret.
func (p *pullSecrets) Resolve(at authn.Resource) (authn.Authenticator, error) {
	p.once.Do(p.read)
	for _, e := range p.entries {
		if matchesRegistry(e.pattern, at.RegistryStr(), at.String()) {
			return authn.FromConfig(e.config), nil
		}
	}
	return authn.DefaultKeychain.Resolve(at)
}

// read gets the Secrets. One that is not there is no reason not to try: the image may be a public one.
func (p *pullSecrets) read() {
	for i, ref := range p.pod.Spec.ImagePullSecrets {
		secret, err := p.client.CoreV1().Secrets(p.pod.Namespace).Get(p.ctx, ref.Name, metav1.GetOptions{})
		var found []pullEntry
		if err == nil {
			found, err = pullEntries(secret)
		}
		if err != nil {
			p.problems.Add(diag.Diagnostic{Code: provider.CodePullSecret, Severity: diag.Warning, Field: fmt.Sprintf("spec.imagePullSecrets[%d]", i),
				Summary: fmt.Sprintf("the Secret %s gives no credentials: %v", ref.Name, err), Remedy: "make it with kubectl create secret docker-registry"})
		}
		p.entries = append(p.entries, found...)
	}
	slices.SortStableFunc(p.entries, func(a, b pullEntry) int { return len(b.pattern) - len(a.pattern) })
}

// pullEntries reads a Secret of the type kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg (Kubernetes API, core/v1,
// SecretType). Errors do not quote it.
func pullEntries(secret *corev1.Secret) ([]pullEntry, error) {
	var registries map[string]authn.AuthConfig
	var err error
	key := corev1.DockerConfigJsonKey
	switch secret.Type {
	case corev1.SecretTypeDockerConfigJson:
		var file struct {
			Auths map[string]authn.AuthConfig `json:"auths"`
		}
		err = json.Unmarshal(secret.Data[key], &file)
		registries = file.Auths
	case corev1.SecretTypeDockercfg:
		key = corev1.DockerConfigKey
		err = json.Unmarshal(secret.Data[key], &registries)
	default:
		return nil, fmt.Errorf("it is of the type %s, not %s", secret.Type, corev1.SecretTypeDockerConfigJson)
	}
	if err != nil {
		return nil, fmt.Errorf("its key %s is no configuration of docker", key)
	}
	var out []pullEntry
	for pattern, config := range registries {
		out = append(out, pullEntry{registryPattern(pattern), config})
	}
	slices.SortFunc(out, func(a, b pullEntry) int { return strings.Compare(a.pattern, b.pattern) })
	return out, nil
}

// registryPattern is a key of a docker configuration without what does not belong to a repository's name.
func registryPattern(key string) string {
	key = strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
	key = strings.TrimSuffix(key, "/")
	for _, version := range []string{"/v1", "/v2"} {
		key = strings.TrimSuffix(key, version)
	}
	host, rest, _ := strings.Cut(key, "/")
	if host == "docker.io" || host == "registry-1.docker.io" {
		host = "index.docker.io" // the name that the registry's own clients use
	}
	return strings.TrimSuffix(host+"/"+rest, "/")
}

// matchesRegistry reports whether a pattern is that of a repository. Each part of its host's name may have the wildcards of
// path.Match, its port is to be the same, and its path is the beginning of the repository's (Kubernetes, "Images", section
// "Interpretation of config.json").
func matchesRegistry(pattern, registry, repository string) bool {
	host, prefix, _ := strings.Cut(pattern, "/")
	wantHost, wantPort, _ := strings.Cut(host, ":")
	haveHost, havePort, _ := strings.Cut(registry, ":")
	want, have := strings.Split(wantHost, "."), strings.Split(haveHost, ".")
	if wantPort != havePort || len(want) != len(have) {
		return false
	}
	for i, part := range want {
		if ok, err := path.Match(part, have[i]); err != nil || !ok {
			return false
		}
	}
	inside := strings.TrimPrefix(repository, registry+"/")
	return prefix == "" || inside == prefix || strings.HasPrefix(inside, prefix+"/")
}

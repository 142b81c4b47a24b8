package objects

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config finds the cluster that kubectl would talk to: the file and context of the flags where they are given, else
// KUBECONFIG, ~/.kube/config, or the service account of the pod that this runs in. It returns the default namespace too.
func Config(kubeconfig, context string) (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	if config, err = loader.ClientConfig(); err != nil {
		return nil, "", err
	}
	namespace, _, err = loader.Namespace()
	return config, namespace, err
}

package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kubelet "k8s.io/kubelet/pkg/apis"
)

// CheckLabels returns an error for labels that an API server refuses when a node gives them to itself (admission plugin
// NodeRestriction), or anybody to anything.
func CheckLabels(labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		domain, _, qualified := strings.Cut(key, "/")
		reserved := qualified && slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(d string) bool {
			return domain == d || strings.HasSuffix(domain, "."+d)
		})
		switch problems := slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(labels[key])); {
		case len(problems) > 0:
			return fmt.Errorf("%s=%s: %s", key, labels[key], strings.Join(problems, "; "))
		case reserved && !kubelet.IsKubeletLabel(key):
			return fmt.Errorf("a node may not give itself the label %s; an administrator may: kubectl label node", key)
		}
	}
	return nil
}

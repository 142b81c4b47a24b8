package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Cluster is what a node knows its cluster by: the UIDs of two objects, which no other cluster has. Either may be made anew
// in one cluster, so it is another only when no UID is the same.
type Cluster struct {
	// Service is the UID of the Service kubernetes in the namespace default, which API servers make and nodes may read.
	Service types.UID `json:"service,omitempty"`
	// Node is the UID of the Node object. It is empty for one that is not registered yet.
	Node types.UID `json:"node,omitempty"`
}

// Other reports whether two clusters are known to be different. What is not known of one tells nothing.
func (c Cluster) Other(than Cluster) bool {
	service, node := differ(c.Service, than.Service), differ(c.Node, than.Node)
	return service == different && node != same || service == unknown && node == different
}

// What the UIDs of an object in two clusters tell.
type likeness int

const (
	unknown likeness = iota
	same
	different
)

func differ(a, b types.UID) likeness {
	switch {
	case a == "" || b == "":
		return unknown
	case a == b:
		return same
	}
	return different
}

// recognise asks whether the cluster is the one of this host's pods.
func (h *heart) recognise(ctx context.Context, node types.UID) error {
	if h.config.Recognise == nil {
		return nil
	}
	c := Cluster{Node: node}
	service, err := h.config.Heartbeat.CoreV1().Services(corev1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
	switch {
	case err == nil:
		c.Service = service.UID
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return fmt.Errorf("which cluster this is: %w", err)
	}
	if err := h.config.Recognise(c); err != nil {
		return &strangeError{err}
	}
	return nil
}

// strangeError says that the cluster is not the one of this host's pods.
type strangeError struct{ error }

// Unwrap returns what Config.Recognise said.
func (e *strangeError) Unwrap() error { return e.error }

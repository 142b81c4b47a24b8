// Package server is the HTTPS server that the API server expects on every node: what `kubectl logs`, `exec`, `attach`,
// `port-forward` and `top` come down to. Paths, parameters and the rights that they take are those of the kubelet.
//
// Nobody is let in by default. Whoever asks is known by a client certificate of the cluster's CA or by a bearer token that
// the API server vouches for (TokenReview), and may do what the API server allows (SubjectAccessReview) on the node's
// subresources: nodes/proxy, nodes/log, nodes/metrics, nodes/stats, nodes/pods, nodes/healthz.
package server

// Package e2e holds the tests of vmseed on a whole cluster: the real control plane of Kubernetes, vmseed's controller and
// nodes as their own processes, kubectl, and guests that boot. They are behind the build tag e2e.
package e2e

// Package network holds the tests of pods' networks on a whole cluster: the real control plane, a node with the reference
// plugins of CNI, and guests that boot. They run in a network and a mount namespace of their own, which is "the host" to
// all of them, and are behind the build tag e2e.
package network

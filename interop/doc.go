// Package interop runs clients that others have written against the command vmseed: the oVirt SDK for Go and
// go-ovirt-client, the library of the Terraform provider and of OpenShift. The tests with the build tag e2e let guests
// boot. It is a module of its own so that the weight of those clients stays out of vmseed's.
package interop

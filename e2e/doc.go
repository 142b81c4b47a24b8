// Package e2e boots whole Debian guests with the command vmseed and asks them, from inside, what became of the
// definition. All of it is tests behind the build tag e2e.
package e2e

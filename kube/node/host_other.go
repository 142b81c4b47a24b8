//go:build !linux

package node

import "errors"

// ThisHost is the machine that the process runs on. Nodes are Linux hosts; elsewhere the methods fail.
func ThisHost(string) Host { return unsupported{} }

type unsupported struct{}

var errUnsupported = errors.New("a node of a cluster must be a Linux host")

func (unsupported) Facts() (Facts, error)     { return Facts{}, errUnsupported }
func (unsupported) Measure() (Measure, error) { return Measure{}, errUnsupported }

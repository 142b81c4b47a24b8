package main

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/ec2"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// userDataSize is what EC2 allows for user-data.
const userDataSize = 16 << 10

// versions are four of the directories in which a machine reads its user-data.
func versions() [4]string { return [4]string{"latest", "2021-07-15", "2016-09-02", "2009-04-04"} }

// address is that of a machine of the fleet: each has its own of 127/8.
func address(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(1 + i>>16), byte(i >> 8), byte(i)})
}

func instanceID(i int) string { return fmt.Sprintf("i-%017x", i) }

// userData is the machine's alone: every line of it names the machine, so that no piece of another's would pass for it.
func userData(i int) string {
	line := fmt.Sprintf("# bytes of machine %06d of the fleet, and of no other\n", i)
	return ("#!/bin/sh\n" + strings.Repeat(line, userDataSize/len(line)+1))[:userDataSize]
}

// seedOf is what a machine of the fleet reads: the tree that vmseed renders for EC2, with tokens required.
func seedOf(i int) (seed.Seed, error) {
	m, l := machine.Place(machine.Machine{
		Namespace: "fleet", Name: fmt.Sprintf("machine-%06d", i),
		Identity: machine.Identity{InstanceID: instanceID(i), Hostname: fmt.Sprintf("machine-%06d", i), Tags: map[string]string{"fleet": "bench"}},
		SSH:      machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKqrq6urq6urq6urq6urq6urq6urq6urq6urq6urq6ur operator@bench"}},
		Network:  machine.Network{NICs: []machine.NIC{{Name: "lan", DHCP4: true}}},
		UserData: machine.UserData{Raw: true, Layers: []machine.Layer{{Data: secret.New(userData(i))}}},
	}, machine.Facts{})
	if l.HasErrors() {
		return seed.Seed{}, l.Err()
	}
	s, l := ec2.New().Render(m, datasource.Options{})
	return s, l.Err()
}

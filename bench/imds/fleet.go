package main

import (
	"fmt"
	"net/netip"
	"strings"

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

// treeOf is what a machine of the fleet reads: a tree of EC2 with tokens required, as large as the one that vmseed renders.
func treeOf(i int) seed.Seed {
	tree := seed.Tree{Name: "ec2", Roots: versionList(), Tokens: seed.TokensRequired}
	put := func(path, content string) {
		tree.Blobs = append(tree.Blobs, seed.Blob{Path: path, ContentType: "text/plain", Content: secret.New(content)})
	}
	id, mac := instanceID(i), fmt.Sprintf("02:00:00:%02x:%02x:%02x", byte(i>>16), byte(i>>8), byte(i))
	put("user-data", userData(i))
	for _, path := range []string{"ami-id", "ami-launch-index", "ami-manifest-path", "hostname", "instance-action", "instance-life-cycle",
		"instance-type", "local-hostname", "local-ipv4", "mac", "placement/availability-zone", "placement/region", "profile",
		"public-keys/0/openssh-key", "reservation-id", "security-groups", "services/domain", "services/partition",
		"block-device-mapping/ami", "block-device-mapping/root", "tags/instance/Name"} {
		put("meta-data/"+path, path+" of "+id)
	}
	for _, path := range []string{"device-number", "interface-id", "local-hostname", "local-ipv4s", "mac", "owner-id", "security-groups",
		"security-group-ids", "subnet-id", "subnet-ipv4-cidr-block", "vpc-id", "vpc-ipv4-cidr-block", "vpc-ipv4-cidr-blocks"} {
		put("meta-data/network/interfaces/macs/"+mac+"/"+path, path+" of "+id)
	}
	put("meta-data/instance-id", id)
	put("dynamic/instance-identity/document", `{"instanceId": "`+id+`", "region": "local"}`)
	return seed.Seed{Machine: seed.Name{Namespace: "fleet", Name: fmt.Sprintf("machine-%06d", i)}, DataSource: "ec2",
		Identity: seed.Identity{InstanceID: id}, Trees: []seed.Tree{tree}}
}

func versionList() []string { v := versions(); return v[:] }

// Package imds builds the tree of EC2's instance metadata service. The data source ec2 serves all of it; guests of OpenStack
// read a small one beside their own documents.
//
// What a machine does not say and EC2 has for every instance is a function of the machine's UUID, so that it is the same
// whenever the tree is built. What neither is known nor can be made up honestly, such as a public address, is left out:
// every name that a directory lists has content.
//
// Source: the EC2 User Guide, "Instance metadata categories"; cloud-init's DataSourceEc2.py and ec2.py, 22.4 to 26.2;
// nova's api/metadata/base.py for the small tree.
package imds

import (
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Name is the name of both trees.
const Name = "ec2"

// Guest is what the data source decided about a placed machine before the tree is built.
type Guest struct {
	// Machine is placed.
	Machine machine.Machine
	// InstanceID is what the leaf instance-id says; Hostname the leaves hostname and local-hostname, which are left out
	// where it is empty.
	InstanceID string
	Hostname   string
	// PublicKeys are those of the guest's default user, one line of authorized_keys each.
	PublicKeys []string
	// UserData is the leaf user-data. A guest with the zero text has none.
	UserData secret.Text
}

// Versions are the directories in which the service has its tree: latest, then the versions of EC2's interface with the
// oldest first.
func Versions() []string {
	return []string{"latest", "1.0", "2007-01-19", "2007-03-01", "2007-08-29", "2007-10-10", "2007-12-15", "2008-02-01", "2008-09-01",
		"2009-04-04", "2011-01-01", "2011-05-01", "2012-01-12", "2014-02-25", "2014-11-05", "2015-10-20", "2016-04-19", "2016-06-30",
		"2016-09-02", "2018-03-28", "2018-08-17", "2018-09-24", "2019-10-01", "2020-10-27", "2021-01-03", "2021-03-23", "2021-07-15",
		"2022-07-09", "2022-09-24", "2024-04-11"}
}

// Small is the tree that nova serves to the guests of OpenStack, without tokens: cloud-init reads it for the names of
// block devices, Afterburn and CirrOS for most of what they know. Whether it may be read without a token is not the
// machine's to decide, because these readers know none.
func Small(g Guest) seed.Tree {
	return seed.Tree{Name: Name, Roots: Versions(), Tokens: seed.TokensOptional, Blobs: small(g)}
}

func small(g Guest) []seed.Blob {
	var out []seed.Blob
	put := func(path, content string) {
		if content != "" {
			out = append(out, seed.Blob{Path: "meta-data/" + path, ContentType: "text/plain", Content: secret.New(content)})
		}
	}
	put("instance-id", g.InstanceID)
	put("hostname", g.Hostname)
	put("local-hostname", g.Hostname)
	return out
}

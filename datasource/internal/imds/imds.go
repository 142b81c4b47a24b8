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
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
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

// Where a machine says nothing, it is an instance of this type in this zone. They are no names of AWS, lest a guest takes a
// mirror of packages that is near to a region it is not in.
const (
	DefaultType   = "vmseed.custom"
	defaultRegion = "local-1"
)

// Small is the tree that nova serves to the guests of OpenStack, without tokens: cloud-init reads it for the names of
// block devices, Afterburn and CirrOS for most of what they know. Whether it may be read without a token is not the
// machine's to decide, because these readers know none.
func Small(g Guest) seed.Tree {
	t := leaves{}
	g.common(t)
	t.put("instance-type", g.Machine.Identity.InstanceType)
	t.put("placement/availability-zone", g.Machine.Identity.AvailabilityZone)
	return seed.Tree{Name: Name, Roots: Versions(), Tokens: seed.TokensOptional, Blobs: g.blobs(t)}
}

// Full is the tree of EC2's service. What the author's meta-data says is laid over it, leaf by leaf: a mapping is a
// directory, a list is one line for each item, null takes away what stands there.
func Full(g Guest) (seed.Tree, diag.List) {
	t, id := leaves{}, g.Machine.Identity
	g.common(t)
	region, zone := placement(id)
	t.put("placement/region", region)
	t.put("placement/availability-zone", zone)
	t.put("instance-type", cmp.Or(id.InstanceType, DefaultType))
	t.put("instance-life-cycle", "on-demand")
	t.put("profile", "default-hvm")
	t.put("services/domain", "amazonaws.com")
	t.put("services/partition", "aws")
	l := g.odd(t)
	l = append(l, g.tags(t)...)
	l = append(l, g.interfaces(t)...)
	if keys, stated := t.overlay(g.Machine, &l); stated {
		g.PublicKeys = keys
	}
	out := seed.Tree{Name: Name, Roots: Versions(), Tokens: seed.TokensRequired, HopLimit: g.Machine.MetadataOptions.HTTPPutResponseHopLimit}
	if g.Machine.MetadataOptions.HTTPTokens == string(seed.TokensOptional) {
		out.Tokens = seed.TokensOptional
	}
	out.Blobs = append([]seed.Blob{{Path: "dynamic/instance-identity/document", ContentType: "text/plain", Content: g.document(t)}}, g.blobs(t)...)
	return out, l
}

// common puts what both trees have.
func (g Guest) common(t leaves) {
	id := g.Machine.Identity
	index := 0
	if id.LaunchIndex != nil {
		index = *id.LaunchIndex
	}
	t.put("ami-id", resource("ami", image(g.Machine)))
	t.put("ami-launch-index", strconv.Itoa(index))
	t.put("ami-manifest-path", "(unknown)")
	t.put("hostname", g.Hostname)
	t.put("instance-action", "none")
	t.put("instance-id", g.InstanceID)
	t.put("local-hostname", g.Hostname)
	t.put("reservation-id", resource("r", id.UUID))
	t.put("security-groups", "default")
	if nics := g.nics(); len(nics) > 0 {
		t.put("mac", nics[0].MAC)
		if addresses := nics[0].addresses(); len(addresses) > 0 {
			t.put("local-ipv4", addresses[0].Addr().String())
		}
	}
	for name, device := range devices(g.Machine.Disks) {
		t.put("block-device-mapping/"+name, device)
	}
}

// blobs are the leaves, the keys and the user-data as the server's answers.
func (g Guest) blobs(t leaves) []seed.Blob {
	out := t.blobs()
	if len(g.PublicKeys) > 0 {
		var list []string
		for i, key := range g.PublicKeys {
			n := strconv.Itoa(i)
			list = append(list, n+"=key-"+n)
			out = append(out, text("meta-data/public-keys/"+n+"/openssh-key", strings.TrimSpace(key)))
		}
		out = append(out, text("meta-data/public-keys/", strings.Join(list, "\n")))
	}
	slices.SortFunc(out, func(a, b seed.Blob) int { return cmp.Compare(a.Path, b.Path) })
	if !g.UserData.IsZero() {
		out = append(out, seed.Blob{Path: "user-data", ContentType: "application/octet-stream", Content: g.UserData, Sealable: true})
	}
	return out
}

func text(path, content string) seed.Blob {
	return seed.Blob{Path: path, ContentType: "text/plain", Content: secret.New(content)}
}

// placement returns region and zone. A zone of EC2 is the name of its region and a letter, and clients cut the letter off.
func placement(id machine.Identity) (region, zone string) {
	region, zone = id.Region, id.AvailabilityZone
	if region == "" && len(zone) > 1 {
		region = zone
		if last := zone[len(zone)-1]; last >= 'a' && last <= 'z' && zone[len(zone)-2] >= '0' && zone[len(zone)-2] <= '9' {
			region = zone[:len(zone)-1]
		}
	}
	region = cmp.Or(region, defaultRegion)
	return region, cmp.Or(zone, region+"a")
}

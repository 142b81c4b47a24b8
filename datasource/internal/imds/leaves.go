package imds

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// leaves are the values below meta-data by their paths. A path that ends in a slash is the listing of a directory that has
// nothing in it.
type leaves map[string]string

// put sets a leaf, unless the value is empty.
func (t leaves) put(path, value string) {
	if value != "" {
		t[path] = value
	}
}

// replace sets a leaf in the place of whatever has stood there: a directory of that name, or a leaf that is now one.
func (t leaves) replace(path, value string) {
	t.remove(path)
	for i, c := range path {
		if c == '/' {
			delete(t, path[:i])
			delete(t, path[:i+1])
		}
	}
	t[path] = value
}

// remove takes away a leaf or a directory.
func (t leaves) remove(path string) {
	maps.DeleteFunc(t, func(have, _ string) bool { return have == path || strings.HasPrefix(have, path+"/") })
}

func (t leaves) blobs() []seed.Blob {
	var out []seed.Blob
	for _, path := range slices.Sorted(maps.Keys(t)) {
		out = append(out, text("meta-data/"+path, t[path]))
	}
	return out
}

// digest is a number that stands for a text in nothing but its identity.
func digest(what, of string) [sha256.Size]byte {
	return sha256.Sum256([]byte("ec2\x00" + what + "\x00" + of))
}

// resource makes an identifier in the long form of EC2's: a prefix and 17 hexadecimal digits.
func resource(prefix, of string) string {
	sum := digest(prefix, of)
	return prefix + "-" + hex.EncodeToString(sum[:])[:17]
}

// InstanceID is the instance id of a machine that has none of its own. Another revision is another instance.
func InstanceID(id machine.Identity) string {
	return resource("i", fmt.Sprintf("%s %d", strings.ToLower(id.UUID), id.Revision))
}

// account is the number of the account, twelve digits, that owns all machines of a name space.
func account(namespace string) string {
	sum := digest("account", namespace)
	n := new(big.Int).SetBytes(sum[:])
	return fmt.Sprintf("%012d", n.Mod(n, big.NewInt(1e12)))
}

// image says what the root disk is made of, without whatever a URL may have in it to log in with.
func image(m machine.Machine) string {
	for _, d := range m.Disks {
		if d.Source.Image == "" {
			continue
		}
		scheme, rest, ok := strings.Cut(d.Source.Image, "://")
		if !ok {
			return d.Source.Image
		}
		host, path, _ := strings.Cut(rest, "/")
		return scheme + "://" + host[strings.LastIndex(host, "@")+1:] + "/" + path
	}
	return ""
}

// devices maps EC2's names of disks to those that Linux gives: the root disk is ami and root, the others are ebs1 and so
// on. It is empty where the order of disks in the guest is not known: behind several buses, or on one that is probed in
// any order.
func devices(disks []machine.Disk) map[string]string {
	disks = slices.DeleteFunc(slices.Clone(disks), func(d machine.Disk) bool { return d.Device != "" && d.Device != "disk" })
	if len(disks) == 0 || len(disks) > 26 || slices.ContainsFunc(disks, func(d machine.Disk) bool { return d.Bus != disks[0].Bus }) {
		return nil
	}
	prefix, ok := map[string]string{"virtio": "/dev/vd", "scsi": "/dev/sd", "sata": "/dev/sd"}[disks[0].Bus]
	if !ok {
		return nil
	}
	root := max(0, slices.IndexFunc(disks, func(d machine.Disk) bool { return d.Root }))
	out := map[string]string{}
	for i := range disks {
		device := prefix + string(rune('a'+i))
		switch {
		case i == root:
			out["ami"], out["root"] = device, device
		case i < root:
			out[fmt.Sprintf("ebs%d", i+1)] = device
		default:
			out[fmt.Sprintf("ebs%d", i)] = device
		}
	}
	return out
}

// architectures are EC2's names of those of Go.
var architectures = map[string]string{"amd64": "x86_64", "386": "i386"}

// document is the instance identity document. It says what the leaves say. Nobody signs it, so a reader that wants to see
// a signature finds none.
func (g Guest) document(t leaves) secret.Text {
	arch := g.Machine.Hardware.Arch
	if name, ok := architectures[arch]; ok {
		arch = name
	}
	out, err := json.MarshalIndent(struct {
		AccountID               string  `json:"accountId"`
		Architecture            string  `json:"architecture,omitempty"`
		AvailabilityZone        string  `json:"availabilityZone,omitempty"`
		BillingProducts         *string `json:"billingProducts"`
		DevpayProductCodes      *string `json:"devpayProductCodes"`
		ImageID                 string  `json:"imageId,omitempty"`
		InstanceID              string  `json:"instanceId,omitempty"`
		InstanceType            string  `json:"instanceType,omitempty"`
		KernelID                *string `json:"kernelId"`
		MarketplaceProductCodes *string `json:"marketplaceProductCodes"`
		PendingTime             string  `json:"pendingTime"`
		PrivateIP               string  `json:"privateIp,omitempty"`
		RamdiskID               *string `json:"ramdiskId"`
		Region                  string  `json:"region,omitempty"`
		Version                 string  `json:"version"`
	}{
		AccountID: account(g.Machine.Namespace), Architecture: arch, AvailabilityZone: t["placement/availability-zone"],
		ImageID: t["ami-id"], InstanceID: t["instance-id"], InstanceType: t["instance-type"], PrivateIP: t["local-ipv4"],
		Region: t["placement/region"], Version: "2017-09-30",
		// When the instance was launched is not the machine's to know: the same machine has the same document.
		PendingTime: "1970-01-01T00:00:00Z",
	}, "", "  ")
	if err != nil { // strings always have a form
		return secret.Text{}
	}
	return secret.FromBytes(out)
}

package imds

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

func placed(t testing.TB, m machine.Machine) machine.Machine {
	t.Helper()
	m.Name = "vm"
	m, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l)
	}
	return m
}

// full returns what a machine's tree has below its roots, and what was said.
func full(t testing.TB, m machine.Machine) (map[string]string, diag.List) {
	t.Helper()
	m = placed(t, m)
	tree, l := Full(Guest{Machine: m, InstanceID: InstanceID(m.Identity), Hostname: m.Identity.FQDN(), PublicKeys: m.SSH.AuthorizedKeys})
	return contents(tree), l
}

func contents(tree seed.Tree) map[string]string {
	out := map[string]string{}
	for _, b := range tree.Blobs {
		out[b.Path] = b.Content.Reveal()
	}
	return out
}

// TestLeaves holds what a machine with one NIC and no words of its own is told.
func TestLeaves(t *testing.T) {
	mac := "52:54:00:12:34:56"
	got, l := full(t, machine.Machine{Network: machine.Network{NICs: []machine.NIC{{MAC: mac}}}})
	if len(l) > 0 {
		t.Error(l)
	}
	dir := "meta-data/network/interfaces/macs/" + mac + "/"
	want := map[string]string{
		"dynamic/instance-identity/document": `(?s)^\{.*\}$`,
		"meta-data/ami-id":                   `^ami-[0-9a-f]{17}$`, "meta-data/ami-launch-index": `^0$`, "meta-data/ami-manifest-path": `^\(unknown\)$`,
		"meta-data/instance-action": `^none$`, "meta-data/instance-id": `^i-[0-9a-f]{17}$`, "meta-data/instance-life-cycle": `^on-demand$`,
		"meta-data/instance-type": `^vmseed\.custom$`, "meta-data/mac": "^" + mac + "$", "meta-data/placement/availability-zone": `^local-1a$`,
		"meta-data/placement/region": `^local-1$`, "meta-data/profile": `^default-hvm$`, "meta-data/reservation-id": `^r-[0-9a-f]{17}$`,
		"meta-data/security-groups": `^default$`, "meta-data/services/domain": `^amazonaws\.com$`, "meta-data/services/partition": `^aws$`,
		dir + "device-number": `^0$`, dir + "interface-id": `^eni-[0-9a-f]{17}$`, dir + "mac": "^" + mac + "$", dir + "owner-id": `^[0-9]{12}$`,
		dir + "security-group-ids": `^sg-[0-9a-f]{17}$`, dir + "security-groups": `^default$`, dir + "subnet-id": `^subnet-[0-9a-f]{17}$`,
		dir + "vpc-id": `^vpc-[0-9a-f]{17}$`,
	}
	if have, want := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(have, want) {
		t.Errorf("leaves\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	for path, form := range want {
		if !regexp.MustCompile(form).MatchString(got[path]) {
			t.Errorf("%s is %q, want %s", path, got[path], form)
		}
	}
}

// TestDocument holds the identity document to the leaves that say the same.
func TestDocument(t *testing.T) {
	got, _ := full(t, machine.Machine{Namespace: "team", Identity: machine.Identity{AvailabilityZone: "eu-test-7b", InstanceType: "m.large"},
		Hardware: machine.Hardware{Arch: "amd64"},
		Network:  machine.Network{NICs: []machine.NIC{{Addrs: []netip.Prefix{netip.MustParsePrefix("2001:db8::1/64"), netip.MustParsePrefix("192.0.2.7/24")}}}},
		MetaData: []machine.Layer{{Data: secret.New("placement: {availability-zone: eu-test-7c}\nami-id: ami-own\n")}}})
	var document map[string]any
	if err := json.Unmarshal([]byte(got["dynamic/instance-identity/document"]), &document); err != nil {
		t.Fatal(err)
	}
	for member, path := range map[string]string{"instanceId": "instance-id", "instanceType": "instance-type", "imageId": "ami-id",
		"availabilityZone": "placement/availability-zone", "region": "placement/region", "privateIp": "local-ipv4"} {
		if document[member] != got["meta-data/"+path] || document[member] == "" {
			t.Errorf("%s is %v, but %s is %q", member, document[member], path, got["meta-data/"+path])
		}
	}
	for member, want := range map[string]string{"availabilityZone": "eu-test-7c", "imageId": "ami-own", "region": "eu-test-7", "privateIp": "192.0.2.7",
		"architecture": "x86_64", "pendingTime": "1970-01-01T00:00:00Z", "accountId": account("team")} {
		if document[member] != want {
			t.Errorf("%s is %v, want %s", member, document[member], want)
		}
	}
}

func TestPlacement(t *testing.T) {
	for _, tt := range [][4]string{
		{"", "", "local-1", "local-1a"}, {"eu-1", "", "eu-1", "eu-1a"}, {"", "eu-1c", "eu-1", "eu-1c"},
		{"", "nova", "nova", "nova"}, {"", "a", "local-1", "a"}, {"r", "z", "r", "z"},
	} {
		region, zone := placement(machine.Identity{Region: tt[0], AvailabilityZone: tt[1]})
		if region != tt[2] || zone != tt[3] {
			t.Errorf("%q, %q: got %q, %q", tt[0], tt[1], region, zone)
		}
	}
}

// TestInstanceID changes with what another instance is, and with nothing else.
func TestInstanceID(t *testing.T) {
	id := machine.Identity{UUID: "3C2A9C1E-5F0B-4D7E-9A51-0F6E2B7D8C41", Hostname: "a"}
	lower := machine.Identity{UUID: strings.ToLower(id.UUID)}
	if InstanceID(id) != InstanceID(lower) {
		t.Error("another spelling of the UUID, or a host name, is another instance")
	}
	again, other := id, id
	again.Revision, other.UUID = 1, "4"+id.UUID[1:]
	if InstanceID(again) == InstanceID(id) || InstanceID(other) == InstanceID(id) {
		t.Error("another revision, or UUID, is the same instance")
	}
}

func TestImage(t *testing.T) {
	of := func(image string) machine.Machine {
		return machine.Machine{Disks: []machine.Disk{{}, {Source: machine.DiskSource{Image: image}}}}
	}
	for in, want := range map[string]string{"": "", "debian-12": "debian-12", "https://user:canary@host/path@1": "https://host/path@1",
		"docker://registry/name@sha256:00": "docker://registry/name@sha256:00"} {
		if got := image(of(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestDevices(t *testing.T) {
	for _, tt := range []struct {
		disks []machine.Disk
		want  string
	}{
		{nil, "map[]"},
		{[]machine.Disk{{Bus: "virtio"}}, "map[ami:/dev/vda root:/dev/vda]"},
		{[]machine.Disk{{Bus: "scsi"}, {Bus: "sata", Device: "cdrom"}, {Bus: "scsi", Root: true}, {Bus: "scsi"}}, "map[ami:/dev/sdb ebs1:/dev/sda ebs2:/dev/sdc root:/dev/sdb]"},
		{[]machine.Disk{{Bus: "virtio"}, {Bus: "scsi"}}, "map[]"},
		{[]machine.Disk{{Bus: "usb"}}, "map[]"},
		{make([]machine.Disk, 27), "map[]"},
	} {
		if got := fmt.Sprint(devices(tt.disks)); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.disks, got, tt.want)
		}
	}
}

// TestSmall is nova's: it has no interfaces and no zone that nobody stated.
func TestSmall(t *testing.T) {
	m := placed(t, machine.Machine{Network: machine.Network{NICs: []machine.NIC{{DHCP4: true}}}, Disks: []machine.Disk{{}}})
	tree := Small(Guest{Machine: m, InstanceID: "uuid", Hostname: "vm", PublicKeys: []string{"k"}, UserData: secret.New("u")})
	want := []string{"meta-data/ami-id", "meta-data/ami-launch-index", "meta-data/ami-manifest-path", "meta-data/block-device-mapping/ami",
		"meta-data/block-device-mapping/root", "meta-data/hostname", "meta-data/instance-action", "meta-data/instance-id", "meta-data/local-hostname",
		"meta-data/mac", "meta-data/public-keys/", "meta-data/public-keys/0/openssh-key", "meta-data/reservation-id", "meta-data/security-groups", "user-data"}
	if got := slices.Sorted(maps.Keys(contents(tree))); !slices.Equal(got, want) || tree.Tokens != seed.TokensOptional {
		t.Errorf("tokens %q, leaves\n%s", tree.Tokens, strings.Join(got, "\n"))
	}
	for _, b := range tree.Blobs {
		if b.Sealable != (b.Path == "user-data") {
			t.Errorf("%s: sealable %t", b.Path, b.Sealable)
		}
	}
}

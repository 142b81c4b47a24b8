package machine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// ExamplePlace completes a machine of two disks and a NIC.
func ExamplePlace() {
	m, _ := machine.Place(machine.Machine{
		Name:    "web",
		Disks:   []machine.Disk{{Name: "root", Root: true}, {Name: "data"}},
		Network: machine.Network{NICs: []machine.NIC{{Name: "lan"}}},
	}, machine.Facts{})
	fmt.Println(m.Identity.UUID)
	for _, d := range m.Disks {
		fmt.Println(d.Name, d.Bus, d.Serial, d.PCI)
	}
	fmt.Println(m.Network.NICs[0].MAC, m.Network.NICs[0].PCI)
	// Output:
	// 45957c0e-7096-5f55-a799-46dcf206623c
	// root virtio root 0000:00:03.0
	// data virtio data 0000:00:04.0
	// 52:09:8e:66:49:25 0000:00:05.0
}

// pick returns one of the choices, the first of which is most likely.
func pick[T any](r *rand.Rand, choices ...T) T {
	if r.IntN(2) == 0 {
		return choices[0]
	}
	return choices[r.IntN(len(choices))]
}

func randomMachine(r *rand.Rand) machine.Machine {
	m := machine.Machine{
		Name: pick(r, "a", "b", "web"), Namespace: pick(r, "", "default", "shop"),
		Hardware: machine.Hardware{DiskBus: pick(r, "", "scsi", "sata")},
	}
	for range r.IntN(8) {
		m.Disks = append(m.Disks, machine.Disk{
			Name: pick(r, "", "a", "b", "disk0", strings.Repeat("long", 8)), Bus: pick(r, "", "virtio", "scsi", "usb"),
			Serial: pick(r, "", "s", strings.Repeat("9", 30)), Unit: pick(r, 0, 1, 5),
			PCI: pick(r, "", fmt.Sprintf("0000:00:%02x.%d", 3+r.IntN(4), r.IntN(2)), "00:04.0", "0000:01:03.0"),
		})
	}
	for range r.IntN(6) {
		m.Network.NICs = append(m.Network.NICs, machine.NIC{
			Name: pick(r, "", "nic0", "nic1", "lan"), Kind: pick(r, "", "physical", "bridge", "bond"),
			MAC: pick(r, "", "52:54:00:00:00:01", "52-54-00-00-00-02", "52:54:00:00:00:0A"),
			PCI: pick(r, "", fmt.Sprintf("0000:00:%02X.0", 3+r.IntN(12))),
		})
	}
	for range r.IntN(3) {
		m.Shares = append(m.Shares, machine.Share{Name: pick(r, "", "share0", "häuser"), Tag: pick(r, "", "t")})
		m.Media = append(m.Media, machine.Media{Name: pick(r, "", "media1", "a"), Serial: pick(r, "", "s")})
	}
	return m
}

// FuzzPlace places random machines. Placing changes nothing that was stated, nothing when it is done again, nothing of
// its argument; and whatever the guest tells apart by is unique, or there is an error.
func FuzzPlace(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		m := randomMachine(r)
		before := machinetest.Dump(m)
		p, l := machine.Place(m, machine.Facts{})
		if machinetest.Dump(m) != before {
			t.Fatal("the argument changed")
		}
		again, l2 := machine.Place(p, machine.Facts{})
		if d := machinetest.Diff(p, again); d != "" || fmt.Sprint(l) != fmt.Sprint(l2) {
			t.Errorf("placing again gives %s%v", d, l2)
		}
		for i, d := range m.Disks {
			if q := p.Disks[i]; d.Name != "" && d.Name != q.Name || d.PCI != "" && d.PCI != q.PCI || d.Serial != "" && d.Serial != q.Serial || d.Unit != 0 && d.Unit != q.Unit {
				t.Errorf("disk %d was changed from %+v to %+v", i, d, q)
			}
		}
		if !l.HasErrors() {
			checkPlaced(t, m, p)
		}
	})
}

func checkPlaced(t *testing.T, m, p machine.Machine) {
	t.Helper()
	seen := map[string]bool{}
	unique := func(what, value string) {
		if value == "" || seen[what+value] {
			t.Errorf("%s %q is missing or used twice", what, value)
		}
		seen[what+value] = true
	}
	for i, d := range p.Disks {
		unique("serial", d.Serial)
		if d.Bus == "scsi" && m.Disks[i].Unit == 0 {
			unique("unit", fmt.Sprint(d.PCI, "/", d.Unit))
		}
		if d.Bus == "virtio" && m.Disks[i].PCI == "" {
			unique("slot", d.PCI)
		}
	}
	for i, n := range p.Network.NICs {
		if !n.Physical() {
			continue
		}
		unique("MAC", n.MAC)
		if n.MAC != strings.ToLower(n.MAC) || strings.Contains(n.MAC, "-") {
			t.Errorf("MAC %s is not in the usual spelling", n.MAC)
		}
		if m.Network.NICs[i].PCI == "" {
			unique("slot", n.PCI)
		}
	}
	for _, d := range p.Disks {
		if d.Bus == "scsi" && seen["slot"+d.PCI] {
			t.Errorf("the slot %s of a controller was given to another device", d.PCI)
		}
	}
	for _, x := range p.Media {
		unique("serial", x.Serial)
	}
}

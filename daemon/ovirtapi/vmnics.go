package ovirtapi

import (
	"net"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/format/element"
)

// withNICs completes the NICs of a new VM: each gets an id, a name and a MAC of its own.
func (a *API) withNICs(id string, doc element.Element) (element.Element, error) {
	nics := element.List("nics")
	for _, nic := range doc.Child("nics").Children {
		done, err := a.newNIC(id, nics, nic)
		if err != nil {
			return doc, err
		}
		nics = nics.Append(done)
	}
	return doc.With(nics), nil
}

// newNIC is a NIC of a VM as the document keeps it.
func (a *API) newNIC(vmID string, others, nic element.Element) (element.Element, error) {
	name := strings.TrimSpace(nic.Child("name").Text)
	if name == "" {
		return nic, incomplete("Nic", "add", "name")
	}
	if bad := a.checkNIC(nic, others, ""); bad != nil {
		return nic, bad
	}
	id := own("nic", vmID+"/"+newID())
	mac := strings.ToLower(strings.TrimSpace(nic.Get("mac/address").Text))
	if mac == "" {
		mac = a.mac(vmID, id)
	}
	kept := nic.Without("id", "href", "link", "actions", "vm", "template", "network", "vnic_profile", "synced", "statistics", "reported_devices")
	// What is so by default needs no word in the definition.
	for name, value := range map[string]string{"interface": "virtio", "linked": "true", "plugged": "true", "comment": "", "description": ""} {
		if strings.EqualFold(strings.TrimSpace(kept.Child(name).Text), value) {
			kept = kept.Without(name)
		}
	}
	return set(element.New("nic", kept.Children...), element.Text("name", name), element.New("mac", element.Text("address", mac))).WithAttr("id", id), nil
}

// checkNIC looks at what a request says about the NIC with an id, or about a new one.
func (a *API) checkNIC(nic, others element.Element, id string) error {
	name := strings.TrimSpace(nic.Child("name").Text)
	if name != "" {
		if bad := checkName("Nic", name, false); bad != nil {
			return bad
		}
	}
	mac := strings.ToLower(strings.TrimSpace(nic.Get("mac/address").Text))
	if mac != "" {
		if hw, err := net.ParseMAC(mac); err != nil || len(hw) != 6 || hw[0]&1 == 1 || len(mac) != 17 || strings.Contains(mac, "-") {
			return badValue("mac.address: " + mac + " is not the MAC of a NIC; write six bytes with colons, the first one even")
		}
	}
	for _, o := range others.Children {
		if o.Attr("id") != id && name != "" && o.Child("name").Text == name {
			return failed("Cannot add or update Network Interface. The name " + name + " is in use in this VM.")
		}
		if o.Attr("id") == id && strings.EqualFold(o.Get("mac/address").Text, mac) {
			mac = "" // unchanged
		}
	}
	if mac != "" && slices.Contains(a.macs(), mac) {
		return failed("Cannot add or update Network Interface. MAC address " + mac + " is in use.")
	}
	return a.checkNetwork(nic)
}

// checkNetwork refuses networks and profiles that are not there; naming none means the one there is.
func (a *API) checkNetwork(nic element.Element) error {
	for _, named := range []struct{ member, kind, id string }{{"vnic_profile", "VnicProfile", profileID()}, {"network", "Network", networkID()}} {
		id, name := reference(nic.Child(named.member))
		switch {
		case id != "" && id != named.id:
			return noEntity(named.kind, "id", id)
		case id == "" && name != "" && name != networkName:
			return noEntity(named.kind, "name", name)
		}
	}
	return nil
}

// nicView is a NIC as clients see it; owner is "vm" or "template".
func nicView(nic element.Element, owner, ownerID string) element.Element {
	path := []string{owner + "s", ownerID}
	id := nic.Attr("id")
	e := object("nic", id, append(path[:2:2], "nics", id)...).Append(nic.Without("id", "href", "link", "actions", "vnic_profile", "network").Children...)
	e = withDefaults(e, element.Text("comment", ""), element.Text("description", ""), element.Text("interface", "virtio"), element.Bool("linked", true),
		element.Bool("plugged", true), element.Bool("synced", true))
	return set(e, object("vnic_profile", profileID(), "vnicprofiles", profileID()), object("network", networkID(), "networks", networkID()),
		object(owner, ownerID, path...)).Append(links(append(path[:2:2], "nics", id), "reporteddevices", "statistics", "networkfilterparameters")...)
}

func (a *API) nics(q *request) ([]element.Element, error) {
	v, err := a.vm(q.id(0))
	if err != nil {
		return nil, err
	}
	list := []element.Element{}
	for _, nic := range v.doc.Child("nics").Children {
		list = append(list, nicView(nic, "vm", v.ID))
	}
	return list, nil
}

// changeNICs changes the NICs of a VM that does not run: nothing is plugged into a guest that does.
func (a *API) changeNICs(q *request, change func(nics element.Element) (element.Element, error)) error {
	v, err := a.vm(q.id(0))
	if err != nil {
		return err
	}
	if v.Status.Running() {
		return failed("Cannot change Network Interfaces. VM is running; vmseed changes them when it is down.")
	}
	_, err = a.d.Update(q.ctx, v.ID, func(m *daemon.Machine) error {
		return a.redefine(m, func(doc element.Element) (element.Element, error) {
			nics := doc.Child("nics")
			if !nics.Exists() {
				nics = element.New("nics")
			}
			nics, err := change(nics)
			return doc.With(nics), err
		})
	})
	return err
}

func (a *API) addNIC(q *request) (reply, error) {
	var added element.Element
	err := a.changeNICs(q, func(nics element.Element) (_ element.Element, err error) {
		if added, err = a.newNIC(q.id(0), nics, q.body); err != nil {
			return nics, err
		}
		return nics.Append(added), nil
	})
	if err != nil {
		return reply{}, a.placed(q, err)
	}
	return created(nicView(added, "vm", q.id(0)), true), nil
}

// nicIndex finds the NIC in the path among those of a VM.
func nicIndex(q *request, nics element.Element) (int, error) {
	i := slices.IndexFunc(nics.Children, func(nic element.Element) bool { return nic.Attr("id") == q.id(1) })
	if i < 0 {
		return 0, notFound()
	}
	return i, nil
}

func (a *API) updateNIC(q *request) (reply, error) {
	var changed element.Element
	err := a.changeNICs(q, func(nics element.Element) (element.Element, error) {
		i, err := nicIndex(q, nics)
		if err != nil {
			return nics, err
		}
		if err := a.checkNIC(q.body, nics, q.id(1)); err != nil {
			return nics, err
		}
		changed = nics.Children[i]
		for _, c := range q.body.Children {
			switch c.Name {
			case "name", "comment", "description", "interface", "linked", "plugged":
				if strings.TrimSpace(c.Text) != "" || c.Name == "comment" || c.Name == "description" {
					changed = changed.With(element.Text(c.Name, strings.TrimSpace(c.Text)))
				}
			case "mac":
				if mac := strings.ToLower(strings.TrimSpace(c.Child("address").Text)); mac != "" {
					changed = changed.With(element.New("mac", element.Text("address", mac)))
				}
			}
		}
		nics.Children = slices.Clone(nics.Children)
		nics.Children[i] = changed
		return nics, nil
	})
	if err != nil {
		return reply{}, a.placed(q, err)
	}
	return ok(nicView(changed, "vm", q.id(0))), nil
}

func (a *API) removeNIC(q *request) (reply, error) {
	err := a.changeNICs(q, func(nics element.Element) (element.Element, error) {
		i, err := nicIndex(q, nics)
		if err != nil {
			return nics, err
		}
		nics.Children = slices.Delete(slices.Clone(nics.Children), i, i+1)
		return nics, nil
	})
	if err != nil {
		return reply{}, a.placed(q, err)
	}
	return removed(), nil
}

package podnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/containernetworking/cni/libcni"
	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/vmseed/vmseed/hypervisor"
)

// interfacePrefix begins the names of the pod's interfaces, which guests of Virtlet find theirs under.
const interfacePrefix = "virtlet-eth"

// plan decides about everything before anything is made.
func (m *Manager) plan(pod Pod) (*record, error) {
	first, err := cluster(m.cfg.ConfDir)
	if err != nil {
		return nil, err
	}
	rec := &record{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Phase: adding, Netns: m.netns(pod.UID)}
	wishes := map[string]any{}
	if ports := pod.portMappings(); ports != nil {
		wishes["portMappings"] = ports
	}
	limit, err := pod.bandwidth()
	if err != nil {
		return nil, err
	}
	if limit != nil {
		wishes["bandwidth"] = limit
	}
	for _, name := range []string{"portMappings", "bandwidth"} {
		if wishes[name] != nil && !declares(first.list, name) {
			rec.Attachment.Diagnostics.Add(unheard(name, first.list.Name))
		}
	}
	if dns := m.cfg.resolution(pod); !dns.IsEmpty() {
		wishes["dns"] = map[string]any{"servers": dns.Nameservers, "searches": dns.Search, "options": dns.Options}
	}
	if err := rec.join(first.list, selection{}, wishes); err != nil {
		return nil, err
	}
	if delegates(first.list) {
		return rec, nil // its plugin reads the annotation
	}
	further, err := selections(pod.Annotations[NetworksAnnotation])
	if err != nil {
		return nil, err
	}
	for _, want := range further {
		d, err := find(m.cfg.ConfDir, want, pod.Namespace)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %w", NetworksAnnotation, err)
		}
		if err := rec.further(d, want); err != nil {
			return nil, fmt.Errorf("annotation %s, network %q: %w", NetworksAnnotation, want.label(), err)
		}
	}
	return rec, nil
}

// further adds a network that an annotation asks for. What its plugins do not take is an error, because the pod would be
// another than was asked for.
func (r *record) further(d definition, want selection) error {
	wishes := want.capabilities()
	for name := range wishes {
		if !declares(d.list, name) {
			return fmt.Errorf("its configuration %s declares no plugin with the capability %s, which the annotation asks for", d.file, name)
		}
	}
	return r.join(d.list, want, wishes)
}

// join adds a network to the record.
func (r *record) join(list *libcni.NetworkConfigList, want selection, wishes map[string]any) error {
	name := want.Interface
	if name == "" {
		name = fmt.Sprintf("%s%d", interfacePrefix, len(r.Networks))
	}
	for _, n := range r.Networks {
		if n.Interface == name {
			return fmt.Errorf("two networks have the interface %s", name)
		}
	}
	if len(want.Args) > 0 {
		for i, p := range list.Plugins {
			with, err := libcni.InjectConf(p, map[string]any{"args": map[string]any{"cni": want.Args}})
			if err != nil {
				return err
			}
			list.Plugins[i] = with
		}
	}
	conf, err := inline(list)
	if err != nil {
		return err
	}
	args := [][2]string{{"IgnoreUnknown", "1"}, {"K8S_POD_NAMESPACE", r.Namespace}, {"K8S_POD_NAME", r.Name},
		{"K8S_POD_INFRA_CONTAINER_ID", r.UID}, {"K8S_POD_UID", r.UID}}
	label := want.label()
	r.Networks = append(r.Networks, network{Label: label, Interface: name, Conf: conf, Args: args, Capabilities: wishes, DefaultRoute: want.DefaultRoute})
	return nil
}

// runtime is how the plugins of a network are called. Without the namespace they still give back what is outside it.
func (r *record) runtime(n network) *libcni.RuntimeConf {
	netns := r.Netns
	if !isNamespace(netns) {
		netns = ""
	}
	return &libcni.RuntimeConf{ContainerID: r.UID, NetNS: netns, IfName: n.Interface, Args: n.Args, CapabilityArgs: n.Capabilities}
}

// build makes everything that the record plans. Each step is recorded before the next, so that undo knows what there may
// be.
func (m *Manager) build(ctx context.Context, rec *record, pod Pod) error {
	ctx, cancel := context.WithTimeoutCause(ctx, addLimit, fmt.Errorf("its plugins take longer than %s", addLimit))
	defer cancel()
	if err := m.records.write(rec); err != nil {
		return err
	}
	if _, err := os.Lstat(rec.Netns); !errors.Is(err, fs.ErrNotExist) {
		if err := removeNamespace(rec.Netns); err != nil {
			return err
		}
	}
	m.mounting.Lock()
	err := shareMounts(m.cfg.NetnsDir)
	m.mounting.Unlock()
	if err == nil {
		err = createNamespace(rec.Netns)
	}
	if err != nil {
		return fmt.Errorf("make the pod's network namespace: %w", err)
	}
	var results []*types100.Result
	for i := range rec.Networks {
		result, err := m.add(ctx, rec, i)
		if err != nil {
			return err
		}
		results = append(results, result)
	}
	for i, n := range rec.Networks {
		if err := takeDefault(results, i, n.DefaultRoute); err != nil {
			return fmt.Errorf("network %q: %w", n.Label, err)
		}
	}
	m.name(pod, results)
	rec.Phase = plugging
	if err := m.records.write(rec); err != nil {
		return err
	}
	err = within(rec.Netns, func() error {
		for _, w := range rec.Wires {
			if err := plug(w); err != nil {
				return fmt.Errorf("connect interface %s: %w", w.Interface, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := rec.attach(results); err != nil {
		return err
	}
	rec.Phase = ready
	return m.records.write(rec)
}

// name gives the results the pod's name resolution. As for containers, that of the pod's DNS policy replaces what plugins
// say, and further networks have none.
func (m *Manager) name(pod Pod, results []*types100.Result) {
	dns := m.cfg.resolution(pod)
	if dns.IsEmpty() {
		return
	}
	if len(dns.Nameservers) == 0 {
		dns.Nameservers = results[0].DNS.Nameservers
	}
	for _, r := range results {
		r.DNS.Nameservers, r.DNS.Domain, r.DNS.Search, r.DNS.Options = nil, "", nil, nil
	}
	results[0].DNS = dns
}

// add has the plugins of a network connect the pod, and notes the interfaces that they made.
func (m *Manager) add(ctx context.Context, rec *record, at int) (*types100.Result, error) {
	n := rec.Networks[at]
	list, err := libcni.NetworkConfFromBytes(n.Conf)
	if err != nil {
		return nil, err
	}
	var before []string
	err = within(rec.Netns, func() error {
		have, err := inspect(nil)
		for _, l := range have {
			before = append(before, l.Name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	added, err := m.cni.AddNetworkList(ctx, list, rec.runtime(n))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = fmt.Errorf("%w: %w", cause, err) // the plugin's own error is that it was killed
	}
	if err != nil {
		return nil, fmt.Errorf("network %q: %w", list.Name, err)
	}
	reply, err := types100.GetResult(added)
	if err != nil {
		return nil, fmt.Errorf("network %q: its plugin's result: %w", list.Name, err)
	}
	var links []link
	err = within(rec.Netns, func() error {
		made, err := inspect(before)
		if err != nil {
			return err
		}
		for _, l := range made {
			if l.Kind == "vrf" || l.Kind == "bridge" || l.Kind == "dummy" {
				continue // made for the others
			}
			if err := pluggable(l); err != nil {
				return fmt.Errorf("interface %s: %w", l.Name, err)
			}
			links = append(links, l)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("network %q: %w", list.Name, err)
	}
	result, links := complete(reply, rec.Netns, links)
	switch {
	case len(links) == 0:
		return nil, fmt.Errorf("network %q: its plugins added no interface to the pod", list.Name)
	case at == 0 && len(result.IPs) == 0:
		return nil, fmt.Errorf("network %q: %w", list.Name, errNoAddress)
	}
	for _, l := range links {
		k := len(rec.Wires)
		rec.Wires = append(rec.Wires, wire{Network: at, Interface: l.Name, MAC: l.MAC, MTU: l.MTU, Addrs: l.Addrs, Neighbours: l.Neighbours,
			Bridge: fmt.Sprintf("%s%d", bridgePrefix, k), Tap: fmt.Sprintf("%s%d", tapPrefix, k)})
	}
	return result, nil
}

// attach fills in the attachment.
func (r *record) attach(results []*types100.Result) error {
	a := &r.Attachment
	a.Netns = r.Netns
	for _, w := range r.Wires {
		a.Taps = append(a.Taps, hypervisor.Tap{NIC: w.Interface, Device: w.Tap, Namespace: r.Netns})
		a.Networks = append(a.Networks, r.Networks[w.Network].Label)
		if w.Network == 0 {
			for _, p := range w.Addrs {
				a.IPs = append(a.IPs, p.Addr())
			}
		}
	}
	text, err := json.Marshal(results)
	a.Results = text
	return err
}

// undo gives back everything that the record may stand for. Where that fails the record stays, for the next try.
func (m *Manager) undo(ctx context.Context, rec *record) error {
	rec.Phase = removing
	if err := m.records.write(rec); err != nil {
		return err
	}
	if isNamespace(rec.Netns) {
		err := within(rec.Netns, func() error {
			var errs []error
			for _, w := range rec.Wires {
				errs = append(errs, unplug(w))
			}
			return errors.Join(errs...)
		})
		if err != nil {
			return fmt.Errorf("give the pod's interfaces back: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, delLimit)
	defer cancel()
	var errs []error
	for i := len(rec.Networks) - 1; i >= 0; i-- {
		n := rec.Networks[i]
		list, err := libcni.NetworkConfFromBytes(n.Conf)
		if err != nil {
			return err
		}
		if err := m.cni.DelNetworkList(ctx, list, rec.runtime(n)); err != nil {
			errs = append(errs, fmt.Errorf("remove the pod from network %q: %w", list.Name, err))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if err := removeNamespace(rec.Netns); err != nil {
		return err
	}
	return m.records.remove(rec.UID)
}

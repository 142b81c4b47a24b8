//go:build conformance

package judge_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/judge"
)

// contents is everything that a renderer wrote, in the order of the files.
func contents(r judge.Rendering) string {
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		all.WriteString(r.Files[name])
	}
	return all.String()
}

// The forms that every renderer understands, and those that some do not.
func TestNetRender(t *testing.T) {
	const (
		static = "network:\n  version: 1\n  config:\n  - {type: physical, name: eth0, subnets: [{type: static, address: 10.0.0.2/24, gateway: 10.0.0.1, dns_nameservers: [10.0.0.53]}]}\n"
		named  = "version: 2\nethernets: {eth0: {addresses: [10.0.0.2/24], routes: [{to: default, via: 10.0.0.1}]}}\n"
		zero   = "version: 2\nethernets: {eth0: {addresses: ['fd00::2/64'], routes: [{to: '::/0', via: 'fd00::1'}]}}\n"
		odd    = "version: 1\nconfig: [{type: physical, name: eth0, subnets: [{address: 10.0.0.2/24}]}]\n"
	)
	each(t, func(t *testing.T, r *judge.Release) {
		for _, renderer := range judge.Renderers() {
			doc := func(text string) judge.NetDoc {
				return judge.NetDoc{Doc: []byte(text), Kind: judge.NetYAML, Renderer: renderer}
			}
			got := r.NetRender(t, doc(static), doc(named), doc(zero), doc(odd), doc("version: 3\n"), doc("a: ["))

			if text := contents(got[0]); got[0].Err != "" || !strings.Contains(text, "10.0.0.2") ||
				!strings.Contains(text, "10.0.0.1\n") || !strings.Contains(text, "10.0.0.53") {
				t.Errorf("%s: version 1, static: %+v", renderer, got[0])
			}
			// netplan gets the document as it is; no other renderer of these
			// releases knows the word default.
			if failed := got[1].Err != ""; failed != (renderer != judge.Netplan) {
				t.Errorf("%s: to: default: %q", renderer, got[1].Err)
			}
			if wrong := strings.Contains(contents(got[2]), "::/64"); renderer == judge.ENI && wrong != (r.Name == "22.4") {
				t.Errorf("%s: to: ::/0: %s", renderer, contents(got[2]))
			}
			for _, bad := range got[3:] {
				if bad.Err == "" {
					t.Errorf("%s: not refused: %+v", renderer, bad)
				}
			}
		}
	})
}

func TestNetRenderOtherKinds(t *testing.T) {
	const (
		network = `{"links": [{"id": "n", "type": "phy", "ethernet_mac_address": "52:54:00:AA:00:01"}],
			"networks": [{"id": "x", "link": "n", "type": "ipv4", "ip_address": "10.0.0.2", "netmask": "255.255.255.0", "routes": []}], "services": []}`
		interfaces = "auto enp1s0\niface enp1s0 inet static\n  address 10.0.0.2/24\n"
	)
	nics := []judge.NIC{{MAC: "52:54:00:aa:00:01", Name: "enp1s0"}}
	each(t, func(t *testing.T, r *judge.Release) {
		got := r.NetRender(t,
			judge.NetDoc{Doc: []byte(network), Kind: judge.NetJSON, Renderer: judge.NetworkManager, NICs: nics},
			judge.NetDoc{Doc: []byte(interfaces), Kind: judge.NetENI, Renderer: judge.Networkd},
			judge.NetDoc{Doc: []byte(network), Kind: judge.NetJSON, Renderer: judge.ENI, NICs: []judge.NIC{{MAC: "52:54:00:aa:00:02", Name: "enp1s0"}}},
			judge.NetDoc{Doc: []byte("version: 1\nconfig: [{type: physical, name: eth0, mac_address: '52:54:00:AA:00:01'}]\n"), Kind: judge.NetYAML, Renderer: judge.ENI, NICs: nics},
		)
		for i, rendering := range got[:2] {
			if text := contents(rendering); rendering.Err != "" || rendering.MissingNICs != "" || !strings.Contains(text, "enp1s0") || !strings.Contains(text, "10.0.0.2") {
				t.Errorf("document %d: %+v", i, rendering)
			}
		}
		if got[2].Err == "" {
			t.Errorf("network_data.json for a NIC that is not there: %+v", got[2])
		}
		if got[3].MissingNICs == "" {
			t.Errorf("MAC address in upper case: %+v", got[3])
		}
	})
}

func TestNetplanGenerate(t *testing.T) {
	good := judge.NetplanGenerate(t, []byte("network: {version: 2, ethernets: {eth0: {addresses: [10.0.0.2/24]}}}\n"))
	if text := contents(good); good.Err != "" || !strings.Contains(text, "Address=10.0.0.2/24") {
		t.Errorf("%+v", good)
	}
	for _, doc := range []string{
		"network: {version: 2, ethernets: {eth0: {dhcp: true}}}\n",
		"network: {version: 2, ethernets: {eth0: {addresses: [10.0.0.2]}}}\n",
		"network: [\n",
	} {
		if bad := judge.NetplanGenerate(t, []byte(doc)); bad.Err == "" || len(bad.Files) > 0 {
			t.Errorf("%s: %+v", doc, bad)
		}
	}
}

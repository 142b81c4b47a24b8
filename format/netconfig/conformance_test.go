//go:build conformance

package netconfig

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/judge"
)

// judged is one product for one renderer.
type judged struct {
	model    model
	form     Format
	renderer judge.Renderer
}

// judgeForms are the forms with the names that the judge has for them.
var judgeForms = map[Format]judge.NetKind{V1: judge.NetYAML, V2: judge.NetYAML, OpenStack: judge.NetJSON, ENI: judge.NetENI}

// judgedModels are the models with the wanted forms and renderers, as far as the form expresses the model.
func judgedModels(forms ...Format) ([]judged, []judge.NetDoc) {
	var what []judged
	var docs []judge.NetDoc
	for _, m := range models() {
		var nics []judge.NIC
		for _, l := range m.config.Links {
			if l.Kind == Physical {
				// cloud-init renames NICs before it renders, so they have the wanted names already.
				nics = append(nics, judge.NIC{Name: orElse(l.Name, kernelName), MAC: l.MAC})
			}
		}
		for _, f := range forms {
			data, list := Encode(f, m.config)
			if list.HasErrors() {
				continue
			}
			for _, r := range judge.Renderers() {
				what = append(what, judged{m, f, r})
				docs = append(docs, judge.NetDoc{Doc: data, Kind: judgeForms[f], Renderer: r, NICs: nics})
			}
		}
	}
	return what, docs
}

// kernelName is what the kernel calls a NIC that is not renamed.
const kernelName = "ens3"

// named gives NICs without a wanted name the one they have in the guest in the end.
func named(j judged) Config {
	c := j.model.config
	c.Links = slices.Clone(c.Links)
	for i := range c.Links {
		l := &c.Links[i]
		switch {
		case l.GuestName() != "":
		case j.form == V1:
			l.Name = l.ID // as the encoder says
		default:
			l.Name = kernelName
		}
	}
	return c
}

// lossRule is a difference that cloud-init's own code makes. Each is a fact about a release, found by this test; the test
// fails when one no longer occurs.
type lossRule struct {
	release, form, renderer, model string // regular expressions that match the whole word; empty matches all
	fact                           string // regular expression
	why                            string
}

// differences lists what is missing (-) and what is too much (+), sorted.
func differences(want, have facts) []string {
	var out []string
	for _, fact := range slices.Sorted(maps.Keys(want)) {
		if !have[fact] {
			out = append(out, "- "+fact)
		}
	}
	for _, fact := range slices.Sorted(maps.Keys(have)) {
		if !want[fact] {
			out = append(out, "+ "+fact)
		}
	}
	return out
}

func (k lossRule) matches(release string, j judged, fact string) bool {
	full := func(pattern, s string) bool {
		return pattern == "" || regexp.MustCompile("^(?:"+pattern+")$").MatchString(s)
	}
	return full(k.release, release) && full(k.form, string(j.form)) && full(k.renderer, string(j.renderer)) &&
		full(k.model, j.model.name) && full(k.fact, fact)
}

// TestGuestsReadWhatWeMean writes every model in every form, has both releases render it for every kind of guest, and
// compares what stands in the guest's files with the model.
func TestGuestsReadWhatWeMean(t *testing.T) {
	what, docs := judgedModels(V1, V2, OpenStack)
	used := map[int]bool{}
	rules := lossRules()
	compared := 0
	for _, release := range judge.Releases(t) {
		for i, got := range release.NetRender(t, docs...) {
			j := what[i]
			title := fmt.Sprintf("%s %s %s %s", release.Name, j.form, j.renderer, j.model.name)
			if got.Err != "" || got.MissingNICs != "" {
				t.Errorf("%s: error %q, missing NICs %q\n%s", title, got.Err, got.MissingNICs, docs[i].Doc)
				continue
			}
			compared++
			want, have := wantedFacts(named(j), j.renderer), factsOf(t, j.renderer, got.Files)
			wrong := differences(want, have)
			wrong = slices.DeleteFunc(wrong, func(fact string) bool {
				known := false
				for n, k := range rules {
					if k.matches(release.Name, j, fact) {
						used[n], known = true, true
					}
				}
				return known
			})
			if len(wrong) > 0 {
				t.Errorf("%s:\n%s", title, strings.Join(wrong, "\n"))
			}
		}
	}
	t.Logf("%d renderings compared", compared)
	for n, k := range rules {
		if !used[n] {
			t.Errorf("this no longer happens, remove it: %+v", k)
		}
	}
}

// lossRules are what the two releases do to our products. What is behind a rule is said by a diagnostic of the encoder
// or makes no difference in the guest; the reason says which.
func lossRules() []lossRule {
	const (
		said     = "the encoder says so"
		harmless = "no difference in the guest: "
	)
	return []lossRule{
		{"22.4", "network-config-v1|network_data.json", "network-manager", "static6|dual|linklocal-router|routes", `\+ eth0 auto6`,
			"22.4 listens to router advertisements beside a fixed IPv6 address there"},
		{"", "", "networkd", "dhcp6-stateless|slaac", "- eth0 auto6", harmless + "networkd follows router advertisements by itself"},
		{"", "", "networkd", "bond|bond-backup|vlan|vlan-on-bond|bridge", `- \S+ (on|tag|mode|lacp_rate|miimon|xmit_hash_policy|downdelay|updelay|primary|fd|stp) .*`, said},
		{"", "network-config-v2", "eni|sysconfig", "dhcp6-stateless", `[-+] eth0 dhcp6 .*`, said},
		{"", "network-config-v2", "eni|sysconfig|network-manager", "slaac", "- eth0 (slaac|auto6)", said},
		{"", "network-config-v1|network_data.json", "netplan|networkd|network-manager", "dhcp-metric", "- eth0 dhcp4 metric 200", said},
		{"25.1", "", "sysconfig", "dhcp-metric", "- eth0 dhcp4 metric 200", said},
		{"", "network-config-v2", "network-manager", "dhcp-metric", "- eth0 dhcp4 metric 200", said},
		{"22.4", "", "network-manager", "routes", `[-+] eth0 route 192.168.7.9/32 .*`, said},
		{"22.4", "network-config-v2", "eni|networkd|sysconfig", "routes", `[-+] eth0 route 192.168.7.9/32 .*`, said},
		{"25.1", "", "network-manager", "global-dns", "- dns 2620:fe::fe", said},
		{"", "network-config-v1", "sysconfig", "bond", "- bond0 (lacp_rate|xmit_hash_policy) .*", said},
		{"25.1", "network_data.json", "sysconfig", "bond", "- bond0 (lacp_rate|xmit_hash_policy) .*", said},
		{"22.4", "", "network-manager", "bond", "- bond0 (lacp_rate|xmit_hash_policy|miimon|mode) .*", said},
		{"22.4", "", "network-manager", "bond", "- bond0 mtu 9000", "22.4 writes no MTU for bonds there"},
		{"25.1", "network-config-v2", "network-manager", "bond", "- bond0 (lacp_rate|xmit_hash_policy) .*", said},
		{"22.4", "network_data.json", "network-manager", "bond-backup|vlan-on-bond", "- bond0 .*", said},
		{"", "network_data.json", "netplan|networkd", "vlan|vlan-on-bond", `\+ \S+ mac 52:54:00:aa:00:00`,
			harmless + "a VLAN has the MAC of its parent anyway, and the form demands one"},
		{"", "", "sysconfig|network-manager", "bridge", "- br0 fd 4", said},
	}
}

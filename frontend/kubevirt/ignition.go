package kubevirt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// ignitionGate is the feature gate without which KubeVirt refuses Ignition configs in annotations.
const ignitionGate = "ExperimentalIgnitionSupport"

// ignition reads the Ignition config that stands in an annotation of the instance.
func (r *reader) ignition() {
	v := r.meta.At("annotations", ignitionAnnotation)
	if v.Kind() == tree.Map {
		v.Errorf(&r.list, tree.CodeWrongType, "write a bar behind the colon, so that what follows is a text", "a text should stand here, not a mapping")
		v.Consume()
		return
	}
	text := v.Str(&r.list)
	if text == "" {
		return
	}
	prefix := strings.TrimSuffix(r.prefix, "spec") + "metadata"
	if on, why := r.inventory.gates.on(ignitionGate, &r.list); !on {
		r.list.Add(diag.Diagnostic{Code: CodeGate, Severity: diag.Error, Range: v.Range(),
			Summary: fmt.Sprintf("%s feature gate is not enabled in kubevirt-config, invalid entry %s.annotations.%s", ignitionGate, prefix, ignitionAnnotation),
			Remedy:  why.remedy, Related: why.related})
	}
	if !r.butane(v, text) && !strings.Contains(text, "ignition") {
		v.Warnf(&r.list, CodeIgnition, "", "KubeVirt hands on what contains the word ignition only, so the guest would not get this there")
	}
	what := "annotation " + ignitionAnnotation
	r.m.Ignition = []machine.Layer{{Name: what, Data: secret.New(text), Origin: v.Origin(what)}}
	r.at(v.Range(), "ignition[0]")
	if r.m.DataSource == "" {
		r.m.DataSource, r.m.Guest.OS = "ignition", "coreos"
		r.at(v.Range(), "dataSource")
		r.at(v.Range(), "guest.os")
	}
}

// butane warns of Butane, which vmseed translates and a cluster hands on as it is. It reports whether the text is that.
func (r *reader) butane(v tree.Value, text string) bool {
	if !ignconfig.IsButane([]byte(text)) {
		return false
	}
	v.Warnf(&r.list, CodeIgnition, `put the Ignition JSON here: "vmseed render --format ign -o config.ign" writes it`,
		"this is Butane, which KubeVirt does not translate: the guest's Ignition would refuse it; vmseed translates it")
	return true
}

// gates are the feature gates of the KubeVirt that a definition is for.
type gates struct {
	ctx      context.Context
	resolver frontend.Resolver
	flags    []string

	// resource is the KubeVirt object of the input, absent when there is none.
	resource tree.Value
	enabled  []string
	disabled []string
}

const gateRemedy = `add it to data.feature-gates of the ConfigMap kubevirt-config, or to spec.configuration.developerConfiguration.featureGates of the KubeVirt object, and give that as a file too; or run with --feature-gates ` + ignitionGate

// reason says why a gate is off, and how to open it.
type reason struct {
	remedy  string
	related []diag.Related
}

// configuration reads a KubeVirt object, of which nothing but the feature gates concerns a guest.
func (g *gates) configuration(v tree.Value, l *diag.List) {
	if g.resource.Exists() {
		v.Errorf(l, CodeGate, "give one of them", "the input has two KubeVirt objects")
		v.Consume()
		return
	}
	g.resource = v
	remark := func(e tree.Entry) {
		l.Add(diag.Diagnostic{Code: CodeNoGuest, Severity: diag.Note, Range: e.Span(), Field: e.Value.Path(),
			Summary: fmt.Sprintf("the field %s concerns the cluster, not the guest", e.Key)})
	}
	readVersion(v.Get("apiVersion"), l)
	v.At("kind").Loose(l)
	configuration := v.At("spec", "configuration")
	developer := configuration.Get("developerConfiguration")
	for _, step := range []tree.Value{v.Get("spec"), configuration, developer} {
		step.Want(l, tree.Map)
	}
	read := func(field string) []string {
		list := developer.Get(field)
		list.Want(l, tree.List)
		var out []string
		for _, item := range list.Items() {
			name := item.Str(l)
			switch _, meant := meantGate([]string{name}); {
			case name == ignitionGate:
			case meant:
				item.Warnf(l, CodeGate, "did you mean "+ignitionGate+"?", "KubeVirt has no feature gate %s", name)
			default:
				kubedoc.Note(l, item, CodeNoGuest, "the feature gate %s changes nothing here", name)
			}
			out = append(out, name)
		}
		return out
	}
	g.enabled, g.disabled = read("featureGates"), read("disabledFeatureGates")
	for _, e := range v.Unread() {
		remark(e)
		e.Value.Consume()
	}
}

// on reports whether a gate is open: by the user's own word, else by the ConfigMap kubevirt-config, else by the KubeVirt
// object. A ConfigMap takes the place of the object altogether, as in KubeVirt 0.36, the last that read both.
func (g *gates) on(gate string, l *diag.List) (bool, reason) {
	open, why := g.open(gate, l)
	if open {
		return true, reason{}
	}
	named := slices.Concat(g.flags, g.enabled)
	if o, ok := g.configMap(); ok {
		item, _ := o.Item("feature-gates")
		named = append(named, strings.Split(item.Value.Reveal(), ",")...)
	}
	if name, ok := meantGate(named); ok {
		why.remedy = fmt.Sprintf("write %s where %q stands, or %s", gate, name, gateRemedy)
	}
	return false, why
}

// meantGate finds a name that was probably meant to be that of the gate for Ignition.
func meantGate(names []string) (string, bool) {
	for _, name := range names {
		name = strings.TrimSpace(name)
		if name == ignitionGate {
			continue
		}
		if _, ok := tree.Closest(name, []string{ignitionGate}); ok || strings.Contains(strings.ToLower(name), "ignition") {
			return name, true
		}
	}
	return "", false
}

// open is on without a guess at what was meant.
func (g *gates) open(gate string, l *diag.List) (bool, reason) {
	if slices.Contains(g.flags, gate) {
		return true, reason{}
	}
	why := reason{remedy: gateRemedy}
	if o, ok := g.configMap(); ok {
		if g.resource.Exists() {
			kubedoc.Note(l, g.resource, CodeGate, "the feature gates of %s count, not those of this object", o.Ref)
		}
		item, ok := o.Item("feature-gates")
		text := item.Value.Reveal()
		for _, name := range strings.Split(text, ",") {
			if strings.TrimSpace(name) == gate {
				return true, reason{}
			}
		}
		switch {
		case !ok:
			why.related = []diag.Related{{Range: o.Tree.Range(), Message: fmt.Sprintf("%s has no key feature-gates", o.Ref)}}
		case strings.Contains(text, gate):
			why.related = []diag.Related{{Range: item.Origin.Whole, Message: "the gate is named here, but not between commas"}}
		default:
			why.related = []diag.Related{{Range: item.Origin.Whole, Message: "the gate is not named here"}}
		}
		return false, why
	}
	if slices.Contains(g.enabled, gate) && !slices.Contains(g.disabled, gate) {
		return true, reason{}
	}
	if g.resource.Exists() {
		message := "the gate is not named in this object"
		if slices.Contains(g.disabled, gate) {
			message = "this object names the gate in disabledFeatureGates"
		}
		why.related = []diag.Related{{Range: g.resource.Range(), Message: message}}
	}
	return false, why
}

// configMap finds the ConfigMap of KubeVirt's configuration, which stands in the namespace that KubeVirt is installed in.
func (g *gates) configMap() (kubeobject.Object, bool) {
	ref := kubeobject.Ref{Kind: kubeobject.ConfigMap, Namespace: "kubevirt", Name: "kubevirt-config"}
	o, err := g.resolver.Resolve(g.ctx, ref)
	if err == nil {
		return o, true
	}
	var missing *kubeobject.MissingError
	if !errors.As(err, &missing) {
		return o, false
	}
	for _, have := range missing.Have {
		if have.Name == ref.Name {
			o, err = g.resolver.Resolve(g.ctx, have)
			return o, err == nil
		}
	}
	return o, false
}

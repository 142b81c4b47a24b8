package virtlet

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// variable is an environment variable with its place.
type variable struct {
	name  string
	value string
	place diag.Range
}

// env makes the environment in the order in which Kubernetes builds it: envFrom, whose keys are sorted, then env. A later
// variable takes the place of an earlier one of the same name.
func (r *reader) env() {
	var list []variable
	r.environment = map[string]string{}
	put := func(v variable) {
		list = slices.DeleteFunc(list, func(have variable) bool { return have.name == v.name })
		list = append(list, v)
		r.environment[v.name] = v.value
	}
	from := r.container.Get("envFrom")
	from.Want(r.list, tree.List)
	for _, item := range from.Items() {
		r.envFrom(item, put)
	}
	env := r.container.Get("env")
	env.Want(r.list, tree.List)
	for _, item := range env.Items() {
		r.envItem(item, put)
	}
	for i, v := range list {
		r.m.Environment = append(r.m.Environment, machine.Variable{Name: v.name, Value: secret.New(v.value)})
		r.at(v.place, "environment[%d]", i)
	}
}

func (r *reader) envFrom(v tree.Value, put func(variable)) {
	v.Want(r.list, tree.Map)
	v.Only(r.list, "prefix", "configMapRef", "secretRef")
	prefix := v.Get("prefix").Str(r.list)
	configMap, secretRef := v.Get("configMapRef"), v.Get("secretRef")
	ref, kind := configMap, kubeobject.ConfigMap
	switch {
	case configMap.Exists() && secretRef.Exists():
		v.Errorf(r.list, CodeEnvironment, "make two items of it", "configMapRef and secretRef stand in one item")
		v.Consume()
		return
	case secretRef.Exists():
		ref, kind = secretRef, kubeobject.Secret
	case !configMap.Exists():
		v.Errorf(r.list, CodeEnvironment, "", "configMapRef or secretRef should stand here")
		return
	}
	ref.Want(r.list, tree.Map)
	ref.Only(r.list, "name", "optional")
	optional := ref.Get("optional").Bool(r.list)
	o, ok := r.resolve(ref.Get("name"), kind, ref.Get("name").Str(r.list), optional)
	if !ok {
		return
	}
	for _, item := range o.Data {
		if name := prefix + item.Key; r.envName(v, name) {
			put(variable{name, item.Value.Reveal(), item.Origin.Whole})
		}
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// envName checks a variable's name. Kubernetes takes any printable ASCII but the equals sign.
func (r *reader) envName(v tree.Value, name string) bool {
	switch {
	case identifier.MatchString(name):
	case name == "" || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '=' }):
		v.Errorf(r.list, CodeEnvironment, "use letters, digits and underscores", "%q cannot be the name of a variable", name)
		return false
	default:
		v.Warnf(r.list, CodeEnvironment, "use letters, digits and underscores", "no shell can use a variable of the name %q", name)
	}
	return true
}

func (r *reader) envItem(v tree.Value, put func(variable)) {
	v.Want(r.list, tree.Map)
	v.Only(r.list, "name", "value", "valueFrom")
	name, value, from := v.Get("name"), v.Get("value"), v.Get("valueFrom")
	text := value.Str(r.list)
	id, ok := r.text(name)
	if !ok || !r.envName(v, id) {
		from.Consume()
		return
	}
	switch {
	case from.Exists() && text != "":
		from.Errorf(r.list, CodeEnvironment, "remove one of the two", "variable %q has a value and a source for it", id)
		from.Consume()
	case from.Exists():
		if text, ok := r.valueFrom(from); ok {
			put(variable{id, text, from.Range()})
		}
	default:
		put(variable{id, r.expand(value, text), value.Range()})
	}
}

// expand replaces references of the form $(NAME) as Kubernetes does. Unknown ones stay, and are reported at v.
func (r *reader) expand(v tree.Value, text string) string {
	out, unknown := expand(text, r.environment)
	for _, name := range unknown {
		v.Warnf(r.list, CodeReference, "write $$("+name+") if the text is meant", "$(%s) stays as it is: no variable of this name is defined before", name)
	}
	return out
}

// expand follows Kubernetes' third_party/forked/golang/expansion: a doubled dollar sign stands for one, and a reference
// without its closing parenthesis is plain text.
func expand(text string, known map[string]string) (out string, unknown []string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case strings.HasPrefix(rest, "$$"):
			b.WriteByte('$')
			i++
		case strings.HasPrefix(rest, "$("):
			end := strings.IndexByte(rest, ')')
			if end < 0 {
				b.WriteString("$(")
				i++
				continue
			}
			name := rest[2:end]
			if value, ok := known[name]; ok {
				b.WriteString(value)
			} else {
				b.WriteString(rest[:end+1])
				unknown = append(unknown, name)
			}
			i += end
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), unknown
}

// valueFrom returns the value of a variable that stands elsewhere, and false when there is none.
func (r *reader) valueFrom(v tree.Value) (string, bool) {
	v.Want(r.list, tree.Map)
	v.Only(r.list, "configMapKeyRef", "secretKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef")
	entries := v.Entries()
	if len(entries) != 1 {
		v.Errorf(r.list, CodeEnvironment, "", "exactly one source should stand here")
		v.Consume()
		return "", false
	}
	ref := entries[0].Value
	ref.Want(r.list, tree.Map)
	switch entries[0].Key {
	case "configMapKeyRef":
		return r.keyRef(ref, kubeobject.ConfigMap)
	case "secretKeyRef":
		return r.keyRef(ref, kubeobject.Secret)
	case "fieldRef":
		return r.fieldRef(ref)
	case "resourceFieldRef":
		return r.resourceFieldRef(ref)
	case "fileKeyRef":
		ref.Errorf(r.list, CodeClusterOnly, "", "vmseed reads no files out of volumes")
	}
	ref.Consume()
	return "", false
}

func (r *reader) keyRef(v tree.Value, kind string) (string, bool) {
	v.Only(r.list, "name", "key", "optional")
	optional := v.Get("optional").Bool(r.list)
	name, key := v.Get("name").Str(r.list), v.Get("key").Str(r.list)
	o, ok := r.resolve(v.Get("name"), kind, name, optional)
	if !ok {
		return "", false
	}
	item, ok := o.Item(key)
	if !ok {
		r.missingKey(v.Get("key"), o, key, optional)
	}
	return item.Value.Reveal(), ok
}

// clusterFields are known once the pod runs. A pod that was read back from the cluster states them.
var clusterFields = map[string][]string{"spec.nodeName": {"spec", "nodeName"}, "status.hostIP": {"status", "hostIP"},
	"status.podIP": {"status", "podIP"}, "status.hostIPs": nil, "status.podIPs": nil}

// fieldRef returns a field of the pod (Kubernetes' downward API).
func (r *reader) fieldRef(v tree.Value) (string, bool) {
	v.Only(r.list, "apiVersion", "fieldPath")
	v.Get("apiVersion").Consume()
	path := v.Get("fieldPath")
	text := path.Str(r.list)
	meta := r.pod.Get("metadata")
	var unheard diag.List
	if value, ok := kubedoc.MetaField(meta, text); ok {
		return value, true
	}
	switch text {
	case "metadata.name":
		return r.m.Name, true
	case "metadata.namespace":
		return r.m.Namespace, true
	case "metadata.uid":
		if uid := meta.Get("uid").Loose(&unheard); uid != "" {
			return uid, true
		}
		path.Errorf(r.list, CodeClusterOnly, "give the pod metadata.uid", "the pod has no UID yet")
		return "", false
	case "spec.serviceAccountName":
		if name := r.pod.At("spec", "serviceAccountName").Loose(&unheard); name != "" {
			return name, true
		}
		return "default", true
	}
	where, known := clusterFields[text]
	if !known {
		path.Errorf(r.list, CodeEnvironment, "", "fieldPath does not name a field that Kubernetes offers")
		return "", false
	}
	if where == nil {
		return r.addresses(path, strings.TrimPrefix(text, "status."))
	}
	if value := r.pod.At(where...).Loose(&unheard); value != "" {
		return value, true
	}
	path.Errorf(r.list, CodeClusterOnly, "write the value down", "%s is known on the cluster only", text)
	return "", false
}

// addresses joins a list of addresses of the pod's status by commas.
func (r *reader) addresses(path tree.Value, field string) (string, bool) {
	var out []string
	var unheard diag.List
	for _, item := range r.pod.At("status", field).Items() {
		out = append(out, item.Get("ip").Loose(&unheard))
	}
	if out == nil {
		path.Errorf(r.list, CodeClusterOnly, "write the value down", "status.%s is known on the cluster only", field)
		return "", false
	}
	return strings.Join(out, ","), true
}

// resourceFieldRef returns an amount of the container's resources, in units of a divisor, rounded up. A request that is
// not stated equals the limit. A limit that is not stated is that of the node.
func (r *reader) resourceFieldRef(v tree.Value) (string, bool) {
	v.Only(r.list, "containerName", "resource", "divisor")
	v.Get("containerName").Consume()
	where := v.Get("resource")
	which, resource, ok := strings.Cut(where.Str(r.list), ".")
	if !ok || which != "limits" && which != "requests" || resource != "cpu" && resource != "memory" && resource != "ephemeral-storage" {
		where.Errorf(r.list, CodeEnvironment, "", "limits or requests of cpu, memory or ephemeral-storage should be named here")
		v.Consume()
		return "", false
	}
	divisor, hasDivisor := r.quantity(v.Get("divisor"))
	if !hasDivisor || divisor.Sign() == 0 {
		divisor, _ = kubeobject.ParseQuantity("1")
	}
	var unheard diag.List
	resources := r.container.Get("resources")
	text := resources.At(which, resource).Loose(&unheard)
	if text == "" && which == "requests" {
		if text = resources.At("limits", resource).Loose(&unheard); text == "" {
			text = "0"
		}
	}
	if text == "" {
		where.Errorf(r.list, CodeClusterOnly, "give the container the limit", "the container has no limit of %s, so it is that of the node", resource)
		return "", false
	}
	q, err := kubeobject.ParseQuantity(text)
	if err != nil {
		return "", false // reported where it stands
	}
	return strconv.FormatInt(q.Per(divisor), 10), true
}

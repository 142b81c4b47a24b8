// Package translate reads a cloud-config as fields of a machine, for guests whose first-boot program is not cloud-init.
//
// The source of its rules is cloud-init's own code, release 25.1: the modules below cloudinit/config, and
// distros/ug_util.py for users and groups. What a machine has no field for is said key by key; no key is passed over.
package translate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// CloudConfig adds to a machine what a layer of cloud-config says. Scalars of the layer replace those of the machine, with a
// warning where both differ; members of lists come behind the machine's, but the machine's user or group of the same
// name is joined with the layer's. Every key without a counterpart yields a diagnostic with its place. The machine that
// was given is not changed; the one that is returned has the places of what was added.
//
// A layer that does not parse yields errors and the machine as it was.
func CloudConfig(layer machine.Layer, into machine.Machine) (machine.Machine, diag.List) {
	doc, l := cloudconfig.Parse(layer.Origin, []byte(layer.Data.Reveal()))
	if doc == nil {
		return into, l
	}
	plain, err := doc.Without() // a copy with aliases and merge keys written out
	if err != nil {
		l.Errorf(CodeValue, layer.Origin.Whole, "write it without anchors", "the cloud-config cannot be read: %v", err)
		return into, l
	}
	r := reader{doc: plain, set: map[string]value{}, where: map[string][]value{}, userPlaces: map[string]value{}, aliases: map[string]string{}}
	r.document(value{plain.Root(), ""})
	r.join(&into)
	return into, append(l, r.list...)
}

// document reads the top-level keys: those that others depend on first.
func (r *reader) document(root value) {
	if root.kind() != cloudconfig.Map {
		return
	}
	get := func(key string) (value, bool) {
		n := r.doc.Get(key)
		return value{n, key}, n != nil
	}
	if v, ok := get("device_aliases"); ok {
		r.deviceAliases(v)
	}
	r.hostname(get)
	r.accounts(get)
	handlers := keys{"device_aliases": done, "hostname": done, "fqdn": done, "prefer_fqdn_over_hostname": done}
	for _, key := range accountKeys {
		handlers[key] = done
	}
	for _, more := range []keys{r.systemKeys(), r.fileKeys(), r.storageKeys()} {
		for key, h := range more {
			handlers[key] = h
		}
	}
	for _, key := range idleKeys {
		handlers[key] = r.idle
	}
	for key, remedy := range lostKeys {
		handlers[key] = func(v value) {
			if b, ok := cloudconfig.Truth(v.node); v.kind() != cloudconfig.Null && (!ok || b) {
				r.lost(v, remedy) // switched off, there is nothing to lose
			}
		}
	}
	r.mapping(root, handlers, "")
}

// done is the handler of keys that were read before.
func done(value) {}

// join adds what was read to a machine.
func (r *reader) join(into *machine.Machine) {
	r.places = maps.Clone(into.Places)
	if r.places == nil {
		r.places = machine.Places{}
	}
	for field, v := range r.set {
		r.places[field] = r.doc.Range(v.node)
	}
	into.Users = joinNamed(into.Users, r.m.Users, sameUser, r.joinUser)
	into.Groups = joinNamed(into.Groups, r.m.Groups, func(a, b machine.Group) bool { return a.Name == b.Name }, joinGroup)
	for i, u := range into.Users {
		if v, ok := r.userPlaces[userKey(u)]; ok {
			r.places[fmt.Sprintf("users[%d]", i)] = r.doc.Range(v.node)
		}
	}
	r.m.Users, r.m.Groups = nil, nil
	r.joinValue(reflect.ValueOf(into).Elem(), reflect.ValueOf(&r.m).Elem(), "")
	into.Places = r.places
}

// userKey is what tells users apart.
func userKey(u machine.User) string {
	if u.Default {
		return "default"
	}
	return u.Name
}

// joinNamed appends the new members of a list, or joins them with the old ones of the same name.
func joinNamed[T any](old, add []T, same func(a, b T) bool, join func(old, add T) T) []T {
	out := slices.Clone(old)
	for _, x := range add {
		if i := slices.IndexFunc(out, func(o T) bool { return same(o, x) }); i >= 0 {
			out[i] = join(out[i], x)
		} else {
			out = append(out, x)
		}
	}
	return out
}

func sameUser(a, b machine.User) bool { return a.Default == b.Default && userKey(a) == userKey(b) }

// joinUser lets the new description win; keys, groups and rules of sudo are joined.
func (r *reader) joinUser(old, add machine.User) machine.User {
	if hasPassword(add) {
		old.Password, old.PasswordHash, old.LockPassword = secret.Text{}, secret.Text{}, nil
	}
	out := old
	r.joinValue(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&add).Elem(), "users."+add.Name)
	out.SSHAuthorizedKeys = unique(out.SSHAuthorizedKeys)
	out.SSHImportID, out.Groups, out.Sudo = unique(out.SSHImportID), unique(out.Groups), unique(out.Sudo)
	return out
}

func joinGroup(old, add machine.Group) machine.Group {
	if add.GID != nil {
		old.GID = add.GID
	}
	old.Members = unique(slices.Concat(old.Members, add.Members))
	return old
}

// unique drops members that come again.
func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// joinValue sets in to what is set in from: lists are appended, fields of structs joined one by one, anything else
// replaced, which is said when the document gave it a place of its own.
func (r *reader) joinValue(to, from reflect.Value, path string) {
	for i := range from.NumField() {
		name := from.Type().Field(i).Tag.Get("field")
		if name == "" || name == "-" {
			continue
		}
		if path != "" {
			name = path + "." + name
		}
		src, dst := from.Field(i), to.Field(i)
		switch {
		case src.IsZero():
		case src.Kind() == reflect.Slice:
			for j, v := range r.where[name] {
				r.places[fmt.Sprintf("%s[%d]", name, dst.Len()+j)] = r.doc.Range(v.node)
			}
			joined := reflect.MakeSlice(src.Type(), 0, dst.Len()+src.Len())
			dst.Set(reflect.AppendSlice(reflect.AppendSlice(joined, dst), src))
		case src.Kind() == reflect.Struct && !machine.IsLeaf(src.Type()):
			r.joinValue(dst, src, name)
		default:
			if v, ok := r.set[name]; ok && !dst.IsZero() && !sameLeaf(dst, src) {
				r.say(CodeReplaces, diag.Warning, v, "remove one of the two", "the definition sets %s as well; the cloud-config wins", name)
			}
			dst.Set(src)
		}
	}
}

// sameLeaf compares two scalars or pointers to scalars.
func sameLeaf(a, b reflect.Value) bool {
	if a.Kind() == reflect.Pointer {
		a, b = a.Elem(), b.Elem()
	}
	if s, ok := a.Interface().(secret.Text); ok {
		return s.Reveal() == b.Interface().(secret.Text).Reveal()
	}
	return a.Equal(b)
}

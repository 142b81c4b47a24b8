package kubevirt

import (
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// maxCredentials is how many entries KubeVirt's schema allows.
const maxCredentials = 256

// credentialMethods are the ways in which each kind of credential can reach the guest.
var credentialMethods = map[string][]string{
	"sshPublicKey": {"noCloud", "configDrive", "qemuGuestAgent"},
	"userPassword": {"qemuGuestAgent"},
}

// seedMethods are the ways that go through the seed, with the volume that each needs.
var seedMethods = map[string]string{"noCloud": noCloud, "configDrive": configDrive}

// accessCredentials reads spec.accessCredentials: SSH keys go into the seed, or with passwords to users of the guest whom
// its agent sets them for.
func (r *reader) accessCredentials(spec tree.Value) {
	list := spec.Get("accessCredentials")
	if !list.Want(&r.list, tree.List) {
		return
	}
	items := list.Items()
	if len(items) > maxCredentials {
		r.refuse(list, CodeCredential, "", "%s: Too many: %d: must have at most %d items", r.in("accessCredentials"), len(items), maxCredentials)
	}
	for i, v := range items {
		r.credential(v, r.in("accessCredentials[%d]", i))
	}
}

// one returns the only one of some members of a mapping that is there. Whatever else stands in the mapping is an error.
func (r *reader) one(v tree.Value, names ...string) (string, tree.Value, bool) {
	if !v.Want(&r.list, tree.Map) {
		return "", tree.Value{}, false
	}
	v.Only(&r.list, names...)
	found := slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		child := v.Get(n)
		return !child.Exists() || child.Kind() == tree.Null
	})
	if len(found) != 1 {
		return "", tree.Value{}, false
	}
	return found[0], v.Get(found[0]), true
}

// credential reads one entry. path is what KubeVirt's messages call it.
func (r *reader) credential(v tree.Value, path string) {
	kind, value, ok := r.one(v, "sshPublicKey", "userPassword")
	if !ok {
		r.refuse(v, CodeCredential, "write either sshPublicKey or userPassword", "%s must have exactly one access credential type set", path)
		v.Consume()
		return
	}
	if !value.Want(&r.list, tree.Map) {
		return
	}
	value.Only(&r.list, "source", "propagationMethod")
	_, from, sourced := r.one(value.Get("source"), "secret")
	if !sourced {
		r.refuse(value.Get("source"), CodeCredential, "name a Secret in source.secret.secretName", "%s must have exactly one source set", path)
	}
	methods := credentialMethods[kind]
	method, how, ok := r.one(value.Get("propagationMethod"), methods...)
	if !ok {
		r.refuse(value.Get("propagationMethod"), CodeCredential, "choose one of "+strings.Join(methods, ", "),
			"%s must have exactly one propagationMethod set", path)
	}
	if !sourced || !ok {
		value.Consume()
		return
	}
	o, found := r.credentialSecret(from)
	switch {
	case kind == "userPassword":
		r.empty(how)
		r.passwords(how, o)
	case method == "qemuGuestAgent":
		r.agentKeys(how, o, path)
	default:
		r.empty(how)
		r.seedKeys(how, o, method, path)
	}
	if found && len(o.Data) == 0 {
		from.Warnf(&r.list, CodeCredential, "put a key into it", "%s is empty, so nobody can log in with it", o.Ref)
	}
}

// credentialSecret finds the Secret of a credential.
func (r *reader) credentialSecret(v tree.Value) (kubeobject.Object, bool) {
	if !v.Want(&r.list, tree.Map) {
		return kubeobject.Object{}, false
	}
	before := len(r.list)
	v.Only(&r.list, "secretName")
	name := v.Get("secretName")
	if !name.Exists() && len(r.list) > before {
		return kubeobject.Object{}, false // the field that is not known was meant to be it
	}
	return r.resolve(name, kubeobject.Secret, name.Str(&r.list), false)
}

// seedKeys puts the keys of a Secret into the seed, in the order of its own keys.
func (r *reader) seedKeys(v tree.Value, o kubeobject.Object, method, path string) {
	kind := seedMethods[method]
	if !r.hasVolume(kind) {
		r.refuse(v, CodeCredential, "add a volume of the kind "+kind,
			"%s requires a %s volume to exist when the %[2]s propagationMethod is in use.", path, method)
	}
	for _, item := range o.Data {
		lines := kubedoc.KeyLines(&r.list, CodeSSHKey, "ssh.authorizedKeys", item.Value.Reveal(), item.Origin)
		if len(lines) > 1 {
			r.list.Warnf(CodeSSHKey, item.Origin.Whole, "give each its own key of the Secret if KubeVirt has to understand them",
				"%s, key %s, holds %d public keys; KubeVirt hands them to the guest as one that no agent understands, vmseed takes them apart",
				o.Ref, item.Key, len(lines))
		}
		for _, line := range lines {
			if len(r.m.SSH.AuthorizedKeys) == 0 {
				r.at(line.Place, "ssh.authorizedKeys")
			}
			r.at(line.Place, "ssh.authorizedKeys[%d]", len(r.m.SSH.AuthorizedKeys))
			r.m.SSH.AuthorizedKeys = append(r.m.SSH.AuthorizedKeys, line.Text)
		}
	}
}

// agentKeys gives the keys of a Secret to users whom the guest's agent knows.
func (r *reader) agentKeys(v tree.Value, o kubeobject.Object, path string) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	v.Only(&r.list, "users")
	users := v.Get("users")
	var keys []kubedoc.KeyLine
	for _, item := range o.Data {
		keys = append(keys, kubedoc.KeyLines(&r.list, CodeSSHKey, "agentUsers.sshAuthorizedKeys", item.Value.Reveal(), item.Origin)...)
	}
	names := users.Strings(&r.list)
	if len(names) == 0 {
		r.refuse(v, CodeCredential, "list the users in qemuGuestAgent.users", "%s requires at least one user to be present in the users list", path)
	}
	for i, user := range users.Items() {
		if i < len(names) && names[i] == "" {
			user.Errorf(&r.list, CodeCredential, "", "a user of the guest should be named here")
			continue
		}
		u, at := r.agentUser(user, names[i])
		for _, key := range keys {
			if len(u.SSHAuthorizedKeys) == 0 {
				r.at(key.Place, "agentUsers[%d].sshAuthorizedKeys", at)
			}
			u.SSHAuthorizedKeys = append(u.SSHAuthorizedKeys, key.Text)
		}
	}
}

// passwords sets those of a Secret: each key is a user of the guest. White space around a password is not part of it.
func (r *reader) passwords(v tree.Value, o kubeobject.Object) {
	for _, item := range o.Data {
		password := strings.TrimSpace(item.Value.Reveal())
		if password == "" {
			r.list.Warnf(CodeCredential, item.Origin.Whole, "write a password, or remove the key",
				"%s, key %s, is empty, so the user's password stays as it is", o.Ref, item.Key)
			continue
		}
		u, at := r.agentUser(v, item.Key)
		if !u.Password.IsZero() {
			r.list.Warnf(CodeCredential, item.Origin.Whole, "remove one of the two", "user %q has a password already; this one takes its place", item.Key)
		}
		u.Password = secret.New(password)
		r.at(item.Origin.Whole, "agentUsers[%d].password", at)
	}
}

// agentUser returns the user of a name, who is added if need be.
func (r *reader) agentUser(v tree.Value, name string) (*machine.AgentUser, int) {
	i := slices.IndexFunc(r.m.AgentUsers, func(u machine.AgentUser) bool { return u.Name == name })
	if i < 0 {
		i = len(r.m.AgentUsers)
		r.m.AgentUsers = append(r.m.AgentUsers, machine.AgentUser{Name: name})
		r.at(v.Range(), "agentUsers[%d]", i)
	}
	return &r.m.AgentUsers[i], i
}

// The diagnostics of credentials, of media and of the layout that came before volumes.
const (
	// CodeCredential is for access credentials that KubeVirt would refuse, or that change nothing.
	CodeCredential diag.Code = 2440 + iota
	// CodeSSHKey is for Secrets whose values are not one public key each.
	CodeSSHKey
	// CodeMedium is for volumes of files that KubeVirt would refuse, or that lack something.
	CodeMedium
	// CodeSysprep is for answer files of Windows.
	CodeSysprep
	// CodeTwoSeeds is for volumes whose label makes them a second seed.
	CodeTwoSeeds
	// CodeDownward is for fields that only the cluster knows.
	CodeDownward
	// CodeLegacy is for the layout that came before volumes.
	CodeLegacy
	// CodeSource is for sources of cloud-init data that do not exist.
	CodeSource
)

// mediaCodes explains the diagnostics VS2440 to VS2469.
func mediaCodes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeCredential, Title: "access credential is incomplete",
			Text: "An entry of `accessCredentials` is either `sshPublicKey` or `userPassword`, with a Secret as `source` and one `propagationMethod`: " +
				"`noCloud` or `configDrive` (the seed; a volume of that kind must exist), or `qemuGuestAgent` (the guest's agent; keys need a list of `users`). " +
				"In the Secret of an `sshPublicKey` every value is a public key; in that of a `userPassword` each key is a user and its value the password."},
		{Code: CodeSSHKey, Title: "Secret of SSH keys",
			Text: "Every value of the Secret is one public key for KubeVirt. It hands a value of several lines to the guest as one key, which no guest agent " +
				"understands, and CoreOS' Afterburn refuses all keys because of it. vmseed takes such values apart. Lines that are no public key are passed on " +
				"with a warning; private keys are refused."},
		{Code: CodeMedium, Title: "volume of files",
			Text: "A `secret`, `configMap`, `serviceAccount` or `downwardAPI` volume becomes a disk whose label is `volumeLabel`, or `cfgdata`, with a file for " +
				"each key. The object must be among the input unless the volume is `optional`. The label is at most 32 printable ASCII characters long. The files " +
				"of a service account are those of a Secret of the type `kubernetes.io/service-account-token` that is annotated for it and has its name, or its " +
				"name and `-token`."},
		{Code: CodeSysprep, Title: "sysprep volume without answer file",
			Text: "A `sysprep` volume names a ConfigMap or a Secret with a key `autounattend.xml` or `unattend.xml`, in any letter case. Windows looks for it on all " +
				"of its drives; the disk is labelled `unattendCD`."},
		{Code: CodeTwoSeeds, Title: "two seeds for the first boot",
			Text: "A volume with the label `cidata` or `config-2` is a seed for the guest, as is the one of a `cloudInitNoCloud` or `cloudInitConfigDrive` volume. With " +
				"two, it is chance which one the guest takes. A volume with the label `cidata` may be the only seed: its keys are then `user-data`, `meta-data`, " +
				"`network-config` and `vendor-data`."},
		{Code: CodeDownward, Title: "downward API field",
			Text: "A `downwardAPI` volume holds fields of the pod in which KubeVirt runs the machine. vmseed has no pod: names, labels and annotations are those of " +
				"the machine, and what only a cluster knows is left out."},
		{Code: CodeLegacy, Title: "layout from before volumes",
			Text: "Until early 2018 the disks of a KubeVirt machine held their sources themselves, and cloud-init's data hung on a disk as `cloudinit.nocloud`. vmseed " +
				"still reads that layout. `vmseed convert --to kubevirt` writes the same machine as `kubevirt.io/v1`."},
		{Code: CodeSource, Title: "unknown source of cloud-init data",
			Text: "The data of cloud-init stands below the name of a source that exists: `nocloud` on a disk of the old layout, and volumes of the kinds " +
				"`cloudInitNoCloud` and `cloudInitConfigDrive` since."},
	}
}

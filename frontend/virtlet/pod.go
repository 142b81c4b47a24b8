package virtlet

import (
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// The fields of Kubernetes' Pod (core v1, up to 1.34) and what they mean for a VM.
var (
	specFields = kubedoc.Table{"containers": used, "initContainers": used, "volumes": used, "hostname": used,
		"subdomain": used, "setHostnameAsFQDN": used, "restartPolicy": used, "terminationGracePeriodSeconds": used,
		"dnsConfig": used, "hostAliases": used, "nodeName": quiet, "serviceAccountName": quiet, "serviceAccount": quiet,
		"activeDeadlineSeconds": quiet, "affinity": quiet, "automountServiceAccountToken": quiet, "dnsPolicy": quiet,
		"enableServiceLinks": quiet, "ephemeralContainers": lost, "hostIPC": lost, "hostNetwork": lost, "hostPID": lost,
		"hostUsers": quiet, "hostnameOverride": used, "imagePullSecrets": quiet, "nodeSelector": quiet, "os": quiet, "overhead": quiet,
		"preemptionPolicy": quiet, "priority": quiet, "priorityClassName": quiet, "readinessGates": quiet,
		"resourceClaims": lost, "resources": quiet, "runtimeClassName": quiet, "schedulerName": quiet,
		"schedulingGates": quiet, "securityContext": quiet, "shareProcessNamespace": lost, "tolerations": quiet,
		"topologySpreadConstraints": quiet, "workloadRef": quiet}

	containerFields = kubedoc.Table{"name": quiet, "image": used, "env": used, "envFrom": used, "resources": used,
		"volumeMounts": used, "volumeDevices": used, "args": lost, "command": lost, "workingDir": lost, "lifecycle": lost,
		"imagePullPolicy": quiet, "livenessProbe": quiet, "readinessProbe": quiet, "startupProbe": quiet, "ports": quiet,
		"resizePolicy": quiet, "restartPolicy": quiet, "restartPolicyRules": quiet, "securityContext": quiet, "stdin": quiet,
		"stdinOnce": quiet, "terminationMessagePath": quiet, "terminationMessagePolicy": quiet, "tty": quiet}
)

// uuidSpace is the name space of the UUIDs that Virtlet makes of the UIDs of pods, 67b7fb47-7735-4b64-86d2-6d062d121966.
const uuidSpace = "\x67\xb7\xfb\x47\x77\x35\x4b\x64\x86\xd2\x6d\x06\x2d\x12\x19\x66"

func (r *reader) metadata() {
	meta := r.pod.Get("metadata")
	meta.Want(r.list, tree.Map)
	r.fields(meta, kubedoc.Meta("name", "namespace", "uid", "labels", "annotations", "generateName"))
	name, namespace := meta.Get("name"), meta.Get("namespace")
	text, ok := r.text(name)
	r.m.Name, r.m.Namespace = text, namespace.Str(r.list)
	generate := meta.Get("generateName")
	generate.Consume()
	switch {
	case !ok:
	case r.m.Name == "" && generate.Exists():
		generate.Errorf(r.list, CodeName, "give it metadata.name", "the cluster completes generateName, so the pod's name is not known")
	case r.m.Name == "":
		name.Errorf(r.list, CodeName, "give it metadata.name", "the pod has no name")
	case !kubeobject.ValidName(r.m.Name):
		name.Errorf(r.list, CodeName, "use lower-case letters, digits, dashes and dots", "%q cannot be the name of a pod", r.m.Name)
	}
	if r.m.Namespace == "" {
		r.m.Namespace = kubeobject.DefaultNamespace
	} else if !kubeobject.ValidName(r.m.Namespace) || strings.Contains(r.m.Namespace, ".") || len(r.m.Namespace) > 63 {
		namespace.Errorf(r.list, CodeName, "use at most 63 lower-case letters, digits and dashes", "%q cannot be a namespace", r.m.Namespace)
	}
	r.at(r.pod.Range(), "")
	r.at(name.Range(), "name")
	r.at(namespace.Range(), "namespace")
	r.m.Labels = meta.Get("labels").StringMap(r.list)
	r.at(meta.Get("labels").Range(), "labels")
	r.annotations(meta.Get("annotations"))
}

// maxHostname is how long a host name can be (hostname(7)).
const maxHostname = 63

func (r *reader) identity(spec tree.Value) {
	id := &r.m.Identity
	name, uid := r.pod.At("metadata", "name"), r.pod.At("metadata", "uid")
	id.InstanceID = r.m.Name + "." + r.m.Namespace
	r.at(name.Range(), "identity.instanceID")

	id.UID = uid.Str(r.list)
	r.at(uid.Range(), "identity.uid")
	if id.UID != "" {
		id.UUID = machine.NameUUID(uuidSpace, id.UID)
		r.at(uid.Range(), "identity.uuid")
	}
	if a := r.notes[systemUUID]; a.exists() {
		id.UUID = r.parseUUID(a)
		r.at(a.value.Range(), "identity.uuid")
	}
	r.hostname(spec, name)
}

var uuidForm = regexp.MustCompile(`^(?:urn:uuid:)?(\{)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(\})?$`)

func (r *reader) parseUUID(a annotation) string {
	m := uuidForm.FindStringSubmatch(strings.ToLower(strings.TrimSpace(a.text)))
	if m == nil || (m[1] == "") != (m[3] == "") {
		a.value.Errorf(r.list, CodeAnnotationValue, "", "%s should be a UUID", a.name)
		return ""
	}
	return m[2]
}

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// hostname follows the kubelet's rules, which Virtlet passed over: it used the pod's name alone.
func (r *reader) hostname(spec, name tree.Value) {
	id := &r.m.Identity
	host, sub, full := spec.Get("hostname"), spec.Get("subdomain"), spec.Get("setHostnameAsFQDN")
	where := name
	id.Hostname = r.m.Name
	if v := spec.Get("hostnameOverride"); v.Exists() {
		host = v // takes the place of hostname, and may be a full name
		if text := v.Str(r.list); text != "" {
			if !kubeobject.ValidName(text) || len(text) > 64 {
				v.Errorf(r.list, CodeHostname, "use at most 64 lower-case letters, digits, dashes and dots", "%q cannot be a host name", text)
			}
			id.Hostname, where = text, v
			spec.Get("hostname").Consume()
		}
	} else if text := host.Str(r.list); text != "" {
		if !dnsLabel.MatchString(text) {
			host.Errorf(r.list, CodeHostname, "use at most 63 lower-case letters, digits and dashes", "%q cannot be a host name", text)
		}
		id.Hostname, where = text, host
	}
	if len(id.Hostname) > maxHostname+1 {
		id.Hostname = strings.TrimRight(id.Hostname[:maxHostname], "-.")
		where.Warnf(r.list, CodeHostname, "", "the host name is cut to %d characters", maxHostname)
	}
	r.at(where.Range(), "identity.hostname")
	fqdn := full.Bool(r.list)
	text := sub.Str(r.list)
	if text != "" && !dnsLabel.MatchString(text) {
		sub.Errorf(r.list, CodeHostname, "use at most 63 lower-case letters, digits and dashes", "%q cannot be a subdomain", text)
		return
	}
	switch {
	case text != "":
		id.Domain = fmt.Sprintf("%s.%s.svc.cluster.local", text, r.m.Namespace)
		r.at(sub.Range(), "identity.domain")
		r.note(sub, CodeHostname, "the guest's domain is %s, if the cluster's is cluster.local", id.Domain)
	case fqdn:
		full.Warnf(r.list, CodeHostname, "give it spec.subdomain", "without a subdomain there is no full name to set")
	}
}

// findContainer finds the pod's only container.
func (r *reader) findContainer(spec tree.Value) {
	list := spec.Get("containers")
	list.Want(r.list, tree.List)
	items := list.Items()
	switch {
	case len(items) == 1:
	case len(items) > 1:
		items[1].Errorf(r.list, CodeContainers, "move the others into the guest, or into pods of their own",
			"the pod has %d containers; a VM is made of exactly one", len(items))
		for _, extra := range items[1:] {
			extra.Consume()
		}
	case spec.Exists():
		list.Errorf(r.list, CodeContainers, "give it one", "the pod has no container; a VM is made of exactly one")
		return
	default:
		return
	}
	if init := spec.Get("initContainers"); len(init.Items()) > 0 {
		init.Errorf(r.list, CodeContainers, "move what they do into user-data", "init containers cannot run beside a VM")
		init.Consume()
	}
	r.container = items[0]
	r.container.Want(r.list, tree.Map)
	r.fields(r.container, containerFields)
}

var restartPolicies = []string{"Always", "OnFailure", "Never"}

func (r *reader) lifecycle(spec tree.Value) {
	policy := spec.Get("restartPolicy")
	if text := policy.Str(r.list); text != "" {
		if !slices.Contains(restartPolicies, text) {
			policy.Errorf(r.list, CodeAnnotationValue, tree.Suggest(text, restartPolicies), "restartPolicy is Always, OnFailure or Never")
		}
		r.m.RestartPolicy = text
		r.at(policy.Range(), "restartPolicy")
	}
	grace := spec.Get("terminationGracePeriodSeconds")
	r.m.StopGrace = time.Duration(grace.Int(r.list, 0, 1<<31)) * time.Second
	r.at(grace.Range(), "stopGrace")
}

var digest = regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)

// image makes the root disk of the container's image. The names of Virtlet's images are URLs without their scheme, or
// names that the node's translation rules map to URLs. A tag, which Kubernetes adds, is no part of them.
func (r *reader) image() {
	v := r.container.Get("image")
	text := v.Str(r.list)
	if text == "" {
		if r.container.Exists() {
			v.Errorf(r.list, CodeContainers, "give it the image that the VM boots from", "the container has no image")
		}
		return
	}
	name, ok := strings.CutPrefix(text, imagePrefix)
	if !ok {
		v.Warnf(r.list, CodeRuntime, "write "+imagePrefix+" before it", "the image is not one of Virtlet's, so a cluster refuses to run it as a VM")
	}
	sum := digest.FindString(name)
	name = strings.TrimSuffix(name, sum)
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		r.note(v, CodeNoGuest, "the tag %q is no part of the name of the image", name[i+1:])
		name = name[:i]
	}
	if host, _, ok := strings.Cut(name, "/"); ok && strings.Contains(host, ".") {
		name = "https://" + name
	}
	disk := machine.Disk{Name: "root", Root: true, Ephemeral: true, Source: machine.DiskSource{Image: name + sum}}
	if r.volumes[disk.Name] != nil {
		disk.Name = "root.image"
	}
	r.at(v.Range(), "disks[0]")
	if a := r.notes[rootVolumeSize]; a.exists() {
		disk.Size = r.rootSize(a)
		r.at(a.value.Range(), "disks[0].size")
	}
	r.m.Disks = []machine.Disk{disk}
}

func (r *reader) rootSize(a annotation) machine.Bytes {
	q, err := kubeobject.ParseQuantity(a.text)
	size, whole := q.Whole()
	switch {
	case err != nil:
		a.value.Errorf(r.list, CodeQuantity, "write an amount such as 4Gi", "%s is %v", a.name, kubeobject.ErrQuantity)
	case !whole:
		a.value.Errorf(r.list, CodeQuantity, "write an amount such as 4Gi", "%s should be a whole number of bytes", a.name)
	case size <= 0:
		a.value.Warnf(r.list, CodeQuantity, "", "%s is not above zero, so the disk gets the size of the image", a.name)
	default:
		return machine.Bytes(size)
	}
	return 0
}

// network sets what the document says about the network. Addresses come from the network plugins; without their result
// the guest asks for a lease.
func (r *reader) network(spec tree.Value) {
	n := &r.m.Network
	n.NICs = []machine.NIC{{Name: "eth0", DHCP4: true}}
	r.at(r.pod.At("metadata", "name").Range(), "network.nics[0]")
	if r.dhcp {
		n.Mode = "dhcp"
		r.at(r.notes[forceDHCP].value.Range(), "network.mode")
	}
	config := spec.Get("dnsConfig")
	if !config.Want(r.list, tree.Map) {
		return
	}
	config.Only(r.list, "nameservers", "searches", "options")
	r.at(config.Range(), "network.dns")
	servers := config.Get("nameservers")
	servers.Want(r.list, tree.List)
	for _, s := range servers.Items() {
		addr, err := netip.ParseAddr(s.Str(r.list))
		if err != nil {
			s.Errorf(r.list, CodeAnnotationValue, "", "an IP address should stand here")
			continue
		}
		n.DNS.Servers = append(n.DNS.Servers, addr)
	}
	n.DNS.Search = config.Get("searches").Strings(r.list)
	options := config.Get("options")
	options.Want(r.list, tree.List)
	for _, o := range options.Items() {
		o.Only(r.list, "name", "value")
		text := o.Get("name").Str(r.list)
		if value := o.Get("value").Loose(r.list); value != "" {
			text += ":" + value
		}
		n.DNS.Options = append(n.DNS.Options, text)
	}
}

// hostAliases become lines of the guest's hosts file, as the kubelet writes them into that of a container.
func (r *reader) hostAliases(spec tree.Value) {
	v := spec.Get("hostAliases")
	if !v.Want(r.list, tree.List) {
		return
	}
	var lines strings.Builder
	for _, item := range v.Items() {
		item.Only(r.list, "ip", "hostnames")
		ip := item.Get("ip")
		addr, err := netip.ParseAddr(ip.Str(r.list))
		if err != nil {
			ip.Errorf(r.list, CodeAnnotationValue, "", "an IP address should stand here")
			item.Consume()
			continue
		}
		fmt.Fprintf(&lines, "%s\t%s\n", addr, strings.Join(item.Get("hostnames").Strings(r.list), "\t"))
	}
	if lines.Len() > 0 {
		r.addFile(machine.File{Path: "/etc/hosts", Content: secret.New(lines.String()), Append: true}, v.Range(), v.Range())
	}
}

// addFile appends a file with the places of its path and its content.
func (r *reader) addFile(f machine.File, path, content diag.Range) {
	i := len(r.m.Files)
	for j, have := range r.m.Files {
		if have.Path == f.Path && !f.Append && !have.Append {
			r.list.Add(diag.Diagnostic{Code: CodeSamePath, Severity: diag.Warning, Range: path,
				Summary: fmt.Sprintf("%s is written twice; the guest keeps this one", f.Path), Remedy: "mount one of them elsewhere"}.
				With(r.places.Find(fmt.Sprintf("files[%d].path", j)), "the other one is here"))
		}
	}
	r.m.Files = append(r.m.Files, f)
	r.at(path, "files[%d]", i)
	r.at(path, "files[%d].path", i)
	r.at(content, "files[%d].content", i)
}

// cleanPath checks an absolute path of the guest.
func cleanPath(text string) (string, bool) {
	control := func(c rune) bool { return c < ' ' || c == 0x7f }
	if !strings.HasPrefix(text, "/") || slices.Contains(strings.Split(text, "/"), "..") || strings.ContainsFunc(text, control) {
		return "", false
	}
	return path.Clean(text), true
}

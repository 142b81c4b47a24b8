package virtlet

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// mount is a volumeMount of the container.
type mount struct {
	volume    *volume
	path      string
	pathAt    diag.Range
	subPath   string
	subPathAt tree.Value
	readOnly  bool
	value     tree.Value
}

// mounts puts the pod's volumes into the guest: files first those of Secrets, then of ConfigMaps, of other volumes of
// files, and last single files; disks and shares in the order of the container's mounts.
func (r *reader) mounts() {
	list := r.container.Get("volumeMounts")
	list.Want(r.list, tree.List)
	var secrets, configMaps, others, singles []placedFile
	seen := map[string]tree.Value{}
	for _, v := range list.Items() {
		m, ok := r.readMount(v, seen)
		if !ok {
			continue
		}
		switch {
		case fileVolumes[m.volume.kind] != nil:
			files, single := r.mountFiles(m, m.volume.files)
			switch {
			case single:
				singles = append(singles, files...)
			case m.volume.kind == "secret":
				secrets = append(secrets, files...)
			case m.volume.kind == "configMap":
				configMaps = append(configMaps, files...)
			default:
				others = append(others, files...)
			}
		case m.volume.disk:
			r.mountDisk(m)
		default:
			r.share(m)
		}
	}
	for _, list := range [][]placedFile{secrets, configMaps, others, singles} {
		r.addPlaced(list)
	}
	r.unmounted()
}

func (r *reader) readMount(v tree.Value, seen map[string]tree.Value) (m mount, ok bool) {
	v.Want(r.list, tree.Map)
	v.Only(r.list, "name", "mountPath", "subPath", "subPathExpr", "readOnly", "recursiveReadOnly", "mountPropagation")
	for _, e := range v.Entries() {
		if e.Key == "mountPropagation" || e.Key == "recursiveReadOnly" {
			r.add(diag.Note, CodeNoGuest, e, "", "%s concerns containers, not the guest", e.Key)
			e.Value.Consume()
		}
	}
	m = mount{volume: r.lookup(v), value: v, readOnly: v.Get("readOnly").Bool(r.list), pathAt: v.Get("mountPath").Range()}
	m.subPath, m.subPathAt, ok = r.subPath(v)
	target, good := r.targetPath(v.Get("mountPath"), seen)
	m.path = target
	return m, ok && good && m.volume != nil
}

// subPath reads which part of the volume is mounted.
func (r *reader) subPath(v tree.Value) (string, tree.Value, bool) {
	plain, expr := v.Get("subPath"), v.Get("subPathExpr")
	text, where := plain.Str(r.list), plain
	if expr.Exists() {
		if plain.Exists() {
			expr.Errorf(r.list, CodeSubPath, "remove one of the two", "subPath and subPathExpr stand in one mount")
			expr.Consume()
			return "", where, false
		}
		where = expr
		out, unknown := expand(expr.Str(r.list), r.environment)
		if len(unknown) > 0 {
			expr.Errorf(r.list, CodeReference, "", "the container has no variable %q", unknown[0])
			return "", where, false
		}
		text = out
	}
	if text == "" {
		return "", where, true
	}
	clean, ok := cleanPath("/" + text)
	if !ok || strings.HasPrefix(text, "/") {
		where.Errorf(r.list, CodeSubPath, "", "the path is relative and has no ..")
		return "", where, false
	}
	return clean[1:], where, true
}

func (r *reader) mountDisk(m mount) {
	switch {
	case m.volume.kind != "flexVolume":
		m.value.Errorf(r.list, CodeMount, "remove one of the two", "volume %q is a block device of the guest already", m.volume.name)
		return
	case m.subPath != "":
		m.subPathAt.Errorf(r.list, CodeSubPath, "mount the whole disk", "a disk cannot be mounted in part")
		return
	case m.path == "/":
		m.value.Errorf(r.list, CodeMount, "use a claim as volume device at /", "a disk cannot be mounted over the guest's root")
		return
	}
	out := machine.Mount{Disk: m.volume.name, Partition: m.volume.partition, Path: m.path}
	if m.readOnly || m.volume.readOnly {
		out.Options = []string{"ro"}
	}
	r.addMount(out, m)
}

func (r *reader) addMount(out machine.Mount, m mount) {
	i := len(r.m.Mounts)
	r.at(m.value.Range(), "mounts[%d]", i)
	r.at(m.pathAt, "mounts[%d].path", i)
	r.m.Mounts = append(r.m.Mounts, out)
}

// tagForm matches the tags that every hypervisor takes: QEMU has room for 31 bytes.
var tagForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,31}$`)

// share gives the guest a directory of the host by 9p. Its tag is the last part of the mount's path, as with Virtlet,
// unless another share has it.
func (r *reader) share(m mount) {
	vol := m.volume
	s := machine.Share{Name: vol.name, Driver: "9p", ReadOnly: m.readOnly, Chown: r.chown}
	switch vol.kind {
	case "hostPath":
		if !r.hostPath(vol, &s) {
			return
		}
	case "persistentVolumeClaim", "ephemeral":
		var disk machine.Disk
		s.HostPath = r.claim(vol, &disk, false)
		s.ReadOnly = s.ReadOnly || disk.ReadOnly
	default:
		if !r.shared(vol.name) {
			r.note(vol.src, CodeVolume, "to run the machine, name a directory for volume %q (%s) with --volume", vol.name, vol.kind)
		}
		vol.src.Consume() // what the node mounts; the guest sees a directory
	}
	if m.path == "/" {
		m.value.Errorf(r.list, CodeMount, "", "a directory cannot be mounted over the guest's root")
		return
	}
	if m.subPath != "" {
		if s.HostPath == "" {
			m.subPathAt.Errorf(r.list, CodeSubPath, "mount the whole volume", "the directory of this volume is not known here, so no part of it can be mounted")
			return
		}
		s.HostPath = path.Join(s.HostPath, m.subPath)
	}
	tag := path.Base(m.path)
	for n, i := 2, 0; i < len(r.m.Shares); i++ {
		if r.m.Shares[i].Name == s.Name {
			s.Name = fmt.Sprintf("%s.%d", vol.name, n)
			n, i = n+1, -1
			continue
		}
		if strings.EqualFold(r.m.Shares[i].Tag, tag) {
			tag = s.Name
		}
	}
	if tagForm.MatchString(tag) {
		s.Tag = tag
	}
	i := len(r.m.Shares)
	r.at(vol.place, "shares[%d]", i)
	r.at(m.pathAt, "shares[%d].tag", i)
	if a := r.notes[chown9pfs]; s.Chown {
		r.at(a.value.Range(), "shares[%d].chown", i)
	}
	r.m.Shares = append(r.m.Shares, s)
	r.addMount(machine.Mount{Share: s.Name, Path: m.path}, m)
}

// shared reports whether a volume has become a share.
func (r *reader) shared(name string) bool {
	return slices.ContainsFunc(r.m.Shares, func(s machine.Share) bool { return s.Name == name })
}

// hostPath reads a directory of the host. Single files and devices are beyond a share.
func (r *reader) hostPath(vol *volume, s *machine.Share) bool {
	vol.src.Only(r.list, "path", "type")
	p, kind := vol.src.Get("path"), vol.src.Get("type")
	clean, ok := cleanPath(p.Str(r.list))
	if !ok {
		p.Errorf(r.list, CodeVolume, "", "an absolute path without .. should stand here")
		return false
	}
	switch kind.Str(r.list) {
	case "", "Directory", "DirectoryOrCreate":
		s.HostPath = clean
		return true
	case "File", "FileOrCreate":
		kind.Errorf(r.list, CodeVolume, "put the file into a ConfigMap or Secret", "vmseed reads no files of the node")
	case "Socket", "CharDevice", "BlockDevice":
		kind.Errorf(r.list, CodeVolume, "use a claim with volumeDevices for a block device", "a socket or device of the node cannot be shared")
	default:
		kind.Errorf(r.list, CodeVolume, "", "this is no type of hostPath")
	}
	return false
}

// unmounted reports volumes that the guest gets nothing of.
func (r *reader) unmounted() {
	for _, name := range sortedKeys(r.volumes) {
		vol := r.volumes[name]
		if vol.used == 0 && !vol.disk && vol.kind != "" {
			r.list.Add(diag.Diagnostic{Code: CodeVolume, Severity: diag.Warning, Range: vol.place,
				Summary: fmt.Sprintf("volume %q is mounted nowhere, so the guest gets nothing of it", name), Remedy: "mount it, or remove it"})
			vol.src.Consume()
		}
	}
}

package image

import (
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/vmseed/vmseed/secret"
)

// Kind is where an image comes from.
type Kind string

// The kinds.
const (
	// File is a file of this host. It is used where it is.
	File Kind = "file"
	// Named is a short name such as debian:13.
	Named Kind = "name"
	// Web is a file behind a URL, with a checksum.
	Web Kind = "web"
	// Registry is a container image in a registry, with the disk in it (KubeVirt's containerDisk).
	Registry Kind = "registry"
	// Layout is a container image in a directory of the form of the OCI Image Layout.
	Layout Kind = "oci"
	// LayoutArchive is a tar archive of such a directory.
	LayoutArchive Kind = "oci-archive"
	// DockerArchive is a tar archive as docker save writes it.
	DockerArchive Kind = "docker-archive"
)

// Reference names a guest image. It can be read from a text and written as one without looking at disk or network.
type Reference struct {
	Kind Kind
	// Name is the short name, the name in a registry with its tag or digest, the tag in a layout, or the URL without
	// credentials and query.
	Name string
	// Path is that of a file, directory or archive of this host.
	Path string
	// Checksum is what a file behind a URL must hash to.
	Checksum Checksum
	// Inside is the path of the disk in a container image. Empty means the only file in the directory /disk.
	Inside string

	// address is the URL whole, and sums that of a list of checksums.
	address, sums secret.Text
}

// longest is the length of the longest reference that is read, in bytes.
const longest = 4096

// extensions are those of the files that are taken for images by their names alone.
var extensions = []string{".qcow2", ".qcow", ".raw", ".img"}

// forms is what a reference can look like, for messages.
const forms = "a file, an https URL with its checksum, REGISTRY/REPOSITORY:TAG, oci:DIRECTORY, oci-archive:FILE or docker-archive:FILE"

// Parse reads a reference:
//
//	/images/web.qcow2  ./web  ../web  web.raw  file:///images/web.qcow2
//	debian:13
//	https://example.org/web.qcow2#sha256=HEX            (sha512=HEX; or @sha256:HEX behind the path)
//	https://example.org/web.qcow2#checksum=SHA256SUMS   (a list of checksums, its address relative to the image's)
//	registry.example.org/team/web:1.2                   (@sha256:HEX; short names are Docker Hub's)
//	docker://debian:13
//	oci:DIRECTORY[:TAG]  oci-archive:FILE[:TAG]  docker-archive:FILE
//
// A reference to a container image may end in #path=/where/the/disk.img. A short name of the table that Names lists goes
// before a repository of that name.
func Parse(text string) (Reference, error) {
	if err := printable(text); err != nil {
		return Reference{}, err
	}
	scheme, rest, ok := strings.Cut(text, ":")
	switch Kind(scheme) {
	case "file":
		return parseFile(text)
	case "https", "http":
		return parseWeb(text)
	case "docker":
		if after, ok := strings.CutPrefix(rest, "//"); ok {
			return ParseContainer(after)
		}
	case Layout, LayoutArchive, DockerArchive:
		return parseArchive(Kind(scheme), rest)
	}
	switch {
	case looksLikePath(text):
		return FileReference(text), nil
	case ok && strings.HasPrefix(rest, "//"):
		return Reference{}, badReference("", "vmseed fetches no images by "+clip(scheme), "name "+forms)
	}
	if _, ok := named(text); ok {
		return Reference{Kind: Named, Name: text}, nil
	}
	bare, _, _ := strings.Cut(text, "#")
	repository, _, _ := strings.Cut(bare, ":")
	if !strings.ContainsAny(bare, "/") && publisher(repository) {
		return Reference{}, badReference("", "vmseed knows no image "+clip(text), "it knows "+strings.Join(Names(), ", ")+
			"; "+clip("docker://"+text)+" is the container image of that name")
	}
	if !strings.ContainsAny(bare, "/:@") {
		return Reference{}, badReference("", "there is no image "+clip(text), "name "+forms+", or one of "+strings.Join(Names(), ", ")+
			"; "+clip("docker://"+text)+" is the container image of that name")
	}
	return ParseContainer(text)
}

// FileReference names a file of this host, whatever its name looks like.
func FileReference(path string) Reference {
	return Reference{Kind: File, Path: filepath.Clean(path)}
}

// ParseContainer reads a name of an image in a registry as docker and KubeVirt do: without a registry it is one of Docker
// Hub, and without tag and digest the tag is latest.
func ParseContainer(text string) (Reference, error) {
	if err := printable(text); err != nil {
		return Reference{}, err
	}
	bare, inside, err := cutInside(text)
	if err != nil {
		return Reference{}, err
	}
	parsed, err := name.ParseReference(strings.TrimPrefix(bare, "docker://"))
	if err != nil {
		return Reference{}, badReference("", clip(text)+" is no name of a container image", "write REGISTRY/REPOSITORY:TAG")
	}
	full := parsed.Name()
	if after, ok := strings.CutPrefix(full, name.DefaultRegistry+"/"); ok {
		full = "docker.io/" + after
	}
	return Reference{Kind: Registry, Name: full, Inside: inside}, nil
}

func printable(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return badReference("", "the reference is empty", "name "+forms)
	case len(text) > longest:
		return badReference("", "the reference is too long", "")
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }):
		return badReference("", "the reference has characters that cannot be printed", "")
	}
	return nil
}

// clip shortens a text for a message.
func clip(text string) string {
	if r := []rune(text); len(r) > 80 {
		text = string(r[:80]) + "…"
	}
	return `"` + text + `"`
}

// looksLikePath reports whether a reference is a path by its looks. A file system is not asked: the same text means the
// same everywhere.
func looksLikePath(text string) bool {
	if filepath.IsAbs(text) || strings.HasPrefix(text, "/") || strings.ContainsRune(text, '\\') {
		return true
	}
	first, _, _ := strings.Cut(text, "/")
	return first == "." || first == ".." || slices.Contains(extensions, strings.ToLower(path.Ext(text))) && !strings.Contains(text, "#") && !strings.Contains(text, "://")
}

func parseFile(text string) (Reference, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" || u.Fragment != "" ||
		printable(u.Path) != nil {
		return Reference{}, badReference("", "a file is written file:///PATH", "")
	}
	return FileReference(filepath.FromSlash(u.Path)), nil
}

// digest is a checksum behind the path of a URL.
var digest = regexp.MustCompile(`@(sha256:[0-9a-fA-F]{64}|sha512:[0-9a-fA-F]{128})$`)

func parseWeb(text string) (Reference, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return Reference{}, badReference("", "that is no URL of an image", "write https://HOST/PATH#sha256=HEX")
	}
	r := Reference{Kind: Web}
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	sum := ""
	if m := digest.FindStringSubmatch(u.Path); m != nil {
		sum = m[1]
		if u, err = url.Parse(strings.TrimSuffix(u.String(), m[0])); err != nil || u.Host == "" {
			return Reference{}, badReference("", "that is no URL of an image", "write https://HOST/PATH#sha256=HEX")
		}
	}
	if base := path.Base(u.Path); base == "/" || base == "." || strings.HasSuffix(u.Path, "/") {
		return Reference{}, badReference("", "the URL names no file", "write https://HOST/PATH#sha256=HEX")
	}
	r.address = secret.New(u.String())
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	r.Name = shown.String()
	if sum != "" {
		if r.Checksum, err = ParseChecksum(sum); err != nil {
			return Reference{}, about(r, err)
		}
	}
	if fragment == "" {
		return r, nil
	}
	key, value, _ := strings.Cut(fragment, "=")
	switch {
	case (key == "sha256" || key == "sha512") && value != "":
		return r.SetChecksum(key + ":" + value)
	case key == "checksum" && value != "":
		return r.SetChecksum(value)
	}
	return Reference{}, badReference(r.String(), "behind the # stands a checksum", "write #sha256=HEX, #sha512=HEX or #checksum=URL-OF-A-LIST")
}

// parseArchive reads a container image on this host. What follows the last colon is a tag, unless it holds a slash.
func parseArchive(kind Kind, text string) (Reference, error) {
	bare, inside, err := cutInside(text)
	if err != nil {
		return Reference{}, err
	}
	r := Reference{Kind: kind, Path: bare, Inside: inside}
	if i := strings.LastIndexByte(bare, ':'); i >= 0 && kind != DockerArchive && !strings.ContainsAny(bare[i:], `/\`) {
		r.Path, r.Name = bare[:i], bare[i+1:]
	}
	if r.Path == "" {
		return Reference{}, badReference("", string(kind)+": needs a path", "write "+string(kind)+":PATH")
	}
	r.Path = filepath.Clean(r.Path)
	return r, nil
}

// cutInside splits off #path=.
func cutInside(text string) (bare, inside string, err error) {
	bare, fragment, ok := strings.Cut(text, "#")
	if !ok {
		return text, "", nil
	}
	inside, ok = strings.CutPrefix(fragment, "path=")
	if !ok || !path.IsAbs(inside) || path.Clean(inside) == "/" {
		return "", "", badReference("", "behind the # stands the path of the disk in the container image", "write #path=/disk/NAME")
	}
	return bare, path.Clean(inside), nil
}

// String returns the reference as Parse reads it, without credentials, without the query of a URL, and with names in a
// registry written in full.
func (r Reference) String() string {
	text := r.Name
	switch r.Kind {
	case File:
		return fileText(r.Path)
	case Web:
		if r.Checksum.Hex != "" {
			text += "#" + r.Checksum.Algorithm + "=" + r.Checksum.Hex
		} else if sums, err := url.Parse(r.sums.Reveal()); err == nil && r.sums.Len() > 0 {
			sums.User, sums.RawQuery = nil, ""
			text += "#checksum=" + sums.String()
		}
	case Layout, LayoutArchive, DockerArchive:
		text = string(r.Kind) + ":" + r.Path
		if r.Name != "" || r.Kind != DockerArchive && strings.Contains(filepath.Base(r.Path), ":") {
			text += ":" + r.Name
		}
	}
	if r.Inside != "" {
		text += "#path=" + r.Inside
	}
	return text
}

// fileText writes a path so that it is read as one.
func fileText(p string) string {
	if looksLikePath(p) {
		if scheme, _, _ := strings.Cut(p, ":"); scheme == p || strings.ContainsAny(scheme, "/.") {
			return p
		}
	}
	return "." + string(filepath.Separator) + p
}

// Container reports whether the reference is to a container image.
func (r Reference) Container() bool {
	return slices.Contains([]Kind{Registry, Layout, LayoutArchive, DockerArchive}, r.Kind)
}

// Check says what a reference lacks for being fetched: one to a URL needs a checksum.
func (r Reference) Check() error {
	if r.Kind != Web || r.Checksum.Hex != "" || r.sums.Len() > 0 {
		return nil
	}
	if strings.HasPrefix(r.Name, "http:") {
		return badReference(r.String(), "by http nobody vouches for what arrives", "add #sha256=HEX, or use https")
	}
	return badReference(r.String(), "the URL has no checksum", "add #sha256=HEX, #sha512=HEX or #checksum=SHA256SUMS, the list that is published beside the image")
}

package ovirt

import (
	"encoding/base64"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// PayloadSize is how many characters of a file of a payload an engine takes by default.
const PayloadSize = 8192

// The lengths of labels: those of ISO 9660 and FAT.
const (
	maxVolumeID    = 32
	maxFloppyLabel = 11
)

// volumeID matches the labels that every reader of a volume sees as they are written.
var volumeID = regexp.MustCompile(`^[A-Za-z0-9_.-]*$`)

// payloads reads the media that a vm gets beside its disks. The kind of first boot is known when it is called.
func (r *reader) payloads(v tree.Value) {
	for i, p := range r.items(v, "payload") {
		if r.isMap(p) {
			r.payload(p, i)
		}
	}
	if p := v.Get("payload"); p.Kind() == tree.Null { // an engine takes an empty one for none
		p.Consume()
	}
}

func (r *reader) payload(p tree.Value, i int) {
	r.only(p, "type", "volume_id", "files", "file")
	media := machine.Media{Name: "payload", Kind: "payload", Format: "iso", Bus: "sata"}
	if i > 0 {
		media.Name += strconv.Itoa(i + 1)
		p.Warnf(&r.list, CodePayloadUse, "", "an engine uses the first payload only; this one is attached as well")
	}
	switch kind := p.Get("type"); strings.ToLower(r.text(kind)) {
	case "", "cdrom":
		if r.kind == CloudInit || r.kind == Ignition {
			r.list.Notef(CodePayloadUse, p.Range(), "", "an engine leaves this payload out when it makes a seed; here both are attached")
		}
	case "floppy":
		// The machines of today have no controller for floppy disks; a stick is the read-write medium that guests know.
		media.Format, media.Bus = "floppy", "usb"
	default:
		kind.Errorf(&r.list, CodePayload, "write cdrom or floppy", "no payload has the type %q", r.text(kind))
		p.Consume()
		return
	}
	label := p.Get("volume_id")
	media.Label = r.text(label)
	limit := map[string]int{"iso": maxVolumeID, "floppy": maxFloppyLabel}[media.Format]
	if len(media.Label) > limit || !volumeID.MatchString(media.Label) {
		label.Errorf(&r.list, CodePayload, "choose another", "the label of such a volume has at most %d letters, digits and . _ -", limit)
	}
	r.preparedPayload(label, media.Label)
	files := append(r.items(p.Get("files"), "file"), r.listed(p.Get("file"))...) // the latter is the form of API 3.3.0
	r.payloadFiles(files, &media)
	if len(files) == 0 {
		p.Errorf(&r.list, CodePayload, "give it files/file with name and content", "the payload has no file")
	}
	r.at(p.Range(), "media[%d]", len(r.m.Media))
	r.m.Media = append(r.m.Media, media)
}

// preparedPayload takes a payload with the label of a seed for what it is: the seed, which somebody made by hand.
func (r *reader) preparedPayload(v tree.Value, label string) {
	switch strings.ToLower(label) {
	case "config-2", "cidata":
	default:
		return
	}
	if r.kind == CloudInit || r.kind == Ignition {
		r.fail(v, CodePayload, "keep one of the two, or choose another label", "the label makes this volume a seed for the guest's first boot, and the initialization asks for another")
		return
	}
	r.noSeed(v)
}

// noSeed has no seed made for a machine that asks for no initialization and has a medium that may be one.
func (r *reader) noSeed(v tree.Value) {
	if r.kind == NoInit {
		r.m.DataSource = machine.NoDataSource
		r.at(v.Range(), "dataSource")
	}
}

func (r *reader) payloadFiles(files []tree.Value, media *machine.Media) {
	for _, f := range files {
		if !f.Want(&r.list, tree.Map) {
			continue
		}
		r.only(f, "name", "content", "type")
		at := f.Get("name")
		name := r.text(at)
		clean := path.Clean("/" + name)
		same := func(have machine.File) bool { return strings.EqualFold(have.Path, clean) }
		switch {
		case name == "" || clean == "/" || strings.HasSuffix(name, "/") || slices.Contains(strings.Split(name, "/"), ".."):
			f.Errorf(&r.list, CodePayload, "write it as scripts/setup.sh", "the name of a file is a relative path without ..")
			f.Consume()
			continue
		case slices.ContainsFunc(media.Files, same):
			at.Errorf(&r.list, CodePayload, "give each its own name", "two files of the payload are called %q", name)
			f.Consume()
			continue
		}
		content, ok := r.payloadContent(f)
		if !ok {
			continue
		}
		r.at(f.Get("content").Range(), "media[%d].files[%d].content", len(r.m.Media), len(media.Files))
		media.Files = append(media.Files, machine.File{Path: clean, Content: content})
	}
}

// payloadContent reads the content of a file, as it is or coded in Base64.
func (r *reader) payloadContent(f tree.Value) (secret.Text, bool) {
	v, kind := f.Get("content"), f.Get("type")
	text := r.verbatim(v)
	switch strings.ToUpper(r.text(kind)) {
	case "", "PLAINTEXT", "TEXT":
	case "BASE64":
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			v.Errorf(&r.list, CodePayload, "code it anew, or use the type PLAINTEXT", "the content is no Base64")
			return secret.Text{}, false
		}
		text = string(raw)
	default:
		kind.Errorf(&r.list, CodePayload, "write PLAINTEXT or BASE64", "no file has the type %q", r.text(kind))
		return secret.Text{}, false
	}
	if n := utf8.RuneCountInString(text); n > PayloadSize {
		v.Errorf(&r.list, CodePayloadSize, "put it into the files of the initialization, or attach an image", "the file has %d characters, and an engine takes at most %d", n, PayloadSize)
		return secret.Text{}, false
	}
	return secret.New(text), true
}

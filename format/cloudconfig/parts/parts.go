// Package parts takes user-data apart into the pieces that cloud-init handles one by one, whatever they are wrapped
// in: gzip, MIME multiparts, archives.
package parts

import (
	"bytes"
	"slices"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/mimepart"
	"github.com/vmseed/vmseed/internal/bounded"
)

// Part is one piece of user-data as cloud-init's handlers get it.
type Part struct {
	// Kind is what the handlers take the part for. Unknown parts are ignored with a warning.
	Kind cloudconfig.Kind
	// ContentType is the type that was stated or found.
	ContentType string
	// Filename is empty when none was stated; cloud-init then invents one.
	Filename string
	// MergeType is the Merge-Type or X-Merge-Type header, spelt exactly so.
	MergeType string
	// Header holds all header fields of the part.
	Header []mimepart.Field
	// Archived parts come from a cloud-config-archive: cloud-init does not look into them for includes, further
	// archives or compression.
	Archived bool
	// Data is the content, decoded and unpacked.
	Data []byte
	// Origin is the place of Data in the file.
	Origin diag.Origin
}

// MaxUnpacked is the size up to which compressed data is unpacked.
const MaxUnpacked = 16 << 20

// Unpack returns the parts of user-data in the order in which cloud-init handles them. Includes are not fetched: they
// are parts of their own kind. The list has what is wrong with the wrapping, not with the parts.
func Unpack(origin diag.Origin, data []byte) ([]Part, diag.List) {
	var l diag.List
	if cloudconfig.Recognise(data) == cloudconfig.Gzip {
		whole := diag.Origin{Whole: origin.Whole, What: origin.What}
		unpacked, err := bounded.Gunzip(data, MaxUnpacked)
		if err != nil {
			l.Errorf(mimepart.CodeGzip, origin.Whole, "compress it again", "the gzip data does not unpack: %v", err)
			return nil, l
		}
		data, origin = unpacked, whole
	}
	switch kind := cloudconfig.Recognise(data); kind {
	case cloudconfig.MIME:
		messages, found := mimepart.Parse(origin, data)
		l = append(l, found...)
		var out []Part
		for _, m := range messages {
			out = append(out, fromMIME(m, &l)...)
		}
		return out, l
	case cloudconfig.Empty:
		return nil, nil
	case cloudconfig.Archive:
		items, found := fromArchive(origin, data)
		return items, append(l, found...)
	default:
		return []Part{{Kind: kind, ContentType: kind.ContentType(), Data: data, Origin: origin}}, l
	}
}

// fromMIME does to a MIME part what cloud-init does: unpack it if its type says gzip, and look at its first line if
// its type is unspecific or a script.
func fromMIME(m mimepart.Part, l *diag.List) []Part {
	p := Part{ContentType: m.ContentType, Filename: m.Filename, MergeType: m.MergeType, Header: m.Header, Data: m.Data,
		Origin: m.Origin}
	unspecific := slices.Contains([]string{"text/plain", "text/x-not-multipart", "text/x-shellscript"}, m.ContentType)
	if cloudconfig.KindOf(m.ContentType) == cloudconfig.Gzip {
		unpacked, err := bounded.Gunzip(m.Data, MaxUnpacked)
		if err != nil {
			l.Errorf(mimepart.CodeGzip, m.Origin.At(1, 1), "compress the part again", "the part does not unpack: %v", err)
			return nil
		}
		p.Data, p.Origin.Lines, unspecific, p.ContentType = unpacked, nil, true, "text/plain"
		p.MergeType = "" // cloud-init does not carry the header over to the unpacked part
	}
	p.Kind = cloudconfig.KindOf(p.ContentType)
	if unspecific {
		switch kind := cloudconfig.RecogniseText(p.Data); kind {
		case cloudconfig.Unknown, cloudconfig.Empty, cloudconfig.Ignition, cloudconfig.Base64:
			if p.Kind != cloudconfig.Script {
				p.Kind = kind
			}
		default:
			p.Kind, p.ContentType = kind, kind.ContentType()
		}
	}
	if p.Kind == cloudconfig.Archive {
		items, found := fromArchive(p.Origin, p.Data)
		*l = append(*l, found...)
		return items
	}
	if len(bytes.TrimSpace(p.Data)) == 0 && p.Kind == cloudconfig.Unknown {
		p.Kind = cloudconfig.Empty
	}
	return []Part{p}
}

func fromArchive(origin diag.Origin, data []byte) ([]Part, diag.List) {
	items, l := cloudconfig.ParseArchive(origin, data)
	var out []Part
	for _, it := range items {
		p := Part{Kind: cloudconfig.KindOf(it.ContentType), ContentType: it.ContentType, Filename: it.Filename, Archived: true,
			Data: it.Content, Origin: it.Origin}
		for _, name := range []string{"Merge-Type", "X-Merge-Type", "Launch-Index"} {
			if v, ok := it.Header[name]; ok {
				p.Header = append(p.Header, mimepart.Field{Name: name, Value: v})
				if p.MergeType == "" && name != "Launch-Index" {
					p.MergeType = v
				}
			}
		}
		out = append(out, p)
	}
	return out, l
}

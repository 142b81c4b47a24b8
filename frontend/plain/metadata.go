package plain

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/internal/bounded"
)

// stated is a text with its place.
type stated struct {
	text string
	at   diag.Range
}

// metaData is what vmseed itself takes from a NoCloud meta-data file. The guest gets all of the file.
type metaData struct {
	instanceID, hostname, dsmode stated
}

func (r *reader) readMetaData(doc frontend.Document) {
	trees, l := tree.Parse(doc.File, doc.Data, bounded.Limits{})
	r.list = append(r.list, l...)
	switch {
	case l.HasErrors() || len(trees) == 0:
		return
	case len(trees) > 1:
		trees[1].Errorf(&r.list, CodeMetaData, "remove the second one", "meta-data is one YAML document")
		return
	case trees[0].Kind() != tree.Map:
		trees[0].Errorf(&r.list, CodeMetaData, "write a mapping such as instance-id: i-1", "meta-data should be a mapping")
		return
	}
	r.meta.instanceID = r.lookUp(trees[0], "instance-id")
	r.meta.hostname = r.lookUp(trees[0], "local-hostname")
	r.meta.dsmode = r.lookUp(trees[0], "dsmode")
}

// lookUp reads a text. Numbers and dates are taken as they are written, but the guest may see them in another spelling.
func (r *reader) lookUp(v tree.Value, key string) stated {
	field := v.Get(key)
	var l diag.List
	s := stated{field.Loose(&l), field.Range()}
	if len(l) > 0 {
		field.Errorf(&r.list, CodeMetaData, "write a text", "%q should be a text", key)
		return stated{}
	}
	if field.Str(&l); len(l) > 0 {
		field.Warnf(&r.list, CodeMetaData, "put it into quotes", "%q is no text, and the guest may see it in another spelling", key)
	}
	return s
}

package userdata

import (
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
)

// join adds generated keys to the author's document: lists are appended, mappings united, and the author's scalars win.
// What the author has in the place of a list is replaced, as Virtlet does. Wherever one side is lost that is said, with
// the place in the last of the author's documents that has the key.
func (c *composer) join(user, generated *cloudconfig.Document, parsed []*cloudconfig.Document) (*yaml.Node, error) {
	place := func(key string) diag.Range {
		at := c.m.Places.Find("")
		for _, doc := range parsed {
			if n := doc.Get(key); n != nil {
				at = doc.Range(n)
			}
		}
		return at
	}
	for _, key := range generated.Keys() {
		have, add := user.Get(key), generated.Get(key)
		if have == nil || add.Kind == yaml.ScalarNode {
			continue
		}
		nothing := cloudconfig.TypeOf(have) == cloudconfig.Null
		if !nothing && (cloudconfig.TypeOf(add) != cloudconfig.List || cloudconfig.TypeOf(have) == cloudconfig.List) {
			continue
		}
		if !nothing {
			c.list.Warnf(cloudconfig.CodeClash, place(key), "make a list of it", "%q is no list, so what the definition puts there replaces it", key)
		}
		trimmed, err := user.Without(key)
		if err != nil {
			return nil, err
		}
		user = trimmed
	}
	generated, err := c.settle(user, generated, place)
	if err != nil {
		return nil, err
	}
	return cloudconfig.Merge(user.Root(), generated.Root(), cloudconfig.AppendHow())
}

// settle says what of the generated document the author's wins over. What would win all the same where the two are merged
// is not in the result.
func (c *composer) settle(user, generated *cloudconfig.Document, place func(key string) diag.Range) (*cloudconfig.Document, error) {
	for _, key := range generated.Keys() {
		have, add := user.Get(key), generated.Get(key)
		if have == nil {
			continue
		}
		kept, lost := yield(key, have, add)
		for _, path := range lost {
			c.list.Warnf(CodeUserWins, place(key), "remove one of the two", "the cloud-config sets %q, and so does the definition; the cloud-config wins", path)
		}
		var err error
		switch {
		case kept == nil:
			generated, err = generated.Without(key)
		case len(lost) > 0:
			generated, err = generated.With(key, kept)
		}
		if err != nil {
			return nil, err
		}
	}
	return generated, nil
}

// yield lists the paths at which the first of two nodes wins over something else in the second. The second is returned
// without what is of another kind there: cloud-init lets a mapping or a list win over a text, for which the key user of a
// custom script is an example, and keeps the first of two scalars.
func yield(path string, have, add *yaml.Node) (kept *yaml.Node, lost []string) {
	for have.Kind == yaml.AliasNode {
		have = have.Alias
	}
	switch {
	case have.Kind != add.Kind:
		return nil, []string{path}
	case have.Kind == yaml.ScalarNode && (have.Value != add.Value || cloudconfig.TypeOf(have) != cloudconfig.TypeOf(add)):
		return add, []string{path}
	case have.Kind != yaml.MappingNode:
		return add, nil
	}
	out := *add
	out.Content = nil
	for i := 0; i+1 < len(add.Content); i += 2 {
		k, v := add.Content[i], add.Content[i+1]
		if n := field(have, k.Value); n != nil {
			var below []string
			v, below = yield(path+"."+k.Value, n, v)
			lost = append(lost, below...)
		}
		if v != nil {
			out.Content = append(out.Content, k, v)
		}
	}
	return &out, lost
}

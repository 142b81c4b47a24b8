// Package metadata builds the meta-data documents of data sources: one JSON object each, because JSON is YAML as well and
// old agents such as that of CirrOS read nothing else.
package metadata

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
)

// Object is a JSON object.
type Object map[string]any

// Overlay puts the top-level keys of the layers over the object, a later layer over an earlier one. Values replace each
// other whole, and a null stays a null. It returns which keys the layers named.
func (o Object) Overlay(layers []machine.Layer) (named map[string]bool, l diag.List) {
	named = map[string]bool{}
	for _, x := range layers {
		doc, problems := cloudconfig.Parse(x.Origin, []byte(x.Data.Reveal()))
		l = append(l, problems...)
		if doc == nil {
			continue
		}
		// Merging into nothing writes out aliases and merge keys, which JSON has not.
		plain, err := cloudconfig.Merge(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, doc.Root(), cloudconfig.AppendHow())
		if err != nil {
			l.Errorf(CodeValue, x.Origin.Whole, "", "meta-data cannot be read: %v", err)
			continue
		}
		merged := cloudconfig.FromNode(plain)
		for _, key := range merged.Keys() {
			v, err := value(merged.Get(key))
			if err != nil {
				at := x.Origin.Whole
				if n := doc.Get(key); n != nil {
					at = doc.Range(n)
				}
				l.Errorf(CodeValue, at, "write the value as text", "meta-data key %q: %v", key, err)
				continue
			}
			o[key], named[key] = v, true
		}
	}
	return named, l
}

// Text returns a key's value as a text. A number is a text for cloud-init as well.
func (o Object) Text(key string) string {
	switch v := o[key].(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// Verbatim returns the data of the only layer when the object says nothing that the layer does not.
func (o Object) Verbatim(layers []machine.Layer, named map[string]bool) ([]byte, bool) {
	if len(layers) != 1 {
		return nil, false
	}
	for key := range o {
		if !named[key] {
			return nil, false
		}
	}
	return []byte(layers[0].Data.Reveal()), true
}

// value turns a node into what encoding/json writes, read as PyYAML reads it.
func value(n *yaml.Node) (any, error) {
	switch cloudconfig.TypeOf(n) {
	case cloudconfig.Null:
		return nil, nil
	case cloudconfig.Bool:
		b, _ := cloudconfig.Truth(n)
		return b, nil
	case cloudconfig.Int:
		i, _ := cloudconfig.Integer(n)
		return json.Number(i.String()), nil
	case cloudconfig.Float:
		f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
		if err != nil || f-f != 0 {
			return nil, fmt.Errorf("the number has no form in JSON; put it into quotes")
		}
		return float(f), nil
	case cloudconfig.List:
		out := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, err := value(c)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case cloudconfig.Map:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := value(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			out[n.Content[i].Value] = v
		}
		return out, nil
	case cloudconfig.String, cloudconfig.Time:
		return n.Value, nil
	}
	return nil, fmt.Errorf("the value has no form in JSON")
}

// float writes a number so that PyYAML too reads a number with a fraction: with a dot, also before an exponent.
func float(f float64) json.Number {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	mantissa, exponent, scientific := strings.Cut(text, "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if scientific {
		exponent = "e" + exponent
	}
	return json.Number(mantissa + exponent)
}

// Instance returns the instance id that a machine ends with: that of the meta-data, or its own, with the revision.
func Instance(m machine.Machine, stated string) string {
	if stated != "" {
		m.Identity.InstanceID = stated
	}
	return m.Identity.Instance()
}

// Cached reports whether a guest of OpenStack's data sources may go on with what it has cached, although the machine's first
// boot is asked for again: whose instance id was the UUID of the firmware does not look for another (check_instance_id of
// DataSourceConfigDrive.py and DataSourceOpenStack.py, 22.4 to 26.2). Instance is the id that the guest is to find now.
func Cached(m machine.Machine, instance string) bool {
	base := m
	base.Identity.Revision = 0
	id := base.Identity.Instance()
	return m.Identity.Revision != 0 && strings.EqualFold(id, m.Identity.UUID) && strings.HasPrefix(instance, id)
}

// Common are the instance data that every data source shows under its own names.
func Common(m machine.Machine, names map[string]string) Object {
	id := m.Identity
	o := Object{}
	put := func(field, v string) {
		if name := names[field]; name != "" && v != "" {
			o[name] = v
		}
	}
	put("region", id.Region)
	put("availabilityZone", id.AvailabilityZone)
	put("instanceType", id.InstanceType)
	put("cloudName", id.CloudName)
	if id.LaunchIndex != nil && names["launchIndex"] != "" {
		o[names["launchIndex"]] = *id.LaunchIndex
	}
	if len(id.Tags) > 0 && names["tags"] != "" {
		o[names["tags"]] = id.Tags
	}
	if len(m.SSH.AuthorizedKeys) > 0 {
		o["public-keys"] = slices.Clone(m.SSH.AuthorizedKeys)
	}
	return o
}

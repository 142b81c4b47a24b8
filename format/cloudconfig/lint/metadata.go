package lint

import (
	"encoding/base64"

	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
)

// validBase64 accepts what Python's base64 does: padding, and line ends anywhere.
func validBase64(s string) bool {
	_, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	return err == nil
}

// notRead are keys that other data sources or tools use, with what NoCloud reads instead.
var notRead = map[string]string{
	"hostname": "local-hostname", "fqdn": "local-hostname", "local_hostname": "local-hostname", "instance_id": "instance-id",
	"uuid": "instance-id", "public_keys": "public-keys", "ssh_authorized_keys": "public-keys", "launch_index": "launch-index",
	"network": "the file network-config", "network_config": "the file network-config", "user-data": "the file user-data",
}

// MetaData checks what an author wrote as meta-data of NoCloud. An instance id may be missing: what renders the seed adds
// one.
func MetaData(origin diag.Origin, data []byte, g Guest) diag.List {
	d, l := cloudconfig.Parse(origin, data)
	if d == nil {
		return l
	}
	m := checker{doc: d, guest: g, list: &l}
	if id := d.Get("instance-id"); id != nil {
		switch t := cloudconfig.TypeOf(id); t {
		case cloudconfig.List, cloudconfig.Map, cloudconfig.Null:
			m.warn(CodeMetaData, id, "instance-id", "", "must be a string, not a %s", t)
		}
	}
	pairs(d.Root(), m.metaKey)
	return l
}

// metaKey checks one key of the meta-data.
func (c *checker) metaKey(k, v *yaml.Node) {
	v = follow(v)
	if sixty(v) {
		c.warn(CodeSixty, v, k.Value, "put it into quotes", "YAML reads this as one number to the base 60")
	}
	switch k.Value {
	case "local-hostname":
		if cloudconfig.TypeOf(v) != cloudconfig.String {
			c.warn(CodeMetaData, v, k.Value, "put it into quotes", "must be a string, not a %s", cloudconfig.TypeOf(v))
		}
	case "dsmode":
		if mode := v.Value; mode != "local" && mode != "net" && mode != "disabled" {
			c.warn(CodeMetaData, v, k.Value, "", "must be local, net or disabled; cloud-init takes net instead")
		}
	case "seedfrom":
		c.seedFrom(v)
	case "public-keys":
		c.publicKeys(v)
	case "network-interfaces":
		if since := (version{24, 3}); !c.guest.version().before(since) {
			c.deprecated(k, k.Value, "use network-config", since)
		}
		if cloudconfig.TypeOf(v) != cloudconfig.String {
			c.warn(CodeMetaData, v, k.Value, "", "must be the text of /etc/network/interfaces, not a %s", cloudconfig.TypeOf(v))
		}
	case "launch-index":
		if cloudconfig.TypeOf(v) != cloudconfig.Int {
			c.warn(CodeMetaData, v, k.Value, "", "must be a whole number, not a %s", cloudconfig.TypeOf(v))
		}
	default:
		if instead, ok := notRead[k.Value]; ok {
			c.warn(CodeMetaData, k, k.Value, "use "+instead, "NoCloud does not read this key")
		}
	}
}

// seedFrom checks the forms of the second seed's address.
func (c *checker) seedFrom(v *yaml.Node) {
	for _, scheme := range []string{"http://", "https://", "ftp://", "ftps://"} {
		if !strings.HasPrefix(v.Value, scheme) {
			continue
		}
		if since := (version{24, 2}); scheme[0] == 'f' && c.guest.version().before(since) {
			c.warn(CodeRelease, v, "seedfrom", "use http", "%s does not fetch by FTP, which came with cloud-init %s", c.guest, since)
		}
		if since := (version{23, 4}); !c.guest.version().before(since) {
			c.warn(CodeMetaData, v, "seedfrom", "give the address on the kernel command line or in the SMBIOS serial number",
				"%s does not follow an address in the meta-data of a disk", c.guest)
		}
		return
	}
	if !strings.HasPrefix(v.Value, "/") && !strings.HasPrefix(v.Value, "file://") {
		c.warn(CodeMetaData, v, "seedfrom", "", "must be a directory, or an address that begins with file://, http:// or https://")
	}
}

// publicKeys checks the three forms of public-keys. A mapping of mappings, as EC2 has it, yields no keys.
func (c *checker) publicKeys(v *yaml.Node) {
	switch cloudconfig.TypeOf(v) {
	case cloudconfig.String:
	case cloudconfig.List:
		c.keyTexts(v, "public-keys")
	case cloudconfig.Map:
		pairs(v, func(k, value *yaml.Node) {
			value = follow(value)
			at := join("public-keys", k.Value)
			switch cloudconfig.TypeOf(value) {
			case cloudconfig.String:
			case cloudconfig.List:
				c.keyTexts(value, at)
			default:
				c.warn(CodeMetaData, value, at, "", "must be a string or a list of strings, not a %s; NoCloud finds no key in it", cloudconfig.TypeOf(value))
			}
		})
	default:
		c.warn(CodeMetaData, v, "public-keys", "", "must be a string, a list or a mapping of strings, not a %s", cloudconfig.TypeOf(v))
	}
}

func (c *checker) keyTexts(list *yaml.Node, at string) {
	for i, item := range items(list) {
		if cloudconfig.TypeOf(item) != cloudconfig.String {
			c.warn(CodeMetaData, item, indexed(at, i), "", "must be a string, not a %s", cloudconfig.TypeOf(item))
		}
	}
}

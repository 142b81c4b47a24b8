package lint

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
)

// traps looks for what a schema does not catch. What is said about a value here is not said again by the schema.
func (c *checker) traps() {
	if how, _, _, err := c.doc.How(); err != nil && how == nil {
		c.add(CodeHow, diag.Error, c.doc.Get("merge_how"), "merge_how", "", "cloud-init drops the document: %v", err)
	}
	if left := c.doc.Get("merge_type"); left != nil && c.doc.Get("merge_how") != nil {
		if _, err := cloudconfig.HowOf(left); err != nil {
			c.add(CodeHow, diag.Error, left, "merge_type", "remove it", "cloud-init fails as a whole: merge_how beside it leaves it in the configuration, and %v", err)
		} else {
			c.warn(CodeHow, left, "merge_type", "remove it", "merge_how beside it wins; this stays in the configuration and decides how that is merged with the image's own")
		}
	}
	c.users()
	c.chpasswd()
	c.files()
	c.mounts()
}

// child returns the value of a key of a mapping, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	var found *yaml.Node
	if n != nil && n.Kind == yaml.MappingNode {
		pairs(n, func(k, v *yaml.Node) {
			if k.Value == key && found == nil {
				found = v
			}
		})
	}
	return follow(found)
}

func follow(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// items returns the items of a list, or nothing.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	out := make([]*yaml.Node, len(n.Content))
	for i, item := range n.Content {
		out[i] = follow(item)
	}
	return out
}

func isText(n *yaml.Node) bool {
	return n != nil && cloudconfig.TypeOf(n) == cloudconfig.String && !cloudconfig.Opaque(n)
}

// defaultUserKeys are the top-level keys that act on the distribution's user.
var defaultUserKeys = []string{"ssh_authorized_keys", "ssh_import_id", "password"}

func (c *checker) users() {
	users := c.doc.Get("users")
	list := items(users)
	if users == nil || users.Kind != yaml.SequenceNode {
		return
	}
	hasDefault := false
	for i, u := range list {
		if isText(u) {
			hasDefault = hasDefault || u.Value == "default"
		}
		hasDefault = hasDefault || cloudconfig.Opaque(u)
		if name := child(u, "name"); isText(name) && name.Value == "default" {
			hasDefault = true
		}
		c.user(u, indexed("users", i))
	}
	if hasDefault {
		return
	}
	for _, key := range defaultUserKeys {
		if n := c.doc.Get(key); n != nil {
			c.warn(CodeDefaultUser, n, key, "add the item default to users, or move this into one of the users",
				"this is for the distribution's default user, which the users list leaves out")
			return
		}
	}
	c.add(CodeDefaultUser, diag.Note, users, "users", "add the item default if it is wanted",
		"the distribution's default user is not created")
}

func indexed(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}

// hashForm is what crypt(3) takes for a hash, or a locked account.
var hashForm = regexp.MustCompile(`^(?:\$[0-9a-z]+\$|_|[!*]|[./0-9A-Za-z]{13}$)`)

func (c *checker) user(u *yaml.Node, path string) {
	if u == nil || u.Kind != yaml.MappingNode {
		return
	}
	withPassword := false
	for _, key := range []string{"passwd", "hashed_passwd"} {
		if n := child(u, key); isText(n) {
			withPassword = true
			if !hashForm.MatchString(n.Value) {
				c.warn(CodePassword, n, join(path, key), "put a hash here, or use plain_text_passwd",
					"this must be a password hash, and it does not look like one")
			}
		}
	}
	plain := child(u, "plain_text_passwd")
	lock := child(u, "lock_passwd")
	if lock == nil {
		lock = child(u, "lock-passwd")
	}
	if (withPassword || plain != nil) && lock == nil {
		c.warn(CodePassword, u, path, "add lock_passwd: false", "the user gets a password, but stays locked for passwords by default")
	}
}

func (c *checker) chpasswd() {
	for i, u := range items(child(c.doc.Get("chpasswd"), "users")) {
		password, kind := child(u, "password"), child(u, "type")
		if isText(password) && kind == nil && !hashForm.MatchString(password.Value) {
			c.warn(CodePassword, password, indexed("chpasswd.users", i)+".password", "add type: text",
				"the type is hash by default, and this does not look like one")
		}
	}
}

// modeForm is a mode as cloud-init reads it: octal digits, with or without a prefix.
var modeForm = regexp.MustCompile(`^(?:0[oO]?)?[0-7]{1,4}$`)

func (c *checker) files() {
	created := map[string]bool{}
	for _, u := range items(c.doc.Get("users")) {
		if name := child(u, "name"); isText(name) {
			created[name.Value] = true
		}
	}
	paths := map[string]*yaml.Node{}
	for i, f := range items(c.doc.Get("write_files")) {
		at := indexed("write_files", i)
		c.file(f, at, created)
		name := child(f, "path")
		if !isText(name) {
			continue
		}
		if !path.IsAbs(name.Value) {
			c.warn(CodeFile, name, at+".path", "write the path from /", "the path is not absolute; where the file goes depends on the guest")
		}
		appends, _ := cloudconfig.Truth(orNull(child(f, "append")))
		if first, ok := paths[name.Value]; ok && !appends {
			c.list.Add(diag.Diagnostic{Code: CodeFile, Severity: diag.Warning, Range: c.doc.Range(name), Field: at + ".path",
				Summary: "an earlier entry writes the same file, and this one overwrites it", Remedy: "remove one of the two"}.
				With(c.doc.Range(first), "the earlier one is here"))
		}
		paths[name.Value] = name
	}
}

func orNull(n *yaml.Node) *yaml.Node {
	if n == nil {
		return &yaml.Node{Kind: yaml.ScalarNode}
	}
	return n
}

func (c *checker) file(f *yaml.Node, at string, created map[string]bool) {
	if mode := child(f, "permissions"); mode != nil && !cloudconfig.Opaque(mode) {
		c.mode(mode, at+".permissions")
	}
	owner, deferred := child(f, "owner"), child(f, "defer")
	if late, _ := cloudconfig.Truth(orNull(deferred)); isText(owner) && !late {
		if user, _, _ := strings.Cut(owner.Value, ":"); created[user] {
			c.warn(CodeFile, owner, at+".owner", "add defer: true", "files are written before users are created, so that the owner does not exist yet")
		}
	}
	encoding, content := child(f, "encoding"), child(f, "content")
	if isText(encoding) && isText(content) {
		switch strings.ToLower(encoding.Value) {
		case "b64", "base64", "gz+b64", "gzip+b64", "gz+base64", "gzip+base64":
			if !validBase64(content.Value) {
				c.warn(CodeFile, content, at+".content", "encode it again", "the content is not the base64 text that its encoding says")
			}
		}
	}
}

// mode explains what becomes of permissions that are no octal text.
func (c *checker) mode(n *yaml.Node, at string) {
	switch value, isInt := cloudconfig.Integer(n); {
	case isInt && strings.HasPrefix(n.Value, "0") && len(n.Value) > 1:
		c.done[n] = true
		c.warn(CodeFile, n, at, `put it into quotes`, "the permissions are a number; cloud-init accepts it but its schema does not")
	case isInt:
		c.done[n] = true
		c.warn(CodeFile, n, at, `write it in quotes with a leading zero`,
			"the permissions are the decimal number %s, which means mode %s", value, "0"+value.Text(8))
	case isText(n) && !modeForm.MatchString(n.Value):
		c.warn(CodeFile, n, at, `write octal digits in quotes, such as "0640"`, "the permissions are no octal number; cloud-init takes 0644 instead")
	}
}

func (c *checker) mounts() {
	for i, m := range items(c.doc.Get("mounts")) {
		if m.Kind == yaml.SequenceNode && len(m.Content) < 2 {
			c.warn(CodeMount, m, indexed("mounts", i), "add the mount point", "the entry has no mount point; cloud-init skips it, or removes the device's own entry")
		}
	}
}

// shellKeys hold programs and texts for others, in which the marks of templates are nothing unusual.
var shellKeys = map[string]bool{"runcmd": true, "bootcmd": true, "write_files": true, "final_message": true, "phone_home": true,
	"snap": true, "apt": true, "ansible": true, "autoinstall": true, "power_state": true, "salt_minion": true, "chef": true,
	"puppet": true, "yum_repos": true, "rsyslog": true, "output": true, "random_seed": true, "disk_setup": true, "fs_setup": true}

// values walks all values for texts that were meant otherwise.
func (c *checker) values(n *yaml.Node, top, at string, depth int) {
	if depth > 100 {
		return
	}
	switch n = follow(n); n.Kind {
	case yaml.MappingNode:
		pairs(n, func(k, v *yaml.Node) {
			name := top
			if depth == 0 {
				name = k.Value
			}
			c.values(v, name, join(at, k.Value), depth+1)
		})
	case yaml.SequenceNode:
		for i, item := range n.Content {
			c.values(item, top, indexed(at, i), depth+1)
		}
	case yaml.ScalarNode:
		if sixty(n) && !c.done[n] {
			c.warn(CodeSixty, n, at, "put it into quotes", "YAML reads this as one number to the base 60")
		}
		if !shellKeys[top] && isText(n) {
			if name := cloudconfig.TemplateMark(n.Value); name != "" {
				c.warn(CodeVariable, n, at, "render the template first", "this looks like %s that was not rendered", name)
			}
		}
	}
}

// sixty reports whether YAML 1.1 reads digits with colons as one number.
func sixty(n *yaml.Node) bool {
	t := cloudconfig.TypeOf(n)
	return strings.Contains(n.Value, ":") && (t == cloudconfig.Int || t == cloudconfig.Float)
}

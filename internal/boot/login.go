package boot

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/machine"
)

// defaultUsers are the users that cloud images of distributions make and give the machine's SSH keys to. CoreOS and its kin
// bring theirs along.
var defaultUsers = map[string]string{
	"debian": "debian", "ubuntu": "ubuntu", "fedora": "fedora", "centos": "cloud-user", "rhel": "cloud-user", "almalinux": "almalinux",
	"rocky": "rocky", "alpine": "alpine", "arch": "arch", "cirros": "cirros", "freebsd": "freebsd",
	"coreos": ignitionUser, "fcos": ignitionUser, "rhcos": ignitionUser, "scos": ignitionUser, "ocp": ignitionUser, "flatcar": ignitionUser,
}

// ignitionUser is the default user of the distributions that are set up by Ignition.
const ignitionUser = "core"

// rootImage is the name of the image of the root disk, as options or definition have it.
func rootImage(o Options, m machine.Machine) string {
	if o.Image != "" {
		return o.Image
	}
	for _, d := range m.Disks {
		if d.Root {
			return d.Source.Image
		}
	}
	return ""
}

// shellWord is what a shell takes as it is: the name goes into commands that people copy.
var shellWord = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@+-]*$`)

// Login guesses whom people log in as: a user with SSH keys or a password, else the default user of the guest. It is empty when
// the guest's default user is not known.
func Login(m machine.Machine, o Options) string {
	if name := login(m, o); shellWord.MatchString(name) {
		return name
	}
	return ""
}

func login(m machine.Machine, o Options) string {
	known := cmp.Or(o.Login, defaultUsers[distribution(m.Guest.Release)], defaultUsers[distribution(path.Base(rootImage(o, m)))])
	configs := slices.Clone(m.Ignition)
	for _, x := range m.UserData.Layers {
		if ignconfig.Recognise([]byte(x.Data.Reveal())) != ignconfig.None {
			configs = append(configs, x)
		}
	}
	if o.Login == "" && (len(configs) > 0 || m.DataSource == "ignition") {
		known = ignitionUser
	}
	for _, u := range m.Users {
		switch {
		case u.Default && u.Name != "":
			known = u.Name
		case !u.Default && len(m.SSH.AuthorizedKeys) == 0 && (len(u.SSHAuthorizedKeys) > 0 || !u.Password.IsZero() || !u.PasswordHash.IsZero()):
			return u.Name
		}
	}
	if len(m.SSH.AuthorizedKeys) > 0 {
		return known // who else has keys may be anybody
	}
	for _, x := range configs {
		if name := ignitionLogin(x); name != "" {
			return name
		}
	}
	for _, x := range m.UserData.Layers {
		if name := cloudLogin(x); name != "" {
			return name
		}
	}
	return known
}

// distribution is the word that the name of a release or an image begins with: debian of debian-12 and of debian:12.
func distribution(name string) string {
	name = strings.ToLower(name)
	if i := strings.IndexFunc(name, func(r rune) bool { return r < 'a' || r > 'z' }); i >= 0 {
		name = name[:i]
	}
	return name
}

// ignitionLogin is the first user of a config who has keys or a password.
func ignitionLogin(x machine.Layer) string {
	c, l := ignconfig.Read(diag.Origin{}, []byte(x.Data.Reveal()))
	if l.HasErrors() {
		return ""
	}
	for _, u := range c.Types().Passwd.Users {
		if len(u.SSHAuthorizedKeys) > 0 || u.PasswordHash != nil {
			return u.Name
		}
	}
	return ""
}

// cloudLogin is the first user of a cloud-config who has keys or a password.
func cloudLogin(x machine.Layer) string {
	data := []byte(x.Data.Reveal())
	if cloudconfig.Recognise(data) != cloudconfig.CloudConfig {
		return ""
	}
	doc, l := cloudconfig.Parse(x.Origin, data)
	if doc == nil || l.HasErrors() {
		return ""
	}
	users := doc.Get("users")
	if users == nil || users.Kind != yaml.SequenceNode {
		return ""
	}
	for _, u := range users.Content {
		var entry struct {
			Name     string    `yaml:"name"`
			Keys     yaml.Node `yaml:"ssh_authorized_keys"`
			Dashed   yaml.Node `yaml:"ssh-authorized-keys"`
			Imports  yaml.Node `yaml:"ssh_import_id"`
			Hash     yaml.Node `yaml:"passwd"`
			Hashed   yaml.Node `yaml:"hashed_passwd"`
			Password yaml.Node `yaml:"plain_text_passwd"`
		}
		if u.Kind == yaml.MappingNode && u.Decode(&entry) == nil &&
			entry.Keys.Kind+entry.Dashed.Kind+entry.Imports.Kind+entry.Hash.Kind+entry.Hashed.Kind+entry.Password.Kind != 0 {
			return entry.Name
		}
	}
	return ""
}

package userdata

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/datasource/internal/account"
	"github.com/vmseed/vmseed/datasource/internal/devices"
	"github.com/vmseed/vmseed/datasource/internal/shell"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
)

// The paths of generated files, which are those of Virtlet.
const (
	linkScriptPath  = "/etc/cloud/symlink-devs.sh"
	mountScriptPath = "/etc/cloud/mount-volumes.sh"
	environmentPath = "/etc/cloud/environment"
	perBootDir      = "/var/lib/cloud/scripts/per-boot"
)

// generator builds the cloud-config of a machine's fields. Keys with nothing to say are left out.
type generator struct {
	m    machine.Machine
	list *diag.List
	out  cloudconfig.Mapping
	// own maps the path of each generated file to where the machine's document asks for it.
	own map[string]diag.Range
	// rootKeys says that root takes the keys that are for no user in particular.
	rootKeys bool
	// expired are the users who must choose a new password. cloud-init's list of users has no key for that.
	expired []string
}

// put adds a top-level key unless its value is empty.
func (g *generator) put(key string, v any) {
	switch x := v.(type) {
	case string:
		if x == "" {
			return
		}
	case []string:
		if len(x) == 0 {
			return
		}
	case []any:
		if len(x) == 0 {
			return
		}
	case []cloudconfig.Mapping:
		if len(x) == 0 {
			return
		}
	case cloudconfig.Mapping:
		if len(x) == 0 {
			return
		}
	case *bool:
		if x == nil {
			return
		}
		v = *x
	case bool:
		if !x {
			return
		}
	}
	g.out = append(g.out, cloudconfig.Entry{Key: key, Value: v})
}

// pairs makes a mapping of the entries whose values are not empty.
func pairs(entries ...cloudconfig.Entry) cloudconfig.Mapping {
	var g generator
	for _, e := range entries {
		g.put(e.Key, e.Value)
	}
	return g.out
}

func pair(key string, v any) cloudconfig.Entry { return cloudconfig.Entry{Key: key, Value: v} }

// generate returns the cloud-config of the machine's fields. With links and mounts false those are left to the script
// that the user's mark stands for.
func generate(m machine.Machine, mounts bool, l *diag.List) (cloudconfig.Mapping, map[string]diag.Range) {
	g := generator{m: m, list: l, own: map[string]diag.Range{}}
	g.system()
	g.accounts()
	g.ssh()
	g.files(mounts)
	g.references()
	if mounts {
		g.mounts()
	} else {
		g.put("mounts", g.swaps())
	}
	g.put("bootcmd", append(g.storage(), commands(m.BootCmd)...))
	runcmd := append(g.unitCommands(), commands(m.RunCmd)...)
	for _, name := range g.expired {
		runcmd = append(runcmd, []string{"chage", "-d", "0", name})
	}
	if mounts && linkScript(m) != "" {
		runcmd = append(runcmd, linkScriptPath,
			fmt.Sprintf("mkdir -p %[1]s && ln -fs %[2]s %[1]s/", perBootDir, linkScriptPath))
	}
	g.put("runcmd", runcmd)
	g.phoneHome()
	g.powerState()
	return g.out, g.own
}

func (g *generator) system() {
	m := g.m
	g.put("timezone", m.Guest.Timezone)
	g.put("locale", m.Guest.Locale)
	g.put("keyboard", pairs(pair("layout", m.Keyboard.Layout), pair("model", m.Keyboard.Model),
		pair("variant", m.Keyboard.Variant), pair("options", m.Keyboard.Options)))
	g.put("ntp", pairs(pair("enabled", m.NTP.Enabled), pair("pools", m.NTP.Pools), pair("servers", m.NTP.Servers)))
	g.put("package_update", m.Packages.Update)
	g.put("package_upgrade", m.Packages.Upgrade)
	g.put("packages", m.Packages.Install)
	var certs []string
	for _, c := range m.CACerts {
		certs = append(certs, c.Reveal())
	}
	g.put("ca_certs", pairs(pair("trusted", certs)))
}

// superuser is the account that every guest has already.
const superuser = "root"

// accounts writes users and groups. A list of users creates only those that it names, so the default user is named when
// something is said about it or keys are meant for it. Where root takes the place of the default user nobody is created:
// cloud-init gives keys that are for no user in particular to root.
func (g *generator) accounts() {
	var groups []any
	for _, grp := range g.m.Groups {
		if len(grp.Members) == 0 {
			groups = append(groups, grp.Name)
		} else {
			groups = append(groups, pairs(pair(grp.Name, grp.Members)))
		}
	}
	g.put("groups", groups)
	if len(g.m.Users) == 0 {
		return
	}
	users := []any{}
	named := slices.ContainsFunc(g.m.Users, func(u machine.User) bool { return u.Default })
	hasDefault := slices.ContainsFunc(g.m.Users, func(u machine.User) bool { return u.Default && u.Name != superuser })
	if !named && len(g.m.SSH.AuthorizedKeys) > 0 {
		users, hasDefault = append(users, "default"), true
	}
	for i, u := range g.m.Users {
		at := fmt.Sprintf("users[%d]", i)
		switch {
		case u.Default && u.Name != superuser:
			users = append(users, "default")
			g.defaultUser(u, at)
		case u.Name == superuser && !hasDefault && keysAlone(u):
			// A user of the list has its password locked unless it gets one, and root may have one of the image's.
			g.rootKeys = true
			g.put("ssh_authorized_keys", u.SSHAuthorizedKeys)
		default:
			g.rootKeys = g.rootKeys || u.Default
			users = append(users, g.user(u, at))
		}
	}
	// An empty list creates no users, where no list creates those of the image's configuration.
	g.out = append(g.out, pair("users", users))
}

// keysAlone reports whether nothing is said about a user beside its keys.
func keysAlone(u machine.User) bool {
	u.Name, u.Default, u.SSHAuthorizedKeys = "", false, nil
	return reflect.ValueOf(u).IsZero()
}

func (g *generator) user(u machine.User, at string) cloudconfig.Mapping {
	hash := g.hash(u, at)
	unlock := u.LockPassword
	if unlock == nil && account.Opens(hash) {
		unlock = new(bool)
	}
	e := pairs(pair("name", u.Name), pair("gecos", u.Gecos))
	if u.UID != nil {
		e = append(e, pair("uid", *u.UID))
	}
	e = append(e, pairs(
		pair("primary_group", u.PrimaryGroup), pair("groups", u.Groups), pair("homedir", u.Home),
		pair("no_create_home", u.NoCreateHome), pair("shell", u.Shell), pair("system", u.System),
		// hashed_passwd is applied to existing users as well, passwd to new ones only.
		pair("hashed_passwd", hash), pair("lock_passwd", unlock),
		pair("inactive", u.Inactive), pair("expiredate", u.Expires),
		pair("ssh_authorized_keys", u.SSHAuthorizedKeys), pair("ssh_import_id", u.SSHImportID), pair("sudo", sudo(u.Sudo)),
	)...)
	if u.ExpirePassword {
		g.expired = append(g.expired, u.Name)
	}
	return e
}

// passwordHash is what the key password takes for a hash; anything else it takes for the password itself
// (cc_set_passwords.py, 22.4 to 26.2).
var passwordHash = regexp.MustCompile(`^\$(1|2a|2y|5|6)(\$[^:]+){2}$`)

// defaultUser adjusts the distribution's own user by the top-level keys that cloud-init has for it.
func (g *generator) defaultUser(u machine.User, at string) {
	hash, expire := g.hash(u, at), u.ExpirePassword
	lock := u.LockPassword
	if passwordHash.MatchString(hash) {
		g.put("password", hash)
		g.put("chpasswd", pairs(pair("expire", &u.ExpirePassword)))
		hash, expire = "", false
	} else if account.Opens(hash) && lock == nil {
		lock = new(bool)
	}
	switch {
	case expire && u.Name != "":
		g.expired = append(g.expired, u.Name)
	case expire:
		g.lost(at, "the expiry of a password that it does not set", "give the user a name, or run chage in runcmd")
	}
	g.put("ssh_authorized_keys", u.SSHAuthorizedKeys)
	g.put("ssh_import_id", u.SSHImportID)
	overrides := pairs(pair("name", u.Name), pair("gecos", u.Gecos), pair("primary_group", u.PrimaryGroup),
		pair("groups", u.Groups), pair("homedir", u.Home), pair("no_create_home", u.NoCreateHome), pair("shell", u.Shell),
		pair("system", u.System), pair("hashed_passwd", hash), pair("lock_passwd", lock), pair("inactive", u.Inactive),
		pair("expiredate", u.Expires), pair("sudo", sudo(u.Sudo)))
	if u.UID != nil {
		overrides = append(overrides, pair("uid", *u.UID))
	}
	if len(overrides) > 0 && u.Name == "" {
		// ug_util.py takes the name of the distribution's user, the schema wants one all the same (22.4 to 26.2).
		g.list.Warnf(CodeNameless, g.place(at), "give the user a name; where it is only the password, hash it with sha512-crypt",
			"cloud-init does this to the default user, but warns of a user without a name, so the guest's first boot counts as degraded")
	}
	g.put("user", overrides)
}

// hash returns the user's password hash.
func (g *generator) hash(u machine.User, at string) string {
	hash, odd, err := account.Hash(g.m, u)
	if odd {
		g.list.Warnf(CodePassword, g.place(at), "make one with mkpasswd", "the passwordHash of user %q does not look like a hash of crypt(5)", u.Name)
	}
	if err != nil {
		g.list.Errorf(CodePassword, g.place(at), "give a passwordHash instead", "the password of user %q cannot be hashed", u.Name)
	}
	return hash
}

func (g *generator) ssh() {
	s := g.m.SSH
	keys := cloudconfig.Mapping{}
	for _, k := range s.HostKeys {
		keys = append(keys, pairs(pair(k.Type+"_private", k.Private.Reveal()), pair(k.Type+"_public", k.Public),
			pair(k.Type+"_certificate", k.Certificate))...)
	}
	g.put("ssh_keys", keys)
	g.put("ssh_deletekeys", s.DeleteHostKeys)
	g.put("ssh_genkeytypes", s.GenKeyTypes)
	g.put("ssh_pwauth", s.PasswordAuth)
	if s.DisableRoot == nil && g.rootKeys {
		s.DisableRoot = new(bool) // or the keys would be written with a command that sends their owner away
	}
	g.put("disable_root", s.DisableRoot)
}

// files writes the machine's files in their order, then the scripts and the environment, as Virtlet does.
func (g *generator) files(mounts bool) {
	var files []cloudconfig.Mapping
	for i, f := range g.m.Files {
		at := g.place(fmt.Sprintf("files[%d]", i))
		g.own[f.Path] = at
		files = append(files, g.file(f, at))
	}
	add := func(path, content, mode string) {
		if content != "" {
			if place, taken := g.own[path]; taken {
				g.list.Warnf(CodeSamePath, place, "choose another path", "the machine's own file %s is overwritten by a generated one", path)
			}
			g.own[path] = diag.Range{}
			files = append(files, pairs(pair("path", path), pair("content", content), pair("permissions", mode)))
		}
	}
	if mounts {
		add(linkScriptPath, linkScript(g.m), "0755")
		if g.m.UserData.MountScripts {
			add(mountScriptPath, mountScript(g.m), "0755")
		}
	}
	add(environmentPath, g.environment(), "0644")
	add(sourcesPath, g.dataSources(), "0644")
	units, places := g.unitFiles()
	for i, f := range units {
		at := g.place(places[i])
		if place, taken := g.own[f.Path]; taken {
			g.list.Warnf(CodeSamePath, place, "choose another path", "the machine's own file %s is overwritten by a unit", f.Path)
		}
		g.own[f.Path] = at
		files = append(files, g.file(f, at))
	}
	g.put("write_files", files)
}

// file writes one file. Its bytes are base64, because YAML cannot hold all of them and a guest's YAML reader must not
// see what is a secret of another kind in an error message.
func (g *generator) file(f machine.File, at diag.Range) cloudconfig.Mapping {
	e := pairs(pair("path", f.Path))
	e = append(e, pair("permissions", permissions(f.Mode)))
	// A guest empties /tmp while it boots, without waiting for cloud-init (LP: #1707222).
	late := f.Defer || strings.HasPrefix(f.Path, "/tmp/")
	e = append(e, pairs(pair("owner", f.Owner), pair("append", f.Append), pair("defer", late))...)
	return append(e, pair("encoding", "b64"), pair("content", base64.StdEncoding.EncodeToString([]byte(f.Content.Reveal()))))
}

// permissions writes a mode. cloud-init passes over a mode of 0 and leaves the file readable for all, so 0000 is written
// with the type bit of a regular file, which chmod ignores (util.chmod in cloudinit/util.py, 22.4 to 26.2).
func permissions(m machine.Mode) string {
	switch {
	case m == 0:
		return "0644"
	case m.Bits() == 0:
		return "0100000"
	}
	return fmt.Sprintf("%04o", m.Bits())
}

// sudo writes a single rule as a text, because the schema of 22.4 knows no lists and its guest warns of one at each boot.
func sudo(rules []string) any {
	if len(rules) == 1 {
		return rules[0]
	}
	return rules
}

// environment returns lines NAME=value that sh and systemd's EnvironmentFile read alike.
func (g *generator) environment() string {
	var b strings.Builder
	for i, v := range g.m.Environment {
		if wrong, remedy := shell.CheckVariable(v); wrong != "" {
			g.list.Errorf(CodeEnvironment, g.place(fmt.Sprintf("environment[%d]", i)), remedy, wrong, v.Name)
			continue
		}
		fmt.Fprintf(&b, "%s=%s\n", v.Name, shell.Value(v.Value.Reveal()))
	}
	return b.String()
}

// references complains of mounts and links of what the machine has not.
func (g *generator) references() {
	for i, mount := range g.m.Mounts {
		if _, ok := resolve(g.m, mount); !ok {
			what, name := "disk", mount.Disk
			if name == "" {
				what, name = "share", mount.Share
			}
			g.list.Errorf(CodeNoSuchDisk, g.place(fmt.Sprintf("mounts[%d]", i)), "name one of the machine's "+what+"s",
				"there is no %s %q to mount at %s", what, name, mount.Path)
		}
	}
	for i, link := range g.m.DeviceLinks {
		if _, ok := devices.Disk(g.m, link.Disk); !ok {
			g.list.Errorf(CodeNoSuchDisk, g.place(fmt.Sprintf("deviceLinks[%d]", i)), "name one of the machine's disks",
				"there is no disk %q for the link %s", link.Disk, link.Path)
		}
	}
}

func (g *generator) mounts() {
	var mounts []any
	for i, mount := range g.m.Mounts {
		x, ok := resolve(g.m, mount)
		if !ok {
			continue
		}
		if strings.ContainsAny(mount.Path, " \t\r\n") {
			g.list.Warnf(CodeMountPath, g.place(fmt.Sprintf("mounts[%d]", i)), "choose a path without blanks",
				"cloud-init cannot mount at %q, because it writes the path into /etc/fstab as it is", mount.Path)
		}
		row := []any{x.device, mount.Path}
		if x.kind == "" && len(x.options) > 0 {
			x.kind = "auto"
		}
		if x.kind != "" {
			row = append(row, x.kind)
		}
		if len(x.options) > 0 {
			row = append(row, strings.Join(x.options, ","))
		}
		mounts = append(mounts, row)
	}
	g.put("mounts", append(mounts, g.swaps()...))
}

func commands(list []machine.Command) []any {
	var out []any
	for _, c := range list {
		if len(c.Args) > 0 {
			out = append(out, c.Args)
		} else {
			out = append(out, c.Shell)
		}
	}
	return out
}

func (g *generator) phoneHome() {
	p := g.m.PhoneHome
	if p.URL == "" {
		return
	}
	e := pairs(pair("url", p.URL))
	if len(p.Post) == 0 {
		e = append(e, pair("post", "all"))
	} else {
		e = append(e, pair("post", p.Post))
	}
	if p.Tries != nil {
		e = append(e, pair("tries", *p.Tries))
	}
	g.put("phone_home", e)
}

// powerState writes power_state. Its delay counts in minutes, its timeout in seconds.
func (g *generator) powerState() {
	p := g.m.PowerState
	if p.Mode == "" {
		return
	}
	e := pairs(pair("mode", p.Mode))
	if p.Delay > 0 {
		minutes := int((p.Delay + time.Minute - 1) / time.Minute)
		e = append(e, pair("delay", minutes))
	}
	e = append(e, pairs(pair("message", p.Message))...)
	if p.Timeout > 0 {
		e = append(e, pair("timeout", int(p.Timeout/time.Second)))
	}
	e = append(e, pairs(pair("condition", p.Condition))...)
	g.put("power_state", e)
}

func (g *generator) place(path string) diag.Range { return g.m.Places.Find(path) }

func (g *generator) lost(path, what, remedy string) {
	g.list.Warnf(CodeNoWords, g.place(path), remedy, "cloud-init has no words for %s", what)
}

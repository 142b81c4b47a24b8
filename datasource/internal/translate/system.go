package translate

import (
	"strconv"
	"strings"
	"time"

	"github.com/vmseed/vmseed/datasource/internal/shell"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// idleKeys steer cloud-init itself, what it prints, or what it looks for in a cloud.
var idleKeys = []string{"allow_public_ssh_keys", "authkey_hash", "cloud_config_modules", "cloud_final_modules", "cloud_init_modules",
	"create_hostname_file", "disable_ec2_metadata", "final_message", "launch-index", "manual_cache_clean", "merge_how", "merge_type", "migrate", "no_ssh_fingerprints",
	"output", "reporting", "ssh", "ssh_fp_console_blacklist", "ssh_key_console_blacklist", "ssh_publish_hostkeys", "ssh_quiet_keygen",
	"system_info", "updates", "vendor_data", "version"}

// Remedies that several keys share.
const (
	byImage   = "put it into the image, or do it with runcmd"
	byFile    = "write the file itself with write_files"
	byCommand = "do it with runcmd"
)

// lostKeys are cloud-init's keys that a machine has no field for, with what to do instead.
var lostKeys = map[string]string{
	"ansible": byCommand, "apk_repos": byFile, "apt": byFile, "apt_pipelining": byFile, "autoinstall": "it is for Ubuntu's installer",
	"apt_reboot_if_required": byCommand, "byobu_by_default": byCommand, "chef": byCommand, "disable_root_opts": byFile, "drivers": byImage, "fan": byFile,
	"grub-dpkg": byImage, "grub_dpkg": byImage, "growpart": "Ignition can resize partitions; the images of such guests grow their root by themselves",
	"landscape": byCommand, "locale_configfile": byFile, "lxd": byCommand, "manage_etc_hosts": "write /etc/hosts with write_files",
	"manage_resolv_conf": "give the name servers in the definition's network", "mcollective": byCommand, "package_reboot_if_required": byCommand,
	"puppet": byCommand, "random_seed": "the hypervisor's random number generator is enough", "resize_rootfs": "the images of such guests grow their root by themselves",
	"resolv_conf": "give the name servers in the definition's network", "rh_subscription": byCommand, "rpi": byImage, "rsyslog": byFile,
	"salt_minion": byCommand, "snap": byCommand, "spacewalk": byCommand,
	"swap": "write the swap file's unit with the definition's units", "ubuntu_advantage": byCommand, "ubuntu_pro": byCommand,
	"wireguard": byFile, "yum_repo_dir": byFile, "yum_repos": byFile, "zypper": byFile,
	"preserve_hostname": "leave the host name out of the definition",
}

// hostname reads what util.get_hostname_fqdn reads.
func (r *reader) hostname(get func(string) (value, bool)) {
	name, fqdn := "", ""
	hostnameAt, has := get("hostname")
	if has {
		name, _ = r.text(hostnameAt)
	}
	fqdnAt, hasFQDN := get("fqdn")
	if hasFQDN {
		fqdn, _ = r.text(fqdnAt)
	}
	prefer := false
	if v, ok := get("prefer_fqdn_over_hostname"); ok {
		prefer, _ = r.boolean(v)
	}
	if fqdn == "" && strings.Contains(name, ".") {
		fqdn, fqdnAt = name, hostnameAt
	}
	short, domain, dotted := strings.Cut(fqdn, ".")
	switch {
	case name == "" || name == fqdn:
		name = short
	case fqdn != "" && name != short:
		r.say(CodeApart, diag.Warning, fqdnAt, "make fqdn begin with hostname", "the host name is not the first label of fqdn, so the name with its domain is that of hostname")
	}
	if name == "" {
		return
	}
	if !has {
		hostnameAt = fqdnAt
	}
	id := &r.m.Identity
	id.Hostname, r.set["identity.hostname"] = name, hostnameAt
	if dotted {
		id.Domain, r.set["identity.domain"] = domain, fqdnAt
	}
	if prefer && dotted {
		id.Hostname = name + "." + domain
	}
}

// systemKeys are the handlers of keys about the guest as a whole.
func (r *reader) systemKeys() keys {
	m := &r.m
	return keys{
		"timezone": r.setText("guest.timezone", &m.Guest.Timezone),
		"locale":   r.locale,
		"keyboard": func(v value) {
			k := &m.Keyboard
			r.mapping(v, keys{"layout": r.setText("keyboard.layout", &k.Layout), "model": r.setText("keyboard.model", &k.Model),
				"variant": r.setText("keyboard.variant", &k.Variant), "options": r.setText("keyboard.options", &k.Options)}, byFile)
		},
		"ntp":             r.ntp,
		"package_update":  r.setTrue("packages.update", &m.Packages.Update),
		"apt_update":      r.setTrue("packages.update", &m.Packages.Update),
		"package_upgrade": r.setTrue("packages.upgrade", &m.Packages.Upgrade),
		"apt_upgrade":     r.setTrue("packages.upgrade", &m.Packages.Upgrade),
		"packages":        r.packages,
		"ca_certs":        r.caCerts,
		"ca-certs":        r.caCerts,
		"runcmd":          func(v value) { m.RunCmd = append(m.RunCmd, r.commands("runcmd", v)...) },
		"bootcmd":         func(v value) { m.BootCmd = append(m.BootCmd, r.commands("bootcmd", v)...) },
		"phone_home":      r.phoneHome,
		"power_state":     r.powerState,
		"ssh_keys":        r.hostKeys,
		"ssh_deletekeys":  r.setFlag("ssh.deleteHostKeys", &m.SSH.DeleteHostKeys),
		"ssh_genkeytypes": r.addTexts("ssh.genKeyTypes", &m.SSH.GenKeyTypes),
		"ssh_pwauth":      r.passwordAuth,
		"disable_root":    r.setFlag("ssh.disableRoot", &m.SSH.DisableRoot),
	}
}

// locale takes false for "leave it alone", as cloud-init does.
func (r *reader) locale(v value) {
	if b, ok := cloudconfig.Truth(v.node); ok && !b {
		return
	}
	r.setText("guest.locale", &r.m.Guest.Locale)(v)
}

// ntp reads servers and pools; the key alone switches the time service on.
func (r *reader) ntp(v value) {
	n := &r.m.NTP
	r.mapping(v, keys{"enabled": r.setFlag("ntp.enabled", &n.Enabled), "servers": r.addTexts("ntp.servers", &n.Servers), "pools": r.addTexts("ntp.pools", &n.Pools)}, byFile)
	if n.Enabled == nil && len(n.Servers)+len(n.Pools) == 0 {
		on := true
		n.Enabled, r.set["ntp.enabled"] = &on, v
	}
}

func (r *reader) packages(v value) {
	for _, item := range r.items(v) {
		switch item.kind() {
		case cloudconfig.String:
			r.m.Packages.Install = append(r.m.Packages.Install, item.node.Value)
			r.set["packages.install"] = v
		default:
			r.lost(item, "name the packages alone, without version or package manager")
		}
	}
}

func (r *reader) caCerts(v value) {
	remove := func(v value) {
		if b, _ := r.boolean(v); b {
			r.lost(v, "remove the certificates in the image")
		}
	}
	r.mapping(v, keys{"remove_defaults": remove, "remove-defaults": remove, "trusted": func(v value) {
		for _, c := range r.texts(v) {
			r.m.CACerts = append(r.m.CACerts, secret.New(c))
			r.member("caCerts", v)
		}
	}}, byCommand)
}

// commands reads runcmd and bootcmd: a text is for the shell, a list is an argument vector (util.shellify).
func (r *reader) commands(field string, v value) []machine.Command {
	var out []machine.Command
	for _, item := range r.items(v) {
		switch item.kind() {
		case cloudconfig.List:
			if args := r.arguments(item); len(args) > 0 {
				out = append(out, machine.Command{Args: args})
				r.member(field, item)
			}
		case cloudconfig.Null:
		default:
			if s, ok := r.text(item); ok {
				out = append(out, machine.Command{Shell: s})
				r.member(field, item)
			}
		}
	}
	return out
}

// arguments returns an argument vector, or nothing when one of the arguments is none: a command is not run in part.
func (r *reader) arguments(v value) []string {
	var args []string
	for _, a := range r.items(v) {
		s, ok := r.argument(a)
		if !ok {
			if a.kind() == cloudconfig.Null {
				r.wrong(a, "a text")
			}
			return nil
		}
		args = append(args, s)
	}
	return args
}

// argument is text as Python's str() writes it, so a truth value has a capital.
func (r *reader) argument(v value) (string, bool) {
	if b, ok := cloudconfig.Truth(v.node); ok {
		if b {
			return "True", true
		}
		return "False", true
	}
	return r.text(v)
}

func (r *reader) phoneHome(v value) {
	p := &r.m.PhoneHome
	r.mapping(v, keys{
		"url": r.setText("phoneHome.url", &p.URL),
		"post": func(v value) {
			if v.kind() == cloudconfig.String && v.node.Value == "all" {
				return
			}
			p.Post = append(p.Post, r.texts(v)...)
		},
		"tries": r.setNumber("phoneHome.tries", &p.Tries),
	}, byCommand)
}

// powerState reads delay, which counts in minutes, and timeout, which counts in seconds.
func (r *reader) powerState(v value) {
	var p machine.PowerState
	never := false
	r.mapping(v, keys{
		"mode":    r.setText("powerState.mode", &p.Mode),
		"message": r.setText("powerState.message", &p.Message),
		"timeout": func(v value) {
			if n, ok := r.integer(v); ok {
				p.Timeout = time.Duration(max(n, 0)) * time.Second
			}
		},
		"delay": func(v value) {
			s, ok := r.text(v)
			if !ok || s == "now" {
				return
			}
			n, err := strconv.Atoi(strings.TrimPrefix(s, "+"))
			if err != nil || n < 0 || n > 1<<20 {
				r.lost(v, "write now or a number of minutes")
				return
			}
			p.Delay = time.Duration(n) * time.Minute
		},
		"condition": func(v value) { never = !r.condition(v, &p.Condition) },
	}, byCommand)
	if p.Mode != "" && !never {
		r.m.PowerState = p
		r.set["powerState"] = v
	}
}

// condition reports whether the guest may act at all: false as a condition says never.
func (r *reader) condition(v value, to *string) bool {
	if b, ok := cloudconfig.Truth(v.node); ok {
		return b
	}
	if v.kind() == cloudconfig.List {
		*to = shell.Words(r.texts(v))
		return true
	}
	r.setText("powerState.condition", to)(v)
	return true
}

// hostKeys reads pairs such as rsa_private and rsa_public.
func (r *reader) hostKeys(v value) {
	handlers := keys{}
	for _, kind := range []string{"rsa", "ecdsa", "ed25519", "dsa"} {
		key := func() *machine.HostKey {
			for i := range r.m.SSH.HostKeys {
				if r.m.SSH.HostKeys[i].Type == kind {
					return &r.m.SSH.HostKeys[i]
				}
			}
			r.m.SSH.HostKeys = append(r.m.SSH.HostKeys, machine.HostKey{Type: kind})
			return &r.m.SSH.HostKeys[len(r.m.SSH.HostKeys)-1]
		}
		put := func(to func(k *machine.HostKey, s string)) func(value) {
			return func(v value) {
				if s, ok := r.text(v); ok {
					to(key(), s)
				}
			}
		}
		handlers[kind+"_private"] = put(func(k *machine.HostKey, s string) { k.Private = secret.New(s) })
		handlers[kind+"_public"] = put(func(k *machine.HostKey, s string) { k.Public = s })
		handlers[kind+"_certificate"] = put(func(k *machine.HostKey, s string) { k.Certificate = s })
	}
	r.mapping(v, handlers, "use rsa, ecdsa or ed25519")
}

// passwordAuth takes "unchanged" for what it says.
func (r *reader) passwordAuth(v value) {
	if v.kind() == cloudconfig.String && strings.EqualFold(v.node.Value, "unchanged") {
		return
	}
	r.setFlag("ssh.passwordAuth", &r.m.SSH.PasswordAuth)(v)
}

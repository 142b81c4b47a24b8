package ignition

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/vmseed/vmseed/datasource/internal/shell"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// Where generated scripts are, and the notes of what has run.
const (
	scriptDir = "/etc/vmseed"
	stateDir  = "/var/lib/vmseed"
)

// unitSuffixes are those of systemd's units.
var unitSuffixes = []string{".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target", ".path", ".timer", ".slice", ".scope"}

// unit adds a unit of the generator's own. One that is there already is joined: the machine's own words on it count.
func (g *generator) unit(u types.Unit) {
	i := slices.IndexFunc(g.out.Systemd.Units, func(have types.Unit) bool { return have.Name == u.Name })
	if i < 0 {
		g.out.Systemd.Units = append(g.out.Systemd.Units, u)
		return
	}
	have := &g.out.Systemd.Units[i]
	switch {
	case have.Contents != nil && u.Contents != nil:
		g.list.Add(diag.Diagnostic{Code: CodeTwice, Severity: diag.Error, Range: g.place(""),
			Summary: fmt.Sprintf("the unit %s is asked for twice", u.Name), Remedy: "remove one of the two"})
	case u.Contents != nil:
		have.Contents = u.Contents
	}
	if u.Enabled != nil {
		have.Enabled = u.Enabled
	}
	if u.Mask != nil {
		have.Mask = u.Mask
	}
	have.Dropins = append(have.Dropins, u.Dropins...)
}

// units writes the machine's units.
func (g *generator) units() {
	for i, u := range g.m.Units {
		at := fmt.Sprintf("units[%d]", i)
		if !slices.Contains(unitSuffixes, path.Ext(u.Name)) || strings.Contains(u.Name, "/") {
			g.errorf(CodeName, at, "end it in .service or another suffix of systemd", "%q cannot be the name of a unit", u.Name)
			continue
		}
		out := types.Unit{Name: u.Name, Contents: stated(u.Content.Reveal()), Enabled: u.Enabled, Mask: stated(u.Mask)}
		for j, d := range u.DropIns {
			if path.Ext(d.Name) != ".conf" || strings.Contains(d.Name, "/") {
				g.errorf(CodeName, fmt.Sprintf("%s.dropIns[%d]", at, j), "end it in .conf", "%q cannot be the name of a drop-in", d.Name)
				continue
			}
			out.Dropins = append(out.Dropins, types.Dropin{Name: d.Name, Contents: of(d.Content.Reveal())})
		}
		g.unit(out)
	}
}

// job is a script that a generated unit runs.
type job struct {
	// name is that of the unit without prefix and suffix, and of the script unless it has one of its own.
	name, what string
	// text is the script.
	text string
	// once runs it at one boot only, whether it succeeds or not, as cloud-init does.
	once bool
	// unit is what the section Unit says of the order, wanted the target that wants it.
	unit, wanted string
}

// run writes the script of a job and the unit that runs it.
func (g *generator) run(j job) {
	file := scriptDir + "/" + j.name
	g.file(file, j.text, 0o700)
	var b strings.Builder
	fmt.Fprintf(&b, "[Unit]\nDescription=%s\n%s", j.what, j.unit)
	if j.once {
		fmt.Fprintf(&b, "ConditionPathExists=!%s/%s.done\n", g.state, unitText(j.name))
	}
	b.WriteString("\n[Service]\nType=oneshot\nRemainAfterExit=yes\nStandardOutput=journal+console\n")
	if j.once {
		fmt.Fprintf(&b, "ExecStartPre=/bin/mkdir -p %s\nExecStartPre=/bin/touch %s\n", g.state, execWord(g.state+"/"+j.name+".done"))
	}
	words := interpreter(j.text)
	for i := range words {
		words[i] = execWord(words[i])
	}
	fmt.Fprintf(&b, "ExecStart=%s\n\n[Install]\nWantedBy=%s\n", strings.Join(append(words, execWord(file)), " "), cmp.Or(j.wanted, "multi-user.target"))
	text := b.String()
	g.unit(types.Unit{Name: unitName(j.name), Contents: &text, Enabled: of(true)})
}

func unitName(job string) string { return "vmseed-" + job + ".service" }

// execWord writes a word of a command line, in which a dollar sign begins a variable (systemd.service(5)).
func execWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+,-./:=@_") == "" {
		return s
	}
	return strings.ReplaceAll(unitWord(s), "$", "$$")
}

// interpreter returns the program of a script's first line and its argument, of which the kernel knows one (execve(2)).
// Without such a line it is the shell; a program in machine code is its own.
func interpreter(text string) []string {
	first, _, _ := strings.Cut(text, "\n")
	line, ok := strings.CutPrefix(strings.TrimRight(first, " \t\r"), "#!")
	if !ok {
		if strings.HasPrefix(text, "\x7fELF") {
			return nil
		}
		return []string{"/bin/sh"}
	}
	program, argument, _ := strings.Cut(strings.TrimLeft(line, " \t"), " ")
	words := []string{program}
	if argument = strings.Trim(argument, " \t"); argument != "" {
		words = append(words, argument)
	}
	if !path.IsAbs(program) {
		return []string{"/bin/sh"}
	}
	return words
}

// commands writes what runs in the guest: commands for the first boot before log-ins, boot commands, scripts, run
// commands, the phone call, and what becomes of the machine then.
func (g *generator) commands() {
	g.links()
	if len(g.m.BootCmd) > 0 {
		g.run(job{name: "bootcmd", what: "Boot commands of the machine's definition", text: lines(g.m.BootCmd),
			unit:   "DefaultDependencies=no\nConflicts=shutdown.target\nAfter=local-fs.target systemd-tmpfiles-setup.service\nBefore=network-pre.target sysinit.target shutdown.target\nWants=network-pre.target\n",
			wanted: "sysinit.target"})
	}
	if len(g.setup) > 0 {
		g.run(job{name: "setup", what: "Settings of the machine's definition", once: true, text: "#!/bin/sh\n" + strings.Join(g.setup, "\n") + "\n",
			unit: "After=local-fs.target\nBefore=systemd-user-sessions.service sshd.service ssh.service network-online.target\n"})
	}
	g.scripts()
	g.phoneHome()
	g.powerState()
}

// lines makes a script of commands. A failure of one does not keep the next from running, and the last one counts, as it
// does for cloud-init.
func lines(commands []machine.Command) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for _, c := range commands {
		if len(c.Args) > 0 {
			b.WriteString(shell.Words(c.Args))
		} else {
			b.WriteString(c.Shell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// scripts runs the machine's scripts one after the other once the network is up: those for a single time, those for each
// boot, then those for the instance and the run commands by their names, which is cloud-init's order.
func (g *generator) scripts() {
	type entry struct {
		order int
		key   string
		job
	}
	var all []entry
	for i, s := range g.m.Scripts {
		at := fmt.Sprintf("scripts[%d]", i)
		if s.Name == "" || strings.ContainsAny(s.Name, "/\r\n\x00") || s.Name == "." || s.Name == ".." {
			g.errorf(CodeName, at, "give it a name without slashes", "%q cannot be the name of a script", s.Name)
			continue
		}
		name := "script-" + escapeName(s.Name)
		if slices.ContainsFunc(all, func(e entry) bool { return e.name == name }) {
			g.errorf(CodeTwice, at, "give each its own name", "the script %q is there twice", s.Name)
			continue
		}
		order := map[string]int{"once": 0, "boot": 1}[s.Frequency]
		if s.Frequency != "once" && s.Frequency != "boot" {
			order = 2
		}
		all = append(all, entry{order, s.Name, job{name: name, what: "Script " + unitText(s.Name) + " of the machine's definition",
			text: s.Content.Reveal(), once: order != 1}})
	}
	if len(g.m.RunCmd) > 0 {
		all = append(all, entry{2, "runcmd", job{name: "runcmd", what: "Commands of the machine's definition", text: lines(g.m.RunCmd), once: true}})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.key, b.key)) })
	for _, e := range all {
		g.runLate(e.job, "")
	}
}

// runLate runs a job when the network is up and all late jobs before it are done.
func (g *generator) runLate(j job, order string) {
	after := append([]string{"network-online.target"}, g.late...)
	j.unit = fmt.Sprintf("Wants=network-online.target\nAfter=%s\n%s", strings.Join(after, " "), order)
	g.run(j)
	g.late = append(g.late, unitName(j.name))
}

// posted are what cloud-init can tell when it phones home, as arguments of curl: files of keys, and shell text.
var posted = map[string]string{
	"pub_key_rsa":     "pub_key_rsa@/etc/ssh/ssh_host_rsa_key.pub",
	"pub_key_ecdsa":   "pub_key_ecdsa@/etc/ssh/ssh_host_ecdsa_key.pub",
	"pub_key_ed25519": "pub_key_ed25519@/etc/ssh/ssh_host_ed25519_key.pub",
	"instance_id":     "",
	"hostname":        "",
	"fqdn":            "",
}

// phoneHome posts a form to a URL, as cloud-init does.
func (g *generator) phoneHome() {
	p := g.m.PhoneHome
	if p.URL == "" {
		if len(p.Post) > 0 || p.Tries != nil {
			g.lost("phoneHome", "there is no URL to phone to", "give the URL")
		}
		return
	}
	instance := g.m.Identity.Instance()
	address := strings.NewReplacer("$INSTANCE_ID", instance, "${INSTANCE_ID}", instance).Replace(p.URL)
	names := p.Post
	if len(names) == 0 || slices.Equal(names, []string{"all"}) {
		names = []string{"pub_key_rsa", "pub_key_ecdsa", "pub_key_ed25519", "instance_id", "hostname", "fqdn"}
	}
	var b strings.Builder
	b.WriteString("#!/bin/sh\nset --\n")
	for _, name := range names {
		value, known := posted[name]
		switch {
		case !known:
			g.lost("phoneHome.post", fmt.Sprintf("there is no value %q to post", name), "name keys that cloud-init documents for phone_home")
		case value != "":
			_, file, _ := strings.Cut(value, "@")
			fmt.Fprintf(&b, "if [ -e %s ]; then set -- \"$@\" --data-urlencode %s; fi\n", file, value)
		case name == "instance_id":
			fmt.Fprintf(&b, "set -- \"$@\" --data-urlencode %s\n", shell.Word("instance_id="+instance))
		case name == "fqdn":
			b.WriteString("set -- \"$@\" --data-urlencode \"fqdn=$(hostname -f 2>/dev/null || cat /proc/sys/kernel/hostname)\"\n")
		default:
			b.WriteString("set -- \"$@\" --data-urlencode \"hostname=$(cat /proc/sys/kernel/hostname)\"\n")
		}
	}
	tries := 10
	if p.Tries != nil {
		tries = max(*p.Tries, 1)
	}
	fmt.Fprintf(&b, "n=0\nuntil curl -fsS -o /dev/null \"$@\" %s; do\n\tn=$((n + 1))\n\t[ $n -lt %d ] || exit 1\n\tsleep 3\ndone\n", shell.Word(address), tries)
	g.runLate(job{name: "phone-home", what: "Report of the machine's definition", text: b.String(), once: true},
		"After=sshd-keygen.target sshd-keygen.service sshd.service ssh.service\n")
}

// powerState ends the first boot when everything else is up. What is still to run by then has run: the unit comes behind
// the target of the whole boot.
func (g *generator) powerState() {
	p := g.m.PowerState
	if p.Mode == "" {
		return
	}
	flag, ok := map[string]string{"poweroff": "-P", "reboot": "-r", "halt": "-H"}[p.Mode]
	if !ok {
		g.errorf(CodeName, "powerState.mode", "write poweroff, reboot or halt", "%q is no state of a machine", p.Mode)
		return
	}
	when := "now"
	if minutes := (p.Delay + time.Minute - 1) / time.Minute; minutes > 0 {
		when = fmt.Sprintf("+%d", minutes)
	}
	words := []string{"shutdown", flag, when}
	if p.Message != "" {
		words = append(words, p.Message)
	}
	command := shell.Words(words)
	if p.Condition != "" {
		command = fmt.Sprintf("if sh -c %s; then %s; fi", shell.Word(p.Condition), command)
	}
	g.runLate(job{name: "power-state", what: "Power state of the machine's definition", text: "#!/bin/sh\n" + command + "\n", once: true},
		"After=multi-user.target\n")
}

package ovirt

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/crypt"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/format/unattend"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// The defaults of an engine for what an initialization does not say.
const (
	defaultWindowsZone = "GMT Standard Time"
	defaultLanguage    = "en-US"
)

// answerFields are the members of an initialization and the answers that they become.
var answerFields = map[string]string{
	"host_name": "ComputerName", "timezone": "TimeZone", "root_password": "AdministratorPassword", "user_name": "UserName", "domain": "Domain",
	"active_directory_ou": "OU", "org_name": "Organization", "windows_license_key": "ProductKey", "input_locale": "InputLocale",
	"system_locale": "SystemLocale", "user_locale": "UserLocale", "ui_language": "UILanguage",
}

// sysprep reads what Windows is told at its first boot out of the initialization. It is called when the kind is Sysprep,
// after hardware and names.
func (r *reader) sysprep() {
	at := map[string]tree.Value{} // where each answer stands
	text := func(member string) string {
		v := r.init.Get(member)
		at[answerFields[member]] = v
		return r.text(v)
	}
	a := unattend.Answers{
		ComputerName: text("host_name"), UserName: text("user_name"), Domain: text("domain"), OU: text("active_directory_ou"),
		Organization: text("org_name"), TimeZone: text("timezone"),
		InputLocale: text("input_locale"), SystemLocale: text("system_locale"), UserLocale: text("user_locale"), UILanguage: text("ui_language"),
	}
	if key := text("windows_license_key"); key != "" {
		a.ProductKey = secret.New(strings.ToUpper(key))
	}
	at["AdministratorPassword"] = r.init.Get("root_password")
	if p, ok := r.clear(r.init.Get("root_password")); ok {
		a.AdministratorPassword, a.Password = p, p
	}
	r.release(&a)
	r.joinAccount(&a, at)
	r.answerDefaults(&a)
	for _, p := range unattend.Check(a) {
		place := r.init
		if v, ok := at[p.Field]; ok && v.Exists() {
			place = v
		}
		place.Errorf(&r.list, CodeAnswer, p.Remedy, "%s", p.What)
	}
	r.m.Guest.OS, r.m.DataSource = "windows", machine.NoDataSource // the answer file is all that Windows is told
	r.at(r.init.Range(), "dataSource")
	if script := r.init.Get("custom_script"); r.text(script) != "" {
		r.answerScript(script, a)
	} else {
		r.unanswered(a)
		r.answers(unattend.Write(a), r.init.Range(), unattend.FileName)
	}
	r.notForWindows()
}

// notForWindows warns about members of the initialization that only other guests read. Those that an engine always returns
// say nothing when they have their defaults.
func (r *reader) notForWindows() {
	for _, e := range r.init.Entries() {
		_, answered := answerFields[e.Key]
		switch {
		case answered, slices.Contains([]string{"custom_script", "configuration", "regenerate_ids"}, e.Key), !slices.Contains(initMembers, e.Key) && !slices.Contains(aliases, e.Key):
			continue
		case e.Value.Kind() == tree.Null, blank(e.Value), e.Key == "nic_configurations" && len(r.listed(e.Value.Get("nic_configuration"))) == 0,
			e.Key == "regenerate_ssh_keys" && isFalse(e.Value):
		default:
			r.warn(e.Value, CodeNoAnswer, "set it up in the image", "Windows' answer file has no place for %s", e.Key)
		}
		e.Value.Consume()
	}
}

// clear reads a password that is needed in clear text. It returns false when there is none to be had.
func (r *reader) clear(v tree.Value) (secret.Text, bool) {
	p := r.verbatim(v)
	switch {
	case p == "":
		return secret.Text{}, false
	case p == Masked:
		v.Warnf(&r.list, CodeClearText, "state it anew", "the password is masked, as engines return it, so it is left out")
		return secret.Text{}, false
	case crypt.IsHash(p):
		v.Errorf(&r.list, CodeClearText, "state it in clear text", "the password is a hash of Linux, which Windows cannot use")
		return secret.Text{}, false
	}
	return secret.New(p), true
}

// Releases of Windows by their names in oVirt. Those with 32 bits are told by the missing ending x64, as long as there were any.
var (
	of32Bits    = regexp.MustCompile(`^windows_(7|8|10|2008)$`)
	before8     = regexp.MustCompile(`^windows_(7|2008|2008r2)(x64)?$`)
	oldSetup    = regexp.MustCompile(`^windows_(xp|2003)(x64)?$`)
	desktop     = regexp.MustCompile(`^windows_(7|8|10|11)(x64)?$`)
	nameLetters = regexp.MustCompile(`[^A-Za-z0-9-]+`)
)

// release takes from the type of the operating system what setup must know.
func (r *reader) release(a *unattend.Answers) {
	v := r.vm.At("os", "type")
	kind := strings.ToLower(v.Loose(new(diag.List)))
	if oldSetup.MatchString(kind) {
		v.Errorf(&r.list, CodeOldWindows, "use a later Windows, or give it a floppy payload with sysprep.inf", "%s reads no answer file of this form", kind)
	}
	a.Before8 = before8.MatchString(kind)
	if of32Bits.MatchString(kind) {
		a.Arch = "x86"
	}
}

// joinAccount reads the account that adds the computer to a domain: vm/domain, which an action has beside the initialization.
func (r *reader) joinAccount(a *unattend.Answers, at map[string]tree.Value) {
	v := r.vm.Get("domain")
	if !v.Exists() || v.Kind() == tree.Null {
		return
	}
	r.only(v, "id", "name", "user")
	v.Get("id").Consume()
	if name := r.text(v.Get("name")); name != "" {
		a.Domain = name // as in an engine, over that of the initialization
		at["Domain"] = v.Get("name")
	}
	user := v.Get("user")
	r.only(user, "id", "name", "user_name", "password", "domain")
	user.Get("id").Consume()
	user.Get("domain").Consume()
	at["Join.User"], at["Join.Password"] = user.Get("user_name"), user.Get("password")
	if a.Join.User = r.text(user.Get("user_name")); a.Join.User == "" {
		a.Join.User = r.text(user.Get("name"))
	}
	user.Get("name").Consume()
	if p, ok := r.clear(user.Get("password")); ok {
		a.Join.Password = p
	}
}

// answerDefaults fills in what an engine does: a name made of the vm's, its time zone and its language.
func (r *reader) answerDefaults(a *unattend.Answers) {
	if a.ComputerName == "" {
		name := strings.Trim(nameLetters.ReplaceAllString(r.m.Name, "-"), "-")
		a.ComputerName = strings.TrimRight(name[:min(len(name), 15)], "-")
		if a.ComputerName != r.m.Name && a.ComputerName != "" {
			r.list.Notef(CodeAnswer, r.vm.Get("name").Range(), "", "the computer is called %s, which is what Windows can take of the name of the VM", a.ComputerName)
		}
	}
	if zone, ok := unattend.WindowsZone(a.TimeZone); ok {
		a.TimeZone = zone
	} else if a.TimeZone == "" {
		a.TimeZone = defaultWindowsZone
	}
	for _, language := range []*string{&a.InputLocale, &a.SystemLocale, &a.UserLocale, &a.UILanguage} {
		*language = strings.ReplaceAll(*language, "en_US", defaultLanguage) // the spelling of engine-config
		if *language == "" {
			*language = defaultLanguage
		}
	}
}

// unanswered warns about what keeps setup from running through.
func (r *reader) unanswered(a unattend.Answers) {
	if a.AdministratorPassword.IsZero() && r.text(r.init.Get("root_password")) == "" {
		r.init.Warnf(&r.list, CodeUnanswered, "state root_password", "nobody gives the administrator a password, so Windows will ask for one")
	}
	if kind := r.vm.At("os", "type"); a.UserName == "" && a.Domain == "" && desktop.MatchString(strings.ToLower(kind.Loose(new(diag.List)))) {
		kind.Warnf(&r.list, CodeUnanswered, "state user_name", "nobody has an account: that of the administrator is off in releases for desktops")
	}
	if a.Domain != "" && (a.Join.User == "" || a.Join.Password.IsZero()) {
		r.init.Warnf(&r.list, CodeUnanswered, "state vm/domain/user with user_name and password", "there is no account that may add the computer to the domain %s", a.Domain)
	}
}

// answers adds the volume on which Windows finds its answer file. An engine uses a floppy disk. Windows asks read-only media
// too, and a CD on SATA needs neither a controller that today's machines lack nor a driver that Windows lacks.
func (r *reader) answers(file secret.Text, place diag.Range, names ...string) {
	media := machine.Media{Name: "sysprep", Kind: "sysprep", Label: "UNATTEND", Format: "iso", Bus: "sata"}
	for _, name := range names {
		media.Files = append(media.Files, machine.File{Path: "/" + name, Content: file})
	}
	r.at(place, "media[%d]", len(r.m.Media))
	r.m.Media = append(r.m.Media, media)
}

// answerScript takes a custom script for the answer file that it is, and fills its placeholders.
func (r *reader) answerScript(script tree.Value, a unattend.Answers) {
	text := secret.New(script.Loose(new(diag.List)))
	origin := script.Origin("")
	passes, err := unattend.Inspect(text)
	switch broken := (*unattend.SyntaxError)(nil); {
	case errors.As(err, &broken):
		r.list.Errorf(CodeAnswerFile, origin.At(broken.Line, broken.Column), "a custom script of Windows is a whole unattend.xml", "the custom script is no answer file: %v", err)
		return
	case err != nil:
		script.Errorf(&r.list, CodeAnswerFile, "a custom script of Windows is a whole unattend.xml", "the custom script is no answer file: %v", err)
		return
	}
	names := []string{unattend.FileName}
	if slices.Contains(passes, "windowsPE") || slices.Contains(passes, "offlineServicing") {
		// Engines' own files have the passes of an installation and are for images that have it behind them; such a script may
		// be for a disk that is empty as well.
		names = append(names, unattend.AutoFileName)
	}
	asked := unattend.Placeholders(text.Reveal())
	filled, unanswered := unattend.Fill(text, a)
	for _, missing := range unanswered {
		script.Warnf(&r.list, CodeUnanswered, "state it in the initialization, or write it into the script", "nothing is stated for the placeholder %s", missing)
	}
	for _, member := range slices.Sorted(maps.Keys(answerFields)) {
		v := r.init.Get(member)
		if v.Kind() == tree.Absent || v.Kind() == tree.Null || slices.ContainsFunc(placeholdersOf[member], func(p string) bool { return slices.Contains(asked, p) }) {
			continue
		}
		v.Warnf(&r.list, CodeNoAnswer, "write it into the script", "the custom script is the whole answer file and has no placeholder for %s", member)
	}
	r.answers(filled, script.Range(), names...)
}

// placeholdersOf are the placeholders that stand for a member of the initialization.
var placeholdersOf = map[string][]string{
	"host_name": {"$ComputerName$"}, "timezone": {"$TimeZone$"}, "root_password": {"$AdminPassword$"}, "domain": {"$JoinDomain$"},
	"active_directory_ou": {"$MachineObjectOU$"}, "org_name": {"$OrgName$"}, "windows_license_key": {"$ProductKey$"}, "input_locale": {"$InputLocale$"},
	"system_locale": {"$SystemLocale$"}, "user_locale": {"$UserLocale$"}, "ui_language": {"$UILanguage$", "$SetupUiLanguageUiLanguage$"},
}

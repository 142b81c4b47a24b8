package unattend

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Problem is an answer that Windows would not take. It never holds the answer itself when that is a secret.
type Problem struct {
	// Field is the name of the field of Answers, such as ComputerName or Join.Password.
	Field string
	// What says what is wrong, Remedy what to do.
	What, Remedy string
}

// Arches are the architectures of Windows, as answer files name them.
func Arches() []string { return []string{"amd64", "arm64", "x86"} }

var (
	computerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	digits       = regexp.MustCompile(`^[0-9]+$`)
	productKey   = regexp.MustCompile(`^[A-Za-z0-9]{5}(-[A-Za-z0-9]{5}){4}$`)
	language     = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-[A-Za-z]{2}|-[0-9]{3})?([_-][A-Za-z0-9]+)?$`)
	keyboard     = regexp.MustCompile(`^[0-9A-Fa-f]{4}:([0-9A-Fa-f]{8}|\{[0-9A-Fa-f-]{36}\}\{[0-9A-Fa-f-]{36}\})$`)
	orgUnit      = regexp.MustCompile(`(?i)^(OU|CN)=[^,]+(,\s*(OU|CN|DC)=[^,]+)*$`)
	accountName  = regexp.MustCompile(`^[^"/\\\[\]:;|=,+*?<>@]+$`)
)

// The lengths that Windows allows: NetBIOS names have 15 characters and account names 20.
const (
	maxNetBIOS  = 15
	maxAccount  = 20
	maxPassword = 127
)

// Check returns what Windows would not take of the answers.
func Check(a Answers) []Problem {
	var out []Problem
	add := func(bad bool, field, what, remedy string) {
		if bad {
			out = append(out, Problem{field, what, remedy})
		}
	}
	name := a.ComputerName
	add(a.Arch != "" && !slices.Contains(Arches(), a.Arch), "Arch", "Windows runs on "+strings.Join(Arches(), ", "), "")
	if name != "" && name != "*" {
		add(len(name) > maxNetBIOS, "ComputerName", "the name of a Windows computer has at most 15 characters", "shorten it")
		add(!computerName.MatchString(name) || strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || digits.MatchString(name),
			"ComputerName", "the name of a Windows computer has letters, digits and hyphens, no hyphen at its ends, and not only digits", "")
	}
	if zone, known := WindowsZone(a.TimeZone); a.TimeZone != "" {
		add(!known || zone != a.TimeZone, "TimeZone", "Windows has no such time zone", `use a name such as "W. Europe Standard Time" or Europe/Berlin`)
	}
	add(!a.ProductKey.IsZero() && !productKey.MatchString(a.ProductKey.Reveal()), "ProductKey",
		"a product key has five groups of five letters and digits with hyphens between them", "")
	for _, x := range []struct{ field, text string }{{"SystemLocale", a.SystemLocale}, {"UserLocale", a.UserLocale}, {"UILanguage", a.UILanguage}} {
		add(x.text != "" && !language.MatchString(x.text), x.field, "this is no language", "write it as en-US")
	}
	if a.InputLocale != "" {
		for one := range strings.SplitSeq(a.InputLocale, ";") {
			one = strings.TrimSpace(one)
			add(!language.MatchString(one) && !keyboard.MatchString(one), "InputLocale", "this is neither a language nor a keyboard",
				"write it as en-US or 0409:00000409")
		}
	}
	out = append(out, checkMembership(a)...)
	return append(out, checkText(a)...)
}

// checkMembership checks domain, workgroup and accounts.
func checkMembership(a Answers) []Problem {
	var out []Problem
	add := func(bad bool, field, what, remedy string) {
		if bad {
			out = append(out, Problem{field, what, remedy})
		}
	}
	add(a.Domain != "" && a.Workgroup != "", "Workgroup", "a computer is in a domain or in a workgroup", "remove one of the two")
	add(len(a.Workgroup) > maxNetBIOS, "Workgroup", "the name of a workgroup has at most 15 characters", "shorten it")
	add(a.OU != "" && a.Domain == "", "OU", "an organizational unit without a domain to join means nothing", "name the domain")
	add(a.OU != "" && !orgUnit.MatchString(a.OU), "OU", "this is no LDAP name of an organizational unit", "write it as OU=Servers,DC=example,DC=com")
	add(a.Join.User != "" && a.Domain == "", "Join.User", "an account without a domain to join means nothing", "name the domain")
	add(a.Join.User == "" && !a.Join.Password.IsZero(), "Join.Password", "the password is for no account", "name the account")
	add(a.UserName != "" && (len([]rune(a.UserName)) > maxAccount || !accountName.MatchString(a.UserName) || strings.Trim(a.UserName, ". ") == ""),
		"UserName", `the name of a Windows account has at most 20 characters, none of "/\[]:;|=,+*?<>@, and not only dots and blanks`, "")
	return out
}

// checkText refuses text that no XML document can hold.
func checkText(a Answers) []Problem {
	var out []Problem
	for _, x := range []struct {
		field, text string
		limit       int
	}{
		{"ComputerName", a.ComputerName, 0}, {"AdministratorPassword", a.AdministratorPassword.Reveal(), maxPassword}, {"UserName", a.UserName, 0},
		{"Password", a.Password.Reveal(), maxPassword}, {"Domain", a.Domain, 255}, {"OU", a.OU, 0}, {"Join.Domain", a.Join.Domain, 255},
		{"Join.User", a.Join.User, 255}, {"Join.Password", a.Join.Password.Reveal(), 255}, {"Workgroup", a.Workgroup, 0},
		{"Organization", a.Organization, 255}, {"Owner", a.Owner, 255},
	} {
		if !utf8.ValidString(x.text) || strings.ContainsFunc(x.text, func(c rune) bool { return c < ' ' || c == 0x7f || c == 0xfffe || c == 0xffff }) {
			out = append(out, Problem{x.field, "it has control characters, which no answer file can hold", "remove them"})
		}
		if x.limit > 0 && len([]rune(x.text)) > x.limit {
			out = append(out, Problem{x.field, "it is longer than Windows allows", "shorten it"})
		}
	}
	return out
}

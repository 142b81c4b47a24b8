// Package unattend writes the answer files with which Windows sets itself up after sysprep, unattend.xml.
//
// A file has the two configuration passes that run at the first boot of a generalized image: specialize (name, domain,
// product key, time zone) and oobeSystem (languages, accounts, no questions). Sources: Microsoft's Unattended Windows
// Setup Reference, for the components and the passes in which each setting is valid; and for the coding of passwords the
// examples there.
package unattend

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/vmseed/vmseed/secret"
)

// FileName is the name under which Windows looks for the answer file of these passes, in the root of a removable medium.
// Windows asks read-write media before read-only ones, each in the order of their letters.
const FileName = "Unattend.xml"

// AutoFileName is the name of an answer file that has the passes of Windows' own setup, windowsPE and offlineServicing, as
// well. Setup looks for no other.
const AutoFileName = "Autounattend.xml"

// administrator is the name of the account that every Windows has.
const administrator = "Administrator"

// Answers is what an answer file says. What is empty is left out, and Windows keeps its own default.
type Answers struct {
	// Arch is amd64 (default), x86 or arm64: components of another architecture are passed over by Windows.
	Arch string
	// Before8 is for Windows 7 and Windows Server 2008: their setup stops at settings that came with Windows 8.
	Before8 bool
	// ComputerName has at most 15 letters, digits and hyphens; * lets Windows make one up.
	ComputerName string
	// TimeZone is a name of Windows, see WindowsZone.
	TimeZone string
	// AdministratorPassword is in clear text, as Windows needs it.
	AdministratorPassword secret.Text
	// UserName is an account to create beside the built-in one, an administrator with the password Password.
	UserName string
	Password secret.Text
	// Domain is joined with Join, and the computer's account is put into OU, an LDAP name.
	Domain string
	OU     string
	Join   Credentials
	// Workgroup is joined instead of a domain.
	Workgroup string
	// Organization and Owner are whom Windows is registered to.
	Organization, Owner string
	// ProductKey has five groups of five characters.
	ProductKey secret.Text
	// InputLocale is a language such as en-US or a keyboard such as 0409:00000409, several with semicolons between them.
	InputLocale string
	// SystemLocale, UserLocale and UILanguage are languages such as en-US.
	SystemLocale, UserLocale, UILanguage string
}

// Credentials are those of an account that may add computers to a domain.
type Credentials struct {
	// Domain is that of the account; empty means the domain that is joined.
	Domain   string
	User     string
	Password secret.Text
}

// component is the name of a part of Windows that has settings.
type component string

const (
	shellSetup    component = "Microsoft-Windows-Shell-Setup"
	join          component = "Microsoft-Windows-UnattendedJoin"
	international component = "Microsoft-Windows-International-Core"
)

// Write returns the answer file: UTF-8, without a byte order mark. The same answers give the same bytes. Answers that Check refuses are written all the same.
func Write(a Answers) secret.Text {
	w := writer{arch: a.Arch}
	if w.arch == "" {
		w.arch = "amd64"
	}
	w.line(`<?xml version="1.0" encoding="utf-8"?>`)
	w.open(`unattend xmlns="urn:schemas-microsoft-com:unattend" xmlns:wcm="http://schemas.microsoft.com/WMIConfig/2002/State"`)
	w.pass("specialize", func() {
		w.component(shellSetup, func() {
			w.value("ComputerName", a.ComputerName)
			w.value("ProductKey", a.ProductKey.Reveal())
			w.value("RegisteredOrganization", a.Organization)
			w.value("RegisteredOwner", a.Owner)
			w.value("TimeZone", a.TimeZone)
		})
		w.component(join, func() { w.group("Identification", func() { w.identification(a) }) })
	})
	w.pass("oobeSystem", func() {
		w.component(international, func() {
			w.value("InputLocale", a.InputLocale)
			w.value("SystemLocale", a.SystemLocale)
			w.value("UILanguage", a.UILanguage)
			w.value("UserLocale", a.UserLocale)
		})
		w.component(shellSetup, func() { w.welcome(a) })
	})
	w.close("unattend")
	return secret.New(w.b.String())
}

// identification writes what the computer becomes a member of.
func (w *writer) identification(a Answers) {
	if a.Domain == "" {
		w.value("JoinWorkgroup", a.Workgroup)
		return
	}
	if a.Join.User != "" {
		domain := a.Join.Domain
		if domain == "" {
			domain = a.Domain
		}
		w.group("Credentials", func() {
			w.value("Domain", domain)
			w.value("Password", a.Join.Password.Reveal()) // this component knows no other coding
			w.value("Username", a.Join.User)
		})
	}
	w.value("JoinDomain", a.Domain)
	w.value("MachineObjectOU", a.OU)
}

// welcome writes the accounts, and keeps Windows from asking at its first start.
func (w *writer) welcome(a Answers) {
	w.group("OOBE", func() {
		w.value("HideEULAPage", "true")
		if a.Before8 {
			w.value("SkipMachineOOBE", "true")
			w.value("SkipUserOOBE", "true")
			return
		}
		w.value("HideLocalAccountScreen", "true")
		w.value("HideOnlineAccountScreens", "true")
		w.value("HideWirelessSetupInOOBE", "true")
		w.value("ProtectYourPC", "3")
	})
	w.group("UserAccounts", func() {
		if !a.AdministratorPassword.IsZero() {
			w.group("AdministratorPassword", func() { w.password(a.AdministratorPassword, "AdministratorPassword") })
		}
		if a.UserName == "" || strings.EqualFold(a.UserName, administrator) {
			return
		}
		w.group("LocalAccounts", func() {
			w.open(`LocalAccount wcm:action="add"`)
			if !a.Password.IsZero() {
				w.group("Password", func() { w.password(a.Password, "Password") })
			}
			w.value("Group", "Administrators")
			w.value("Name", a.UserName)
			w.close("LocalAccount")
		})
	})
}

// password writes a password as the Windows System Image Manager does when it hides it: with the name of its setting
// appended, in UTF-16, in Base64. Anybody can read it back.
func (w *writer) password(p secret.Text, setting string) {
	var raw []byte
	for _, unit := range utf16.Encode([]rune(p.Reveal() + setting)) {
		raw = binary.LittleEndian.AppendUint16(raw, unit)
	}
	w.value("Value", base64.StdEncoding.EncodeToString(raw))
	w.value("PlainText", "false")
}

// writer writes elements. A group without content leaves nothing behind.
type writer struct {
	b     strings.Builder
	arch  string
	depth int
	// opened are the tags of groups that wait for content.
	opened []string
}

func (w *writer) line(text string) {
	for i, tag := range w.opened {
		depth := w.depth - len(w.opened) + i
		fmt.Fprintf(&w.b, "%s<%s>\n", strings.Repeat("  ", depth), tag)
	}
	w.opened = nil
	fmt.Fprintf(&w.b, "%s%s\n", strings.Repeat("  ", w.depth), text)
}

func (w *writer) open(tag string) {
	w.line("<" + tag + ">")
	w.depth++
}

func (w *writer) close(name string) {
	w.depth--
	w.line("</" + name + ">")
}

// wait opens a group when there is content, and closes it then.
func (w *writer) wait(tag string, content func()) {
	w.opened = append(w.opened, tag)
	w.depth++
	content()
	w.depth--
	if n := len(w.opened); n > 0 {
		w.opened = w.opened[:n-1]
		return
	}
	name, _, _ := strings.Cut(tag, " ")
	w.line("</" + name + ">")
}

func (w *writer) pass(name string, content func()) {
	w.wait(`settings pass="`+name+`"`, content)
}

// component opens the settings of a component. Its token is that of every part of Windows.
func (w *writer) component(name component, content func()) {
	w.wait(`component name="`+string(name)+`" processorArchitecture="`+w.arch+
		`" publicKeyToken="31bf3856ad364e35" language="neutral" versionScope="nonSxS"`, content)
}

func (w *writer) group(name string, content func()) { w.wait(name, content) }

// value writes a setting, unless it is empty: most settings do not take empty values.
func (w *writer) value(name, text string) {
	if text != "" {
		w.line("<" + name + ">" + escape(text) + "</" + name + ">")
	}
}

// escape makes text of a value. Line breaks are coded as well, which a parser would change.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#13;", "\n", "&#10;", "\t", "&#9;").Replace(text)
}

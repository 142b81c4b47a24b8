package unattend

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/vmseed/vmseed/secret"
)

func full() Answers {
	return Answers{Arch: "arm64", ComputerName: "WEB-1", TimeZone: "Israel Standard Time", AdministratorPassword: secret.New("pw"),
		UserName: "ann", Password: secret.New("p&<>\"'ä😀"), Domain: "example.com", OU: "OU=Web,DC=example,DC=com",
		Join: Credentials{User: "joiner", Password: secret.New("a<b&c]]>d")}, Organization: "Smith & Sons", Owner: "Ann <ann>",
		ProductKey: secret.New("AAAAA-BBBBB-CCCCC-DDDDD-EEEEE"), InputLocale: "0409:00000409;de-DE", SystemLocale: "en-US", UserLocale: "he-IL", UILanguage: "en-US"}
}

// settings flattens an answer file with a parser that is not ours: pass/component/Group/Setting to its text.
func settings(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	var path []string
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("no XML: %v\n%s", err, text)
		}
		switch x := token.(type) {
		case xml.StartElement:
			if x.Name.Space != "urn:schemas-microsoft-com:unattend" {
				t.Errorf("%s is in the namespace %q", x.Name.Local, x.Name.Space)
			}
			name := x.Name.Local
			switch name {
			case "settings":
				name = attribute(x, "pass")
			case "component":
				name = attribute(x, "name") + "@" + attribute(x, "processorArchitecture")
				if attribute(x, "publicKeyToken") != "31bf3856ad364e35" || attribute(x, "language") != "neutral" || attribute(x, "versionScope") != "nonSxS" {
					t.Errorf("the component %s has not the identity of a part of Windows", name)
				}
			}
			path = append(path, name)
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			if text := string(x); strings.TrimSpace(text) != "" {
				key := strings.Join(path[1:], "/")
				if _, twice := out[key]; twice {
					t.Errorf("%s is there twice", key)
				}
				out[key] = text
			}
		}
	}
}

// The paths are the parent hierarchies of Microsoft's reference, below the pass in which it says each is valid.
func TestWrite(t *testing.T) {
	const (
		special = "specialize/Microsoft-Windows-Shell-Setup@arm64/"
		member  = "specialize/Microsoft-Windows-UnattendedJoin@arm64/Identification/"
		tongue  = "oobeSystem/Microsoft-Windows-International-Core@arm64/"
		welcome = "oobeSystem/Microsoft-Windows-Shell-Setup@arm64/"
	)
	want := map[string]string{
		special + "ComputerName": "WEB-1", special + "ProductKey": "AAAAA-BBBBB-CCCCC-DDDDD-EEEEE", special + "RegisteredOrganization": "Smith & Sons",
		special + "RegisteredOwner": "Ann <ann>", special + "TimeZone": "Israel Standard Time",
		member + "Credentials/Domain": "example.com", member + "Credentials/Password": "a<b&c]]>d", member + "Credentials/Username": "joiner",
		member + "JoinDomain": "example.com", member + "MachineObjectOU": "OU=Web,DC=example,DC=com",
		tongue + "InputLocale": "0409:00000409;de-DE", tongue + "SystemLocale": "en-US", tongue + "UILanguage": "en-US", tongue + "UserLocale": "he-IL",
		welcome + "OOBE/HideEULAPage": "true", welcome + "OOBE/HideLocalAccountScreen": "true", welcome + "OOBE/HideOnlineAccountScreens": "true",
		welcome + "OOBE/HideWirelessSetupInOOBE": "true", welcome + "OOBE/ProtectYourPC": "3",
		// The example of Microsoft's page about AdministratorPassword.
		welcome + "UserAccounts/AdministratorPassword/Value":     "cAB3AEEAZABtAGkAbgBpAHMAdAByAGEAdABvAHIAUABhAHMAcwB3AG8AcgBkAA==",
		welcome + "UserAccounts/AdministratorPassword/PlainText": "false",
		// UTF-16 has two units for the last character of the password.
		welcome + "UserAccounts/LocalAccounts/LocalAccount/Password/Value":     "cAAmADwAPgAiACcA5AA92ADeUABhAHMAcwB3AG8AcgBkAA==",
		welcome + "UserAccounts/LocalAccounts/LocalAccount/Password/PlainText": "false",
		welcome + "UserAccounts/LocalAccounts/LocalAccount/Group":              "Administrators", welcome + "UserAccounts/LocalAccounts/LocalAccount/Name": "ann",
	}
	if problems := Check(full()); problems != nil {
		t.Errorf("these are good answers: %v", problems)
	}
	file := Write(full())
	got := settings(t, file.Reveal())
	for key, text := range want {
		if got[key] != text {
			t.Errorf("%s = %q, want %q", key, got[key], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d settings, want %d: %v", len(got), len(want), got)
	}
	if !file.Equal(Write(full())) {
		t.Error("the same answers give two files")
	}
	if passes, err := Inspect(file); err != nil || !slices.Equal(passes, []string{"specialize", "oobeSystem"}) {
		t.Errorf("Inspect: %v, %v", passes, err)
	}
}

func TestWriteLittle(t *testing.T) {
	got := settings(t, Write(Answers{Workgroup: "LAB", Before8: true, UserName: "administrator"}).Reveal())
	want := map[string]string{
		"specialize/Microsoft-Windows-UnattendedJoin@amd64/Identification/JoinWorkgroup": "LAB",
		"oobeSystem/Microsoft-Windows-Shell-Setup@amd64/OOBE/HideEULAPage":               "true",
		"oobeSystem/Microsoft-Windows-Shell-Setup@amd64/OOBE/SkipMachineOOBE":            "true",
		"oobeSystem/Microsoft-Windows-Shell-Setup@amd64/OOBE/SkipUserOOBE":               "true",
	}
	for key, text := range want {
		if got[key] != text {
			t.Errorf("%s = %q, want %q", key, got[key], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("more than was asked for: %v", got)
	}
	if text := Write(Answers{}).Reveal(); strings.Contains(text, "specialize") || strings.Contains(text, "UserAccounts") {
		t.Errorf("empty groups are left in\n%s", text)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Answers)
		field  string // empty: good
	}{
		{"a name Windows makes up", func(a *Answers) { a.ComputerName = "*" }, ""},
		{"15 characters", func(a *Answers) { a.ComputerName = "ABCDEFGHIJ12345" }, ""},
		{"16 characters", func(a *Answers) { a.ComputerName = "ABCDEFGHIJ123456" }, "ComputerName"},
		{"a dot", func(a *Answers) { a.ComputerName = "web.example" }, "ComputerName"},
		{"only digits", func(a *Answers) { a.ComputerName = "12345" }, "ComputerName"},
		{"a hyphen at the end", func(a *Answers) { a.ComputerName = "web-" }, "ComputerName"},
		{"an architecture of Linux", func(a *Answers) { a.Arch = "x86_64" }, "Arch"},
		{"a zone of the tz database", func(a *Answers) { a.TimeZone = "Asia/Jerusalem" }, "TimeZone"},
		{"half a product key", func(a *Answers) { a.ProductKey = secret.New("AAAAA-BBBBB") }, "ProductKey"},
		{"a locale of POSIX", func(a *Answers) { a.UserLocale = "en_US.UTF-8" }, "UserLocale"},
		{"a language with a script", func(a *Answers) { a.UserLocale = "sr-Latn-RS" }, ""},
		{"a sorted language", func(a *Answers) { a.UserLocale = "es-ES_tradnl" }, ""},
		{"an input method", func(a *Answers) {
			a.InputLocale = "0804:{81D4E9C9-1D3B-41BC-9E6C-4B40BF79E35E}{FA550B04-5AD7-411f-A5AC-CA038EC515D7}"
		}, ""},
		{"a word as keyboard", func(a *Answers) { a.InputLocale = "en-US;english" }, "InputLocale"},
		{"two memberships", func(a *Answers) { a.Workgroup = "LAB" }, "Workgroup"},
		{"a unit of no domain", func(a *Answers) { a.Domain, a.Join = "", Credentials{} }, "OU"},
		{"a path as unit", func(a *Answers) { a.OU = "example.com/Web" }, "OU"},
		{"a password of nobody", func(a *Answers) { a.Join.User = "" }, "Join.Password"},
		{"an account with a slash", func(a *Answers) { a.UserName = `EXAMPLE\ann` }, "UserName"},
		{"an account of dots", func(a *Answers) { a.UserName = "..." }, "UserName"},
		{"an account of 21 characters", func(a *Answers) { a.UserName = strings.Repeat("a", 21) }, "UserName"},
		{"a bell", func(a *Answers) { a.Owner = "a\a" }, "Owner"},
		{"a password that is no text", func(a *Answers) { a.AdministratorPassword = secret.New("\xff") }, "AdministratorPassword"},
		{"a password of 128 characters", func(a *Answers) { a.AdministratorPassword = secret.New(strings.Repeat("ä", 128)) }, "AdministratorPassword"},
	} {
		a := full()
		c.change(&a)
		got := Check(a)
		if c.field == "" && got == nil {
			continue
		}
		if !slices.ContainsFunc(got, func(p Problem) bool { return p.Field == c.field && p.What != "" }) {
			t.Errorf("%s: %v, want a problem of %q", c.name, got, c.field)
		}
	}
}

func TestFill(t *testing.T) {
	template := `<unattend><ComputerName><![CDATA[$ComputerName$]]></ComputerName><Owner name="$OrgName$">$OrgName$</Owner>` +
		`<Password><![CDATA[$DomainAdminPassword$]]></Password><Path>$HOME$ $5 $</Path><Key>$ProductKey$</Key></unattend>`
	a := full()
	a.ProductKey, a.Organization = secret.Text{}, `A & "B"`
	got, unanswered := Fill(secret.New(template), a)
	want := `<unattend><ComputerName><![CDATA[WEB-1]]></ComputerName><Owner name="A &amp; &quot;B&quot;">A &amp; &quot;B&quot;</Owner>` +
		`<Password><![CDATA[a<b&c]]]]><![CDATA[>d]]></Password><Path>$HOME$ $5 $</Path><Key></Key></unattend>`
	if got.Reveal() != want {
		t.Errorf("got  %s\nwant %s", got.Reveal(), want)
	}
	if !slices.Equal(unanswered, []string{"$ProductKey$"}) {
		t.Errorf("without an answer: %v", unanswered)
	}
	if names := Placeholders(template); !slices.Equal(names, []string{"$ComputerName$", "$OrgName$", "$DomainAdminPassword$", "$ProductKey$"}) {
		t.Errorf("placeholders: %v", names)
	}
	if whole, _ := Fill(secret.New("no \r\n placeholder"), a); whole.Reveal() != "no \r\n placeholder" {
		t.Errorf("text without placeholders was changed to %q", whole.Reveal())
	}
}

func TestInspect(t *testing.T) {
	for text, want := range map[string]string{
		`<unattend><settings pass="windowsPE"/></unattend>`:             "",
		"<?xml version='1.0' encoding='utf-16'?><unattend></unattend>":  "",
		`<!DOCTYPE unattend [<!ENTITY a "b">]><unattend>&a;</unattend>`: ErrDTD.Error(),
		`<vm/>`:                                ErrNotAnswers.Error(),
		``:                                     "it ends too early",
		"<unattend>\n<a>S3cret</b></unattend>": "an element is closed by the tag of another",
		"<unattend><a>S3cret&nbsp;</a>":        "& begins an entity that XML does not have",
		"<unattend>\x01</unattend>":            "it has a control character",
		"[unattended]\nOemSkipEula=yes":        "it ends too early",
	} {
		_, err := Inspect(secret.New(text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	_, err := Inspect(secret.New("<unattend>\n <a>\n </b>"))
	if s := new(SyntaxError); !errors.As(err, &s) || s.Line != 3 {
		t.Errorf("the place is %v", err)
	}
}

func TestZones(t *testing.T) {
	for name, want := range map[string]string{"Asia/Jerusalem": "Israel Standard Time", "europe/berlin": "W. Europe Standard Time", "Etc/GMT": "UTC",
		"gmt standard time": "GMT Standard Time", "America/New_York": "Eastern Standard Time", "Asia/Calcutta": "India Standard Time",
		"Asia/Kolkata": "India Standard Time", "UTC": "UTC", "Mars/Olympus": "", "": ""} {
		if got, ok := WindowsZone(name); got != want || ok != (want != "") {
			t.Errorf("WindowsZone(%q) = %q", name, got)
		}
	}
	if olson, ok := OlsonZone("israel standard time"); !ok || olson != "Asia/Jerusalem" {
		t.Errorf("OlsonZone: %q", olson)
	}
	if _, ok := OlsonZone("Asia/Jerusalem"); ok {
		t.Error("a zone of the tz database passes for one of Windows")
	}
}

// The zones of a line keep one time: the standard offset of January and that of July, as the tz database has them.
func TestZonesAgree(t *testing.T) {
	z := table()
	if len(z.windows) != 139 || len(z.olson) < 580 {
		t.Errorf("%d zones of Windows and %d others", len(z.windows), len(z.olson))
	}
	offsets := func(name string) [2]int {
		place, err := time.LoadLocation(name)
		if err != nil {
			t.Fatalf("the tz database has no %s", name)
		}
		_, winter := time.Date(2025, 1, 15, 12, 0, 0, 0, place).Zone()
		_, summer := time.Date(2025, 7, 15, 12, 0, 0, 0, place).Zone()
		return [2]int{winter, summer}
	}
	differ := 0
	for line := range strings.Lines(zoneTable) {
		name, list, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all := strings.Fields(list)
		first := offsets(all[0])
		for _, other := range all[1:] {
			if offsets(other) != first {
				differ++
				t.Logf("%s: %s is not as %s", name, other, all[0])
			}
		}
	}
	if differ > 2 { // two stations in the Antarctic, which Windows does not follow
		t.Errorf("%d zones keep another time than Windows' zone", differ)
	}
}

package firmware

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Where systemd looks for credentials (systemd.exec(5), "Credentials"): in OEM strings of this form, and in items of the
// firmware configuration device below this directory.
const stringPrefix = "io.systemd.credential.binary:"

// The limits of OEM strings, which all stand in one structure of type 11 (SMBIOS 3.7, sections 6.1.3 and 7.12).
const (
	// maxStrings is how many there may be. A string's number is a byte, QEMU takes more than 255 and numbers them from 0 again,
	// and one is for the address at which the guest's systemd may report.
	maxStrings = 254
	// maxTables is how many bytes of strings the tables take. Their length is a word of 16 bits at the 32-bit entry
	// point, and the machine's own structures need some of it. QEMU refuses more there. At the 64-bit entry point it
	// does not, and the guest finds a small part of the strings without a word on the rest.
	maxTables = 60 << 10
	// pageOfTables is how many bytes of strings every systemd reads. Before readsAll it takes one page of the structure, header
	// and last NUL included, and passes over what was cut off.
	pageOfTables = 4096 - 5 - 1
	// readsAll is the first release of systemd that reads all strings (its pull request 33539).
	readsAll = 257
)

// The limits of the firmware configuration device.
const (
	// maxItems is how many items a user may add: QEMU has 32 places for all, needs about half of them itself, and aborts
	// when they are full.
	maxItems = 10
	// maxName is the longest name of a credential, which is that of a file.
	maxName = 255
	// maxCredentials is how many bytes systemd takes in all (CREDENTIALS_TOTAL_SIZE_MAX).
	maxCredentials = 1 << 20
)

// ErrTooLarge is wrapped when the firmware has no room for a seed.
var ErrTooLarge = errors.New("too large for the firmware")

// SMBIOS returns the delivery of systemd's credentials by OEM strings of the SMBIOS tables. Items of a seed for the firmware
// configuration device go there.
func SMBIOS() Firmware { return Firmware{"smbios"} }

// FitsSMBIOS reports whether the OEM strings of a seed have room in the SMBIOS tables, and in what every systemd reads of those.
func FitsSMBIOS(s seed.Seed) bool {
	return checkStrings(s, nil, pageOfTables) == nil
}

// oemString is the string that holds a credential.
func oemString(c seed.Credential) string {
	return stringPrefix + c.Name + "=" + base64.StdEncoding.EncodeToString([]byte(c.Content.Reveal()))
}

// credentials are the files of a seed's credentials. By OEM strings each has a file of its own, because the arguments of QEMU
// are public. As items go those for whose names there is room, the largest first, and the others as strings: few names are
// short enough, and there are few places.
func (f Firmware) credentials(s seed.Seed) ([]blob, error) {
	all := s.Firmware.Credentials
	if len(all) == 0 {
		return nil, nil
	}
	total := 0
	taken := map[string]bool{}
	for _, c := range all {
		total += c.Content.Len()
		switch {
		case c.Name == "" || len(c.Name) > maxName || strings.ContainsFunc(c.Name, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' || r == '=' || r == ':' }):
			return nil, fmt.Errorf("%w: %q is no name of a credential, which is the name of a file of at most 255 ASCII characters without : and =", delivery.ErrName, c.Name)
		case taken[c.Name]:
			return nil, fmt.Errorf("%w: the credential %q is there twice", delivery.ErrName, c.Name)
		}
		taken[c.Name] = true
	}
	if total > maxCredentials {
		return nil, fmt.Errorf("%w: the credentials have %d bytes, and systemd takes %d; let the guest fetch large files itself", ErrTooLarge, total, maxCredentials)
	}
	items := f.items(s)
	var out []blob
	for _, c := range all {
		if items[c.Name] {
			out = append(out, blob{content: []byte(c.Content.Reveal()), attach: seed.Attachment{Kind: seed.FwCfgFile, Name: seed.CredentialItem + c.Name}})
			continue
		}
		out = append(out, blob{content: []byte(oemString(c)), attach: seed.Attachment{Kind: seed.SMBIOSRow, Type: 11, Field: "path", Name: c.Name}})
	}
	room := maxTables
	if release := s.Firmware.Systemd; release != 0 && release < readsAll {
		room = pageOfTables
	}
	if err := checkStrings(s, items, room); err != nil {
		remedy := "deliver them by fw_cfg"
		if f.form == "fw_cfg" {
			remedy = fmt.Sprintf("let the guest fetch large files itself: an item has a name of at most %d characters, and these are strings because theirs are longer",
				maxItemName-1-len(seed.CredentialItem))
		}
		return nil, fmt.Errorf("%w; %s", err, remedy)
	}
	return out, nil
}

// items are the names of the credentials that go as items.
func (f Firmware) items(s seed.Seed) map[string]bool {
	items := map[string]bool{}
	if f.form != "fw_cfg" {
		return items
	}
	bySize := slices.SortedStableFunc(slices.Values(s.Firmware.Credentials), func(a, b seed.Credential) int { return cmp.Compare(b.Content.Len(), a.Content.Len()) })
	for _, c := range bySize {
		if checkItem(seed.CredentialItem+c.Name) == nil && len(items)+len(s.Firmware.FwCfg) < maxItems {
			items[c.Name] = true
		}
	}
	return items
}

// Uncertain says which systemd reads all credentials of a seed that goes this way, when the guest's is not known and not
// every one does. Else it is "".
func (f Firmware) Uncertain(s seed.Seed) string {
	if s.Firmware.Systemd != 0 || checkStrings(s, f.items(s), pageOfTables) == nil {
		return ""
	}
	return fmt.Sprintf("the OEM strings have more than the %d bytes that systemd before %d reads; it passes over the others", pageOfTables, readsAll)
}

// checkStrings holds the strings of a seed, which are those credentials that are no items, to the limits of the tables. Of
// these room bytes are for them.
func checkStrings(s seed.Seed, items map[string]bool, room int) error {
	count, size := 0, 0
	for _, c := range s.Firmware.Credentials {
		if !items[c.Name] {
			count++
			size += len(stringPrefix) + len(c.Name) + 1 + base64.StdEncoding.EncodedLen(c.Content.Len()) + 1
		}
	}
	for _, row := range s.Firmware.SMBIOS {
		if row.Type == 11 {
			count++
			size += len(row.Value) + 1
		}
	}
	switch {
	case count > maxStrings:
		return fmt.Errorf("%w: there are %d OEM strings, and the SMBIOS tables have room for %d", ErrTooLarge, count, maxStrings)
	case size > room && room < maxTables:
		return fmt.Errorf("%w: the credentials come to %d bytes as OEM strings, and systemd %d reads %d of them", ErrTooLarge, size, s.Firmware.Systemd, room)
	case size > room:
		return fmt.Errorf("%w: the credentials come to %d bytes as OEM strings, and the SMBIOS tables take %d", ErrTooLarge, size, room)
	}
	return nil
}

// readCredential reads the file of an OEM string back.
func readCredential(text string) (seed.Seed, bool) {
	name, value, ok := strings.Cut(strings.TrimPrefix(text, stringPrefix), "=")
	content, err := base64.StdEncoding.DecodeString(value)
	if !ok || err != nil || !strings.HasPrefix(text, stringPrefix) {
		return seed.Seed{}, false
	}
	return seed.Seed{DataSource: "credentials", Firmware: seed.Firmware{Credentials: []seed.Credential{{Name: name, Content: secret.FromBytes(content)}}}}, true
}

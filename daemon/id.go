package daemon

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/machine"
)

// idSpace is the name space of ids that are made of names: the UUIDv5 of the URL https://vmseed.dev/daemon.
const idSpace = "\xd9\x9a\x8e\xd8\x7f\xf2\x57\x2c\xa4\x03\xb6\x1b\xb7\xba\x67\x38"

// nameID is the id of an object that every daemon has, or that is a file: the same wherever it has this name.
func nameID(kind, name string) string { return machine.NameUUID(idSpace, kind+"\x00"+name) }

// newID draws a UUID of version 4 (RFC 9562, section 5.4).
func newID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

var (
	uuidForm      = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	namespaceForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$`)
)

func equalUUID(a, b string) bool { return strings.EqualFold(a, b) }

// maxName bounds the length of names in bytes, so that files can be called by them.
const maxName = 200

// checkName complains of names that cannot be part of a file's name, or that people could not read.
func checkName(kind, name string) error {
	switch {
	case name == "":
		return badName("a %s needs a name", kind)
	case len(name) > maxName:
		return badName("the name of a %s has %d bytes at most", kind, maxName)
	case strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r == unicode.ReplacementChar || !unicode.IsPrint(r) }):
		return badName("the name of a %s may hold no slash and nothing that cannot be printed", kind)
	}
	return nil
}

// Deliveries are how a guest can get its seed. What auto is depends on the data source and the machine.
func Deliveries() []string { return boot.Ways() }

// checkDelivery complains of what is none of Deliveries.
func checkDelivery(way string) error {
	if way != "" && !slices.Contains(Deliveries(), way) {
		var l diag.List
		l.Add(diag.Diagnostic{Code: CodeDelivery, Severity: diag.Error, Field: "delivery",
			Summary: fmt.Sprintf("there is no delivery %q", way), Remedy: "choose one of " + strings.Join(Deliveries(), ", ")})
		return l
	}
	return nil
}

// checkIDs complains of ids and namespaces that cannot name files.
func checkIDs(m Machine) error {
	if !uuidForm.MatchString(m.ID) || m.ID == BlankTemplate {
		return badName("the id of a VM is a UUID that is not all zeros")
	}
	if !namespaceForm.MatchString(m.Namespace) {
		return badName("a namespace has letters, digits, dots and dashes, 63 at most")
	}
	return nil
}

func badName(format string, args ...any) error {
	var l diag.List
	l.Errorf(CodeBadName, diag.Range{}, "choose another one", format, args...)
	return l
}

package secret_test

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// suspicious are names of fields that sound as if they held a secret.
var suspicious = regexp.MustCompile(`(?i)pass|secret|token|credential|private|hash|content|data$|text|value|body|script`)

// reviewed are fields of a suspicious name that are no secret, with the reason.
var reviewed = map[string]string{
	"machine.UserData.MountScriptMark":   "a mark that stands in the user-data, such as @virtlet-mount-script@",
	"seed.Blob.ContentType":              "a media type",
	"seed.SMBIOS.Value":                  "QEMU's command line shows it to every user of the host, so it must hold nothing secret anyway",
	"seed.Attachment.Value":              "an SMBIOS string, kernel argument or URL, all of which the host shows to every user",
	"machine.MetadataOptions.HTTPTokens": "whether tokens are required",
	"seed.Tree.Tokens":                   "whether tokens are required",
}

// auditor walks types and collects fields that hold text under a suspicious name.
type auditor struct {
	seen  map[reflect.Type]bool
	found map[string]reflect.Type
}

func (a *auditor) walk(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		a.walk(t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if a.seen[t] || t == reflect.TypeFor[secret.Text]() {
		return
	}
	a.seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		names := f.Name + "\n" + f.Tag.Get("field") + "\n" + f.Tag.Get("json")
		if holdsText(f.Type) && suspicious.MatchString(names) {
			a.found[t.String()+"."+f.Name] = f.Type
		}
		a.walk(f.Type)
	}
}

// holdsText reports whether a type holds text itself, not in the fields of a struct below.
func holdsText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Array, reflect.Map:
		return holdsText(t.Elem())
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8 || holdsText(t.Elem())
	}
	return t.Kind() == reflect.String || t.Kind() == reflect.Interface
}

// TestSecretFields walks everything that a machine, a seed and the VM made of them can hold. A new field is audited
// without anyone remembering to.
func TestSecretFields(t *testing.T) {
	a := auditor{seen: map[reflect.Type]bool{}, found: map[string]reflect.Type{}}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[machine.Machine](), reflect.TypeFor[machine.Facts](), reflect.TypeFor[seed.Seed](), reflect.TypeFor[seed.Attachment](),
		reflect.TypeFor[hypervisor.VM](), reflect.TypeFor[report.Event](),
	} {
		a.walk(typ)
	}
	if len(a.seen) < 30 {
		t.Errorf("only %d types were seen", len(a.seen))
	}
	for field, typ := range a.found {
		if reviewed[field] == "" {
			t.Errorf("%s is a %v; make it a secret.Text, or say in reviewed why it is no secret", field, typ)
		}
	}
	for field := range reviewed {
		if a.found[field] == nil {
			t.Errorf("%s is reviewed, but is gone", field)
		}
	}
}

// TestAuditor makes sure that the audit finds what it looks for.
func TestAuditor(t *testing.T) {
	type inner struct {
		Password string
		Fine     secret.Text
	}
	type outer struct {
		Users   []inner
		Tokens  map[string]string
		Content []byte
		Named   string `field:"privateKey"`
		Hashes  *[]any
		On      bool `field:"password"`
	}
	a := auditor{seen: map[reflect.Type]bool{}, found: map[string]reflect.Type{}}
	a.walk(reflect.TypeFor[outer]())
	for _, want := range []string{"inner.Password", "outer.Tokens", "outer.Content", "outer.Named", "outer.Hashes"} {
		if a.found["secret_test."+want] == nil {
			t.Errorf("%s is not found", want)
		}
	}
	if len(a.found) != 5 {
		t.Errorf("found %v", a.found)
	}
}

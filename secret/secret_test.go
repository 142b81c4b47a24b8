package secret_test

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/secret"
)

// canary is looked for in everything that the sinks write, also in other spellings.
const canary = "canary-7f3a"

func leaks(out string) bool {
	lower := strings.ToLower(strings.ReplaceAll(out, " ", ""))
	return strings.Contains(out, canary) ||
		strings.Contains(lower, hex.EncodeToString([]byte(canary))) ||
		strings.Contains(out, base64.StdEncoding.EncodeToString([]byte(canary))) ||
		strings.Contains(out, strings.Trim(fmt.Sprint([]byte(canary)), "[]"))
}

// sinks are the ways in which a value gets printed.
func sinks() map[string]func(v any) string {
	all := map[string]func(v any) string{
		"Sprint":      func(v any) string { return fmt.Sprint(v) },
		"Sprintln":    func(v any) string { return fmt.Sprintln(v, v) },
		"Errorf":      func(v any) string { return fmt.Errorf("failed: %v", v).Error() },
		"errors.Join": func(v any) string { return errors.Join(fmt.Errorf("%s", v), errors.New("x")).Error() },
		"width":       func(v any) string { return fmt.Sprintf("%40v %-40s %.3s", v, v, v) },
		"Appendf":     func(v any) string { return string(fmt.Appendf(nil, "%[1]v %[1]s", v)) },
		"json":        func(v any) string { return marshal(json.Marshal(v)) },
		"json indent": func(v any) string { return marshal(json.MarshalIndent(v, "", " ")) },
		"yaml":        func(v any) string { return marshal(yaml.Marshal(v)) },
		"xml":         func(v any) string { return marshal(xml.Marshal(v)) },
		"gob": func(v any) string {
			var b bytes.Buffer
			err := gob.NewEncoder(&b).Encode(v)
			return b.String() + fmt.Sprint(err)
		},
		"log": func(v any) string {
			var b bytes.Buffer
			log.New(&b, "", 0).Printf("%v %+v", v, v)
			return b.String()
		},
		"slog text": func(v any) string {
			return logged(func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) }, v)
		},
		"slog json": func(v any) string {
			return logged(func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) }, v)
		},
		"template": func(v any) string {
			var b bytes.Buffer
			err := template.Must(template.New("").Parse(`{{.}} {{printf "%q %v" . .}} {{print .}} {{html .}} {{js .}} {{urlquery .}}`)).Execute(&b, v)
			return b.String() + fmt.Sprint(err)
		},
		"html template": func(v any) string {
			var b bytes.Buffer
			err := htmltemplate.Must(htmltemplate.New("").Parse(`<a href="{{.}}" onclick="f({{.}})">{{.}}</a>`)).Execute(&b, v)
			return b.String() + fmt.Sprint(err)
		},
		"panic": func(v any) (out string) {
			defer func() { out = fmt.Sprint(recover()) }()
			panic(v)
		},
	}
	for _, verb := range "vsqxXdtcUeEfFgGbopTO" {
		for _, flags := range []string{"", "+", "#", " ", "0"} {
			format := "%" + flags + string(verb)
			all[format] = func(v any) string { return fmt.Sprintf(format, v) }
		}
	}
	return all
}

func marshal(data []byte, err error) string { return string(data) + fmt.Sprint(err) }

func logged(handler func(*bytes.Buffer) slog.Handler, v any) string {
	var b bytes.Buffer
	l := slog.New(handler(&b))
	l.Info("m", "key", v)
	l.With("with", v).WithGroup("g").Info("m", slog.Any("any", v))
	return b.String()
}

// carry wraps a value in every shape in which a program may hold it. The unexported fields matter most: fmt reads them
// without calling the methods of what is inside.
func carry[T comparable](v T) map[string]any {
	type inner struct{ hidden T }
	return map[string]any{
		"value":            v,
		"pointer":          &v,
		"field":            struct{ Password T }{v},
		"hidden field":     inner{v},
		"nested hidden":    struct{ in inner }{inner{v}},
		"pointer to":       &struct{ in *inner }{&inner{v}},
		"slice":            []T{v},
		"array":            [1]T{v},
		"map":              map[string]T{"password": v},
		"key":              map[T]bool{v: true},
		"any":              []any{v},
		"hidden any":       struct{ x any }{v},
		"hidden slice":     struct{ list []T }{[]T{v}},
		"hidden map":       struct{ m map[string]T }{map[string]T{"password": v}},
		"slice of structs": []inner{{v}},
	}
}

func TestNothingPrintsIt(t *testing.T) {
	n := 0
	for sink, print := range sinks() {
		for shape, v := range carry(secret.New(canary)) {
			n++
			if out := print(v); leaks(out) {
				t.Errorf("%s prints a %s: %s", sink, shape, out)
			}
		}
	}
	t.Logf("%d ways", n)
}

// TestSinksPrint makes sure that the sinks above do print what is not protected, in most shapes.
func TestSinksPrint(t *testing.T) {
	type naked string
	for sink, print := range sinks() {
		found := false
		for _, v := range carry(naked(canary)) {
			found = found || leaks(print(v))
		}
		silent := strings.HasSuffix(sink, "T") || strings.HasSuffix(sink, "p")
		if !found && !silent {
			t.Errorf("%s shows nothing of a plain string: as a test of secrets it is worthless", sink)
		}
	}
	if leaks("harmless") {
		t.Error("everything leaks")
	}
}

// TestDiff is about go-cmp, which follows pointers and shows unexported fields of what differs.
func TestDiff(t *testing.T) {
	a, b := secret.New(canary), secret.New(canary+"x")
	type holder struct{ Password secret.Text }
	type hidden struct{ password secret.Text }
	for _, d := range []string{
		cmp.Diff(holder{a}, holder{b}), cmp.Diff(&a, &b), cmp.Diff(map[string]any{"x": a}, map[string]any{"x": b}),
		cmp.Diff(holder{a}, hidden{a}), cmp.Diff([]secret.Text{a}, nil),
		cmp.Diff(hidden{a}, hidden{b}, cmp.AllowUnexported(hidden{}, secret.Text{})),
	} {
		if d == "" || leaks(d) {
			t.Errorf("got %q", d)
		}
	}
	if d := cmp.Diff([]secret.Text{a}, []secret.Text{secret.New(canary)}); d != "" {
		t.Errorf("equal texts differ: %q", d)
	}
}

// TestPanic lets a program die of a secret: the runtime prints the value of a panic by itself.
func TestPanic(t *testing.T) {
	if os.Getenv("PANIC") != "" {
		panic(struct {
			err   error
			text  secret.Text
			inner *struct{ secret.Text }
		}{errors.New("x"), secret.New(canary), &struct{ secret.Text }{secret.New(canary)}})
	}
	for _, mode := range []string{"single", "all", "crash"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPanic$")
		cmd.Env = append(os.Environ(), "PANIC=1", "GOTRACEBACK="+mode)
		out, err := cmd.CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("panic: ")) {
			t.Fatalf("the program does not die: %s", out)
		}
		if leaks(string(out)) {
			t.Errorf("GOTRACEBACK=%s: %s", mode, out)
		}
	}
}

func TestEncodersRefuse(t *testing.T) {
	x := secret.New(canary)
	for name, err := range map[string]error{
		"json": second(json.Marshal(x)), "yaml": second(yaml.Marshal(x)), "xml": second(xml.Marshal(x)),
		"gob": gob.NewEncoder(&bytes.Buffer{}).Encode(x), "text": second(x.MarshalText()), "binary": second(x.MarshalBinary()),
		"empty": second(json.Marshal(secret.Text{})), "field": second(json.Marshal(struct{ P secret.Text }{x})),
	} {
		if !errors.Is(err, secret.ErrEncode) && (err == nil || !strings.Contains(err.Error(), secret.ErrEncode.Error())) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	var _ encoding.TextMarshaler = x
}

func second(_ []byte, err error) error { return err }

func TestValue(t *testing.T) {
	var zero secret.Text
	if !zero.IsZero() || zero.Reveal() != "" || zero.Len() != 0 || !zero.Equal(secret.New("")) || !secret.FromBytes(nil).IsZero() {
		t.Error("the zero value is not the empty text")
	}
	raw := []byte("a\x00b")
	x := secret.FromBytes(raw)
	raw[0] = 'z'
	if x.Reveal() != "a\x00b" || x.Len() != 3 || x.IsZero() {
		t.Errorf("got %q", x.Reveal())
	}
	if !x.Equal(secret.New("a\x00b")) || x.Equal(secret.New("a\x00c")) || x.Equal(zero) {
		t.Error("wrong comparison")
	}
}

// TestNoLength makes sure that the redacted form is the same for every value, the empty one included: a length would
// tell whether a password is set, and how long it is.
func TestNoLength(t *testing.T) {
	for _, x := range []secret.Text{{}, secret.New("x"), secret.New(strings.Repeat("x", 1000))} {
		if got := fmt.Sprintf("%v|%#v|%d", x, x, x); got != "[secret]|[secret]|[secret]" {
			t.Errorf("got %s", got)
		}
	}
}

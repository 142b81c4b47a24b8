package kubeobject_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

func read(text string) ([]kubeobject.Object, []tree.Value, diag.List) {
	values, l := tree.Parse("o.yaml", []byte(text), bounded.Defaults())
	objects, rest, found := kubeobject.Read(values)
	return objects, rest, append(l, found...)
}

// brief writes objects with their values and where these stand, in clear.
func brief(objects []kubeobject.Object) string {
	var b strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&b, "%s\n", o.Ref)
		for _, it := range o.Data {
			fmt.Fprintf(&b, "  %s=%q at %s\n", it.Key, it.Value.Reveal(), it.Origin.At(1, 1))
		}
	}
	return b.String()
}

func codes(l diag.List) string {
	var b strings.Builder
	for _, d := range l.Sorted() {
		fmt.Fprintf(&b, "%s: %s[%s]\n", d.Range, d.Severity, d.Code)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		rest           int
	}{
		{"secret, both maps, the text wins", "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: n}\ntype: Opaque\ndata:\n  b: YQ==\n  a: aGVsbG8K\nstringData:\n  b: text\n",
			"Secret n/s\n  a=\"hello\\n\" at o.yaml:7:6\n  b=\"text\" at o.yaml:9:6\n", 0},
		{"wrapped base64", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  a: |\n    aGVs\n    bG8K\n", "Secret default/s\n  a=\"hello\\n\" at o.yaml:5:6\n", 0},
		{"config map, text and bytes", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  k: |\n    one\n    two\nbinaryData:\n  b: AP8=\n",
			"ConfigMap default/c\n  b=\"\\x00\\xff\" at o.yaml:9:6\n  k=\"one\\ntwo\\n\" at o.yaml:6:5\n", 0},
		{"empty and null values", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  a: \"\"\n  b:\n", "Secret default/s\n  a=\"\" at o.yaml:5:6\n  b=\"\" at o.yaml:6:5\n", 0},
		{"no data", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", "ConfigMap default/c\n", 0},
		{"JSON", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"k":"v"}}`, "ConfigMap default/c\n  k=\"v\" at o.yaml:1:76\n", 0},
		{"list with a pod in it", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n- kind: List\n  apiVersion: v1\n  items: []\n", "ConfigMap default/c\n", 1},
		{"typed list", "apiVersion: v1\nkind: SecretList\nmetadata: {resourceVersion: \"1\"}\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n", "Secret default/s\n", 0},
		{"claim and volume", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\nspec: {volumeMode: Block}\n---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v, namespace: ignored}\nspec: {local: {path: /dev/x}}\n",
			"PersistentVolumeClaim default/c\nPersistentVolume /v\n", 0},
		{"what is not ours", "apiVersion: bitnami.com/v1alpha1\nkind: Secret\nmetadata: {name: s}\n---\njust: data\n---\n- a\n---\nkind: [x]\n", "", 4},
		{"several documents", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}\n", "ConfigMap default/a\nConfigMap other/a\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects, rest, l := read(c.in)
			if len(l) > 0 {
				t.Errorf("diagnostics: %v", codes(l))
			}
			if d := cmp.Diff(c.want, brief(objects)); d != "" {
				t.Errorf("objects (-want +got):\n%s", d)
			}
			if len(rest) != c.rest {
				t.Errorf("%d documents are left, want %d", len(rest), c.rest)
			}
			for _, o := range objects {
				if left := o.Tree.Unread(); len(left) > 0 {
					t.Errorf("%s: %s is unread without a diagnostic", o.Ref, left[0].Value.Path())
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
	for _, c := range []struct{ name, in, want string }{
		{"no apiVersion", "kind: Secret\nmetadata: {name: s}\n", "o.yaml:1:1: error[VS2300]\n"},
		{"no metadata", "apiVersion: v1\nkind: Secret\n", "o.yaml:1:1: error[VS2300]\n"},
		{"no name", "apiVersion: v1\nkind: Secret\nmetadata: {}\n", "o.yaml:1:1: error[VS2300]\n"},
		{"metadata is a text", "apiVersion: v1\nkind: Secret\nmetadata: s\n", "o.yaml:3:11: error[VS1210]\n"},
		{"name is a number", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: 1.10\n", "o.yaml:4:9: error[VS1211]\n"},
		{"name with a slash", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: ../x\n", "o.yaml:4:9: error[VS2300]\n"},
		{"name too long", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: " + strings.Repeat("a", 254) + "\n", "o.yaml:4:9: error[VS2300]\n"},
		{"namespace in capitals", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\n  namespace: Default\n", "o.yaml:5:14: error[VS2300]\n"},
		{"list without items", "apiVersion: v1\nkind: List\n", "o.yaml:1:1: error[VS2300]\n"},
		{"items is a mapping", "apiVersion: v1\nkind: List\nitems: {a: b}\n", "o.yaml:3:8: error[VS1210]\n"},
		{"misspelt field", secret + "stringdata:\n  a: b\n", "o.yaml:4:1: error[VS1215]\n"},
		{"binaryData of a Secret", secret + "binaryData:\n  a: YQ==\n", "o.yaml:4:1: error[VS1215]\n"},
		{"spec of a claim misspelt", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\nspecs: {}\n", "o.yaml:4:1: error[VS1215]\n"},
		{"plain text under data", secret + "data:\n  a: plain text!\n", "o.yaml:5:6: error[VS1214]\n"},
		{"unpadded base64", secret + "data:\n  a: YQ\n", "o.yaml:5:6: error[VS1214]\n"},
		{"URL base64", secret + "data:\n  a: _-8=\n", "o.yaml:5:6: error[VS1214]\n"},
		{"number in a ConfigMap", configMap + "data:\n  port: 8080\n", "o.yaml:5:9: error[VS1211]\n"},
		{"boolean in a ConfigMap", configMap + "data:\n  debug: yes\n", "o.yaml:5:10: error[VS1211]\n"},
		{"mapping in a ConfigMap", configMap + "data:\n  x: {a: b}\n", "o.yaml:5:6: error[VS1210]\n"},
		{"data is a list", configMap + "data: [a]\n", "o.yaml:4:7: error[VS1210]\n"},
		{"key in both maps", configMap + "data:\n  a: x\nbinaryData:\n  a: YQ==\n", "o.yaml:7:3: error[VS2302]\n"},
		{"key with a slash", configMap + "data:\n  a/b: x\n", "o.yaml:5:3: error[VS2301]\n"},
		{"key with two dots", configMap + "data:\n  ..data: x\n", "o.yaml:5:3: error[VS2301]\n"},
		{"key of one dot", configMap + "data:\n  .: x\n", "o.yaml:5:3: error[VS2301]\n"},
		{"key too long", configMap + "data:\n  " + strings.Repeat("k", 254) + ": x\n", "o.yaml:5:3: error[VS2301]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, l := read(c.in)
			if d := cmp.Diff(c.want, codes(l)); d != "" {
				t.Errorf("diagnostics (-want +got):\n%s%v", d, l)
			}
		})
	}
}

func TestManifest(t *testing.T) {
	objects, _, _ := read("apiVersion: v1\nkind: Secret\nmetadata: {name: b}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: n}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b, namespace: default}\n")
	m, l := kubeobject.NewManifest(objects)
	if d := cmp.Diff("o.yaml:9:1: error[VS2303]\n", codes(l)); d != "" || len(l[0].Related) != 1 || l[0].Related[0].Range.Start.Line != 1 {
		t.Errorf("duplicates (-want +got):\n%s%v", d, l)
	}
	ctx := context.Background()
	if o, err := m.Resolve(ctx, kubeobject.Ref{Kind: "Secret", Namespace: "n", Name: "a"}); err != nil || o.Ref.Name != "a" {
		t.Errorf("Resolve: %v, %v", o.Ref, err)
	}
	if d := cmp.Diff("o.yaml:1:1: note[VS2304]\n", codes(m.Unused())); d != "" {
		t.Errorf("unused (-want +got):\n%s", d)
	}
	_, err := m.Resolve(ctx, kubeobject.Ref{Kind: "Secret", Namespace: "default", Name: "a"})
	if want := "Secret default/a is referred to here, the input has Secret n/a, Secret default/b"; !errors.Is(err, kubeobject.ErrNotFound) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = m.Resolve(ctx, kubeobject.Ref{Kind: "ConfigMap", Namespace: "default", Name: "a"})
	if want := "ConfigMap default/a is referred to here, the input has no ConfigMap"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	var many []kubeobject.Ref
	for i := range 7 {
		many = append(many, kubeobject.Ref{Kind: "Secret", Namespace: "n", Name: fmt.Sprint(i)})
	}
	if got := (&kubeobject.MissingError{Ref: many[0], Have: many}).Error(); !strings.HasSuffix(got, "Secret n/4, 2 more") {
		t.Errorf("a long list reads %q", got)
	}
	if _, err := new(kubeobject.Manifest).Resolve(ctx, many[0]); !errors.Is(err, kubeobject.ErrNotFound) {
		t.Errorf("the zero manifest: %v", err)
	}
}

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		text  string
		whole int64
		exact bool
	}{
		{"0", 0, true}, {"1024", 1024, true}, {"1Gi", 1 << 30, true}, {"1.5Gi", 3 << 29, true}, {"2G", 2e9, true}, {"1e3", 1000, true},
		{"1E3", 1000, true}, {"1E", 1e18, true}, {"+5k", 5000, true}, {"-5", -5, true}, {".5Ki", 512, true}, {"5.", 5, true},
		{"1000m", 1, true}, {"1.5", 0, false}, {"500m", 0, false}, {"1n", 0, false}, {"9Ei", 0, false}, {"1e-3", 0, false},
	} {
		q, err := kubeobject.ParseQuantity(c.text)
		if whole, exact := q.Whole(); err != nil || whole != c.whole || exact != c.exact {
			t.Errorf("%q: %d %v %v, want %d %v", c.text, whole, exact, err, c.whole, c.exact)
		}
	}
	for _, text := range []string{"", "x", "1 Gi", "1gi", "1KB", "Gi", "1e", "1e999", "--1", "1i", "0x10", "1_000", "٣", strings.Repeat("9", 65), "1Gi\n"} {
		if _, err := kubeobject.ParseQuantity(text); !errors.Is(err, kubeobject.ErrQuantity) {
			t.Errorf("%q: %v", text, err)
		}
	}
	half, _ := kubeobject.ParseQuantity("500m")
	mebi, _ := kubeobject.ParseQuantity("1Mi")
	gibi, _ := kubeobject.ParseQuantity("1.0001Gi")
	huge, _ := kubeobject.ParseQuantity("1e99")
	if half.Times(1024) != 512 || half.Times(1) != 1 || gibi.Per(mebi) != 1025 || huge.Times(2) != math.MaxInt64 {
		t.Errorf("Times and Per round wrongly: %d %d %d %d", half.Times(1024), half.Times(1), gibi.Per(mebi), huge.Times(2))
	}
	if n := half.Per(kubeobject.Quantity{}); n != 0 {
		t.Errorf("division by zero gives %d", n)
	}
}

// TestCodes demands an explanation for every constant of codes.go, which are numbered from the first.
func TestCodes(t *testing.T) {
	src, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^\tCode[A-Z]`).FindAll(src, -1)
	explained := map[diag.Code]bool{}
	for _, e := range kubeobject.Codes() {
		if e.Title == "" || e.Text == "" {
			t.Errorf("%v has no title or text", e.Code)
		}
		explained[e.Code] = true
	}
	for i := range names {
		if !explained[kubeobject.CodeObject+diag.Code(i)] {
			t.Errorf("%v is not explained", kubeobject.CodeObject+diag.Code(i))
		}
	}
	if len(names) != len(explained) || len(names) > 100 {
		t.Errorf("%d constants, %d explanations, room for 100", len(names), len(explained))
	}
}

// FuzzRead holds that reading never shows a value, gives the same twice, and loses no document.
func FuzzRead(f *testing.F) {
	const canary = "c4n4ry"
	f.Add("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: YQ==}\nstringData: {b: c4n4ry}\n")
	f.Add("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n  data: {k: c4n4ry}\n  binaryData: {k: c4n4ry}\n- 7\n")
	f.Add("kind: Secret\nmetadata: {name: &a s}\ndata: {<<: *a}\n")
	f.Fuzz(func(t *testing.T, text string) {
		objects, rest, l := read(text)
		again, _, l2 := read(text)
		if brief(objects) != brief(again) || codes(l) != codes(l2) {
			t.Error("two readings differ")
		}
		values, _ := tree.Parse("o.yaml", []byte(text), bounded.Defaults())
		if len(values) > 0 && len(objects)+len(rest) == 0 && len(l) == 0 && !strings.Contains(text, "List") {
			t.Error("a document is lost")
		}
		for _, o := range objects {
			if !kubeobject.ValidName(o.Ref.Name) {
				t.Errorf("an object has the name %q", o.Ref.Name)
			}
			for _, it := range o.Data {
				shown := fmt.Sprintf("%v %+v %#v", it, o.Data, it.Value)
				if strings.Contains(it.Value.Reveal(), canary) && strings.Contains(shown, canary) && !strings.Contains(it.Key, canary) && !strings.Contains(o.Ref.Name, canary) {
					t.Error("a value is shown")
				}
			}
		}
	})
}

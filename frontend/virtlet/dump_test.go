package virtlet_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/virtlet"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// load reads the documents of some texts, each named as a file, as the engine does: objects serve the pods.
func load(files ...[2]string) ([]machine.Machine, diag.List) {
	var list []frontendtest.File
	for _, f := range files {
		list = append(list, frontendtest.File{Name: f[0], Text: f[1]})
	}
	return frontendtest.Load(virtlet.Frontend{}, frontend.Options{}, list...)
}

func readFile(t testing.TB, name string) [2]string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return [2]string{name[strings.LastIndexByte(name, '/')+1:], string(data)}
}

// dump writes machines for a golden file: each value with its path and place, secrets in clear, then the diagnostics.
func dump(machines []machine.Machine, l diag.List) string {
	var b bytes.Buffer
	for i, m := range machines {
		if i > 0 {
			fmt.Fprintln(&b, "---")
		}
		fmt.Fprintln(&b, "# machine")
		dumpStruct(&b, reflect.ValueOf(m), "", m.Places)
		for j, layer := range m.UserData.Layers {
			fmt.Fprintf(&b, "# line 2 of user-data layer %d stands at %s\n", j, layer.Origin.At(2, 3))
		}
	}
	if len(l) > 0 {
		fmt.Fprintln(&b, "# diagnostics")
	}
	for _, d := range l {
		fmt.Fprintln(&b, d.Error())
		for _, r := range d.Related {
			fmt.Fprintf(&b, "    %s: %s\n", r.Range, r.Message)
		}
	}
	return b.String()
}

func dumpStruct(b *bytes.Buffer, v reflect.Value, prefix string, places machine.Places) {
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("field")
		if name == "-" || name == "" {
			continue
		}
		path := strings.TrimPrefix(prefix+"."+name, ".")
		f := v.Field(i)
		switch {
		case machine.IsLeaf(f.Type()):
			if !f.IsZero() {
				fmt.Fprintf(b, "%-40s %s\t(%s)\n", path, leaf(f.Interface()), place(places.Find(path)))
			}
		case f.Kind() == reflect.Slice:
			for j := range f.Len() {
				dumpStruct(b, f.Index(j), fmt.Sprintf("%s[%d]", path, j), places)
			}
		default:
			dumpStruct(b, f, path, places)
		}
	}
}

func place(r diag.Range) string {
	if r.IsZero() {
		return "nowhere"
	}
	return r.String()
}

func leaf(v any) string {
	switch x := v.(type) {
	case secret.Text:
		return fmt.Sprintf("%q", x.Reveal())
	case machine.Mode:
		return fmt.Sprintf("%04o", x.Bits())
	case time.Duration, netip.Addr, netip.Prefix, bool, int, int64, machine.Bytes:
		return fmt.Sprint(x)
	case *bool:
		return fmt.Sprint(*x)
	}
	return fmt.Sprintf("%q", v)
}

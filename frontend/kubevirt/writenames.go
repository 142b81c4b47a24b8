package kubevirt

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/secret"
)

// What Kubernetes takes in one object: the values of a Secret (https://kubernetes.io/docs/concepts/configuration/secret/),
// and the annotations with their keys.
const (
	maxSecret      = 1 << 20
	maxAnnotations = 256 << 10
)

// secretKey matches the keys that a Secret can have.
var secretKey = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)

// label makes a DNS label of a name. It may be empty.
func label(name string) string {
	out := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(out[:min(len(out), 63)], "-")
}

// name makes a DNS label of a name, one that nothing else of the kind has.
func (w *writer) name(kind, name string) string {
	stem := label(name)
	if stem == "" {
		stem = kind
	}
	return w.free(kind, stem, 63)
}

// free returns stem, with a number behind it if something of the kind has that name.
func (w *writer) free(kind, stem string, longest int) string {
	out := stem
	for i := 2; w.names[kind+" "+out]; i++ {
		number := fmt.Sprintf("-%d", i)
		out = strings.TrimRight(stem[:min(len(stem), longest-len(number))], "-") + number
	}
	w.names[kind+" "+out] = true
	return out
}

// object adds a Secret with values and returns its name.
func (w *writer) object(suffix string, values map[string]secret.Text) string {
	name := w.free("secret", w.m.Name+"-"+suffix, 253)
	plain, coded := mapping{}, mapping{}
	total := 0
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text := values[key].Reveal()
		if total += len(text); utf8.ValidString(text) && !strings.ContainsAny(text, "\x00\r") {
			plain = append(plain, entry(key, text))
		} else {
			coded = append(coded, entry(key, base64.StdEncoding.EncodeToString([]byte(text))))
		}
	}
	if total > maxSecret {
		w.list.Errorf(CodeWrite, w.m.Places.Find(""), "have the guest fetch what is large", "the Secret %s would have %d bytes; Kubernetes takes %d", name, total, maxSecret)
	}
	o := mapping{entry("apiVersion", "v1"), entry("kind", kubeobject.Secret),
		entry("metadata", with(mapping{entry("name", name)}, "namespace", w.m.Namespace)), entry("type", "Opaque")}
	w.objects = append(w.objects, with(with(o, "data", coded), "stringData", plain))
	return name
}

// serial returns a serial number if KubeVirt takes it.
func (w *writer) serial(at, text string) string {
	if text != "" && (!serialForm.MatchString(text) || len(text) > maxSerial) {
		w.warn(at, "choose one of letters, digits and _.+-", "KubeVirt takes no serial number %q, so it is left out", text)
		return ""
	}
	return text
}

// boot takes a place in the boot order, unless another device has it.
func (w *writer) boot(at string, order int) int {
	if order > 0 && w.bootOrders[order] {
		w.warn(at+".bootOrder", "give each its own", "another device has the boot order %d already, so it is left out", order)
		return 0
	}
	w.bootOrders[order] = true
	return order
}

// ownAddress warns about an address that the author chose, because KubeVirt gives addresses itself. Those that the
// machine was given when it was placed stand nowhere.
func (w *writer) ownAddress(at string, given bool) {
	if _, stated := w.m.Places[at]; stated && given {
		w.warn(at, "have the guest find the device by serial number or MAC", "KubeVirt gives addresses itself, so this one is left out")
	}
}

package admission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
)

const (
	request = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","kind":{"group":"kubevirt.io","version":"%s","kind":"%s"},"object":%s}}`
	machine = `{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","spec":{"template":{"spec":{"domain":%s}}}}`
	alone   = `{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","spec":{"domain":%s}}`
)

// post asks a webhook whose UUIDs are id1, id2 and so on.
func post(t *testing.T, body string) *httptest.ResponseRecorder {
	t.Helper()
	n := 0
	w := httptest.NewRecorder()
	Webhook(func() string { n++; return fmt.Sprintf("id%d", n) }).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	return w
}

// TestCompletes applies the patches to the objects that were asked about.
func TestCompletes(t *testing.T) {
	for name, c := range map[string]struct{ kind, object, want string }{
		"a machine":               {Machine, fmt.Sprintf(machine, `{"cpu":{"cores":1}}`), fmt.Sprintf(machine, `{"cpu":{"cores":1},"firmware":{"uuid":"id1","serial":"id2"}}`)},
		"its firmware":            {Machine, fmt.Sprintf(machine, `{"firmware":{"bootloader":{"bios":{}}}}`), fmt.Sprintf(machine, `{"firmware":{"bootloader":{"bios":{}},"uuid":"id1","serial":"id2"}}`)},
		"no firmware":             {Machine, fmt.Sprintf(machine, `{"firmware":null}`), fmt.Sprintf(machine, `{"firmware":{"uuid":"id1","serial":"id2"}}`)},
		"empty texts":             {Machine, fmt.Sprintf(machine, `{"firmware":{"uuid":"","serial":""}}`), fmt.Sprintf(machine, `{"firmware":{"uuid":"id1","serial":"id2"}}`)},
		"a serial of the user's":  {Machine, fmt.Sprintf(machine, `{"firmware":{"serial":"s"}}`), fmt.Sprintf(machine, `{"firmware":{"serial":"s","uuid":"id1"}}`)},
		"a UUID of the user's":    {Machine, fmt.Sprintf(machine, `{"firmware":{"uuid":"mine"}}`), ""},
		"an instance":             {Instance, fmt.Sprintf(alone, `{}`), fmt.Sprintf(alone, `{"firmware":{"uuid":"id1"}}`)},
		"an instance with a UUID": {Instance, fmt.Sprintf(alone, `{"firmware":{"uuid":"mine"}}`), ""},
		"a UUID that is none":     {Machine, fmt.Sprintf(machine, `{"firmware":{"uuid":7}}`), ""},
		"firmware that is none":   {Machine, fmt.Sprintf(machine, `{"firmware":[]}`), ""},
		"a domain that is none":   {Machine, fmt.Sprintf(machine, `"x"`), ""},
		"no domain":               {Machine, fmt.Sprintf(machine, `null`), ""},
		"no template":             {Machine, `{"spec":{}}`, ""},
		"a spec that is none":     {Instance, `{"spec":[1]}`, ""},
		"nothing":                 {Instance, `{}`, ""},
	} {
		for _, version := range []string{"v1", "v1alpha3", "v1alpha2"} {
			w := post(t, fmt.Sprintf(request, version, c.kind, c.object))
			var out admissionv1.AdmissionReview
			if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK || out.Response == nil {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
				continue
			}
			if r := out.Response; !r.Allowed || r.UID != "u" || out.Kind != "AdmissionReview" || out.APIVersion != "admission.k8s.io/v1" || (r.PatchType == nil) != (c.want == "") {
				t.Errorf("%s: %s", name, w.Body)
			}
			if c.want == "" {
				continue
			}
			patch, err := jsonpatch.DecodePatch(out.Response.Patch)
			if err != nil {
				t.Fatal(err)
			}
			got, err := patch.Apply([]byte(c.object))
			if err != nil || !jsonpatch.Equal(got, []byte(c.want)) {
				t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
			}
		}
	}
}

// TestRefuses asks what the webhook is not to be asked. The answers name no value of an object.
func TestRefuses(t *testing.T) {
	good := fmt.Sprintf(request, "v1", Machine, fmt.Sprintf(machine, `{"note":"s3cret"}`))
	for name, c := range map[string]struct {
		body string
		code int
	}{
		"nothing":           {"", http.StatusBadRequest},
		"no JSON":           {"s3cret", http.StatusBadRequest},
		"half of it":        {good[:len(good)-9], http.StatusBadRequest},
		"two of them":       {good + good, http.StatusBadRequest},
		"a list":            {"[" + good + "]", http.StatusBadRequest},
		"another version":   {strings.Replace(good, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1), http.StatusBadRequest},
		"another case":      {strings.Replace(good, `"request"`, `"Request"`, 1), http.StatusBadRequest},
		"no UID":            {strings.Replace(good, `"uid":"u"`, `"uid":""`, 1), http.StatusBadRequest},
		"an update":         {strings.Replace(good, "CREATE", "UPDATE", 1), http.StatusBadRequest},
		"a subresource":     {strings.Replace(good, `"uid":"u"`, `"uid":"u","subResource":"status"`, 1), http.StatusBadRequest},
		"another kind":      {strings.Replace(good, `"kind":"VirtualMachine"},`, `"kind":"KubeVirt"},`, 1), http.StatusBadRequest},
		"another group":     {strings.Replace(good, `"group":"kubevirt.io"`, `"group":""`, 1), http.StatusBadRequest},
		"no object":         {fmt.Sprintf(request, "v1", Machine, "null"), http.StatusBadRequest},
		"an object of none": {fmt.Sprintf(request, "v1", Machine, `"s3cret"`), http.StatusBadRequest},
		"a huge one":        {strings.Replace(good, "s3cret", strings.Repeat("s3cret", reviewBytes/6), 1), http.StatusRequestEntityTooLarge},
		"one without end":   {strings.Repeat("[", reviewBytes), http.StatusBadRequest},
	} {
		if w := post(t, c.body); w.Code != c.code || strings.Contains(w.Body.String(), "s3cret") {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.code)
		}
	}
}

package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"kubevirt.io/api/core"
)

// Bounds of a review. The API server takes no object that is larger than 1.5 MiB, which is etcd's limit for a request.
const (
	reviewBytes = 2 << 20
	// reviewsAtOnce bounds the memory that reviews take, each of which may be read into some twenty times its length.
	reviewsAtOnce = 8
)

// Webhook answers the reviews of a MutatingWebhookConfiguration (admission.k8s.io/v1) for created machines and instances with what
// their identity lacks. Random yields UUIDs and may be called by several goroutines. It has no effect beside its answer, and
// answers with HTTP's code 400 what it is not to be asked.
func Webhook(random func() string) http.Handler {
	turns := make(chan struct{}, reviewsAtOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-r.Context().Done():
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, reviewBytes))
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			http.Error(w, fmt.Sprintf("a review has at most %d bytes", reviewBytes), http.StatusRequestEntityTooLarge)
			return
		} else if err != nil {
			http.Error(w, "the review ends too early", http.StatusBadRequest)
			return
		}
		answer, err := review(body, random)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text, err := json.Marshal(answer)
		if err != nil {
			http.Error(w, "the answer cannot be written as JSON", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // who hung up needs no answer
	})
}

// review answers a review. Its errors say nothing of what is in the object.
func review(body []byte, random func() string) (*admissionv1.AdmissionReview, error) {
	var in admissionv1.AdmissionReview
	if err := utiljson.Unmarshal(body, &in); err != nil {
		return nil, errors.New("the body is no AdmissionReview: it cannot be read as JSON")
	}
	q := in.Request
	switch {
	case in.APIVersion != admissionv1.SchemeGroupVersion.String() || in.Kind != "AdmissionReview":
		return nil, errors.New("the body is no AdmissionReview of admission.k8s.io/v1")
	case q == nil || q.UID == "":
		return nil, errors.New("the AdmissionReview has no request with a UID")
	case q.Operation != admissionv1.Create || q.SubResource != "":
		return nil, errors.New("only what is created is completed")
	case q.Kind.Group != core.GroupName || domainPath(q.Kind.Kind) == nil:
		return nil, errors.New("only objects of the kinds " + Machine + " and " + Instance + " of " + core.GroupName + " are completed")
	}
	var object map[string]any
	if err := utiljson.Unmarshal(q.Object.Raw, &object); err != nil {
		return nil, errors.New("the request's object is none")
	}
	out := &admissionv1.AdmissionReview{TypeMeta: in.TypeMeta, Response: &admissionv1.AdmissionResponse{UID: q.UID, Allowed: true}}
	changes := missing(q.Kind.Kind, object, random)
	if len(changes) == 0 {
		return out, nil
	}
	patch, err := json.Marshal(changes)
	if err != nil {
		return nil, errors.New("the patch cannot be written as JSON")
	}
	kind := admissionv1.PatchTypeJSONPatch
	out.Response.Patch, out.Response.PatchType = patch, &kind
	return out, nil
}

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// missing returns the operations that give an object its identity. Whether the object is valid otherwise is not asked here:
// the API server looks at that afterwards.
func missing(kind string, object map[string]any, random func() string) []operation {
	path := domainPath(kind)
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	domain, _ := value.(map[string]any)
	add := Identity(kind, domain, random)
	if len(add) == 0 {
		return nil
	}
	at := "/" + strings.Join(append(path, firmware), "/")
	if domain[firmware] == nil {
		return []operation{{"add", at, add}}
	}
	var out []operation
	for _, name := range []string{uuid, serial} {
		if v := add[name]; v != nil {
			out = append(out, operation{"add", at + "/" + name, v})
		}
	}
	return out
}

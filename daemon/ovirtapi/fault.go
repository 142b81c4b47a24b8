package ovirtapi

import (
	"net/http"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
)

// fault is an answer that says why a request was not done. The SDKs raise its detail and reason to their users.
type fault struct {
	status         int
	reason, detail string
	// bare faults have no body: that is how an engine answers for an object that is not there, and what SDKs turn into
	// their error for it.
	bare bool
	// code is the diagnostic code, which stands at the end of the detail.
	code diag.Code
	// allow are the methods that the resource knows, for a 405.
	allow []string
}

func (f *fault) Error() string { return f.reason + ": " + f.text() }

// text is the detail with the code behind it, by which "vmseed explain" says more.
func (f *fault) text() string {
	if f.code == 0 {
		return f.detail
	}
	return f.detail + " (" + f.code.String() + ")"
}

func (f *fault) element() element.Element {
	e := element.New("fault")
	if detail := f.text(); detail != "" {
		e = e.Append(element.Text("detail", detail))
	}
	return e.Append(element.Text("reason", f.reason))
}

// The reasons that an engine gives.
const (
	reasonFailed     = "Operation Failed"
	reasonSyntax     = "Request syntactically incorrect."
	reasonValue      = "Invalid value"
	reasonIncomplete = "Incomplete parameters"
)

// badSyntax is for bytes that are no request.
func badSyntax(detail string) *fault {
	return &fault{status: http.StatusBadRequest, reason: reasonSyntax, detail: detail, code: CodeSyntax}
}

// badValue is for a value that its member or parameter cannot have.
func badValue(detail string) *fault {
	return &fault{status: http.StatusBadRequest, reason: reasonValue, detail: detail, code: CodeValue}
}

// incomplete is for members that an operation needs and a request does not have; kind and operation are words of the API.
func incomplete(kind, operation string, members ...string) *fault {
	return &fault{status: http.StatusBadRequest, reason: reasonIncomplete, detail: kind + " [" + strings.Join(members, ", ") + "] required for " + operation,
		code: CodeIncomplete}
}

// failed is for what cannot be done as things are.
func failed(detail string) *fault {
	return &fault{status: http.StatusConflict, reason: reasonFailed, detail: "[" + detail + "]", code: CodeState}
}

// noEntity is for an object that a request names in its body and that is not there.
func noEntity(kind, by, value string) *fault {
	return &fault{status: http.StatusNotFound, reason: reasonFailed, detail: "Entity not found: " + kind + ": " + by + "=" + value, code: CodeEntity}
}

// notFound is for the object in the path.
func notFound() *fault { return &fault{status: http.StatusNotFound, bare: true} }

// notOffered is for a part of oVirt's API that is not here.
func notOffered(what string) *fault {
	return &fault{status: http.StatusNotImplemented, reason: "Not implemented", detail: what, code: CodeNotOffered}
}

// refused makes a fault of diagnostics about a document that a client sent: all of their errors, each with its place. What is
// wrong with none of its lines is a matter of the state that things are in.
func refused(list diag.List) *fault {
	f := &fault{status: http.StatusConflict, reason: reasonFailed}
	for _, d := range list {
		if d.Severity == diag.Error && (d.Field != "" || d.Range != (diag.Range{})) {
			f.status, f.reason = http.StatusBadRequest, reasonSyntax
		}
	}
	f.detail = list.Error()
	return f
}

// badSearch is for a search text that is not understood.
func badSearch(err error) *fault {
	return &fault{status: http.StatusBadRequest, reason: reasonValue, detail: "parameter search: " + err.Error(), code: CodeSearch}
}

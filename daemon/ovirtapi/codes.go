package ovirtapi

import "github.com/vmseed/vmseed/diag"

// The codes of faults and events.
const (
	// CodeSyntax is for bytes that are no request.
	CodeSyntax diag.Code = 7100 + iota
	// CodeValue is for a value that a member or parameter cannot have.
	CodeValue
	// CodeIncomplete is for members that an operation needs.
	CodeIncomplete
	// CodeEntity is for a named object that is not there.
	CodeEntity
	// CodeState is for what cannot be done as things are.
	CodeState
	// CodeNotOffered is for parts of oVirt's API that are not here.
	CodeNotOffered
	// CodeSearch is for a search text that is not understood.
	CodeSearch
)

// Codes explains the codes of this package, which clients see in faults and events.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeSyntax, Title: "request is not understood",
			Text: "The URL, a header or the body of a request to the oVirt API is malformed: bad percent-encoding, XML or JSON with an error, a " +
				"body of another kind than its `Content-Type` says, a root element that does not belong to the resource, more than 1 MiB. The fault's detail names the place."},
		{Code: CodeValue, Title: "value is not possible",
			Text: "A parameter or member has a value that is not of its type: a boolean other than `true` and `false`, a number with other characters " +
				"in it, a word that the API does not know, a name that no VM can have."},
		{Code: CodeIncomplete, Title: "member is missing",
			Text: "An operation needs a member that the request does not have. Where the fault lists several joined by `or`, one of them is enough: a VM, for " +
				"example, needs `name`, and `cluster` and `template` with either an `id` attribute or a `name` element."},
		{Code: CodeEntity, Title: "object that the request names is not there",
			Text: "The request's body names a cluster, template, storage domain, disk or vNIC profile by id or name, and there is none. " +
				"`GET` on the collection, such as `/ovirt-engine/api/clusters`, lists what there is. vmseed serve has the cluster `Default`."},
		{Code: CodeState, Title: "not possible in this state",
			Text: "The object is in a state in which the operation makes no sense, such as a start of a VM that runs, or its name is in use. The " +
				"detail names the state. Wait for another state, or stop the VM first."},
		{Code: CodeNotOffered, Title: "part of oVirt's API that vmseed does not have",
			Text: "vmseed serve answers what clients need to make VMs from images and templates, configure their first boot and run them on one host. " +
				"Migration, snapshots, permissions, storage management and the like answer 501 with this code. docs/compat/ovirt.md lists what there is."},
		{Code: CodeSearch, Title: "search is not understood",
			Text: "The `search` parameter breaks oVirt's search language at the column that is named, or names a field that the objects do not have. " +
				"Example: `name=web* and status=up sortby name desc page 2`. Values with blanks stand in double quotes."},
	}
}

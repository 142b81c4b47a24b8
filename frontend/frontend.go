// Package frontend is the room of the front ends: they read documents of one form into machines. Whoever wants to add a
// form copies the smallest sibling below this directory and adds a line to frontend/all.
package frontend

import (
	"context"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// Frontend reads one form of document.
type Frontend interface {
	// Name is the form's name, as users type it: virtlet, native, plain.
	Name() string
	// Sniff looks at the beginning of a document and says whether it is of this form. It is fast and never fails.
	Sniff(head []byte) Match
	// Read turns the documents of a source into machines. A machine is returned beside diagnostics of any severity; it
	// is incomplete when there are errors.
	Read(ctx context.Context, src Source) ([]machine.Machine, diag.List)
}

// Writer is the optional power to write a machine in the form, for vmseed convert.
type Writer interface {
	Write(m machine.Machine) ([]byte, diag.List)
}

// FormWriter is a form that machines can be written in.
type FormWriter interface {
	// Name is the form's name, as users type it.
	Name() string
	Writer
}

// Carrier is the optional power of a Writer whose form has no words for much of a machine. The engine renders what the
// form does not carry, and gives the writer a machine whose user-data, vendor-data and network document are the rendered
// ones.
type Carrier interface {
	// Carries lists the fields that Write writes, or says itself that it does not.
	Carries() machine.FieldSet
}

// RoleReader is the optional power to read files whose role a flag states. Such a front end also sees a file whole before
// it is taken apart as YAML, because a script is none.
type RoleReader interface {
	// Roles lists the roles that it reads.
	Roles() []Role
}

// Match says how sure a front end is.
type Match int

// The degrees of certainty. Two strong matches for one document are an error of the user's or ours.
const (
	No Match = iota
	// Weak means that the document can be read so when no other front end is sure.
	Weak
	// Strong means that the document says so itself.
	Strong
)

// Role is what a document is for when the user said so with a flag.
type Role string

// The roles of plain files.
const (
	Definition    Role = ""
	UserData      Role = "user-data"
	MetaData      Role = "meta-data"
	VendorData    Role = "vendor-data"
	NetworkConfig Role = "network-config"
)

// Document is one document of the input.
type Document struct {
	// File is its name for messages.
	File string
	Role Role
	// Data is the text. For a document of a multi-document file it is the whole file, which Tree points into.
	Data []byte
	// Tree is the parsed document of a definition. It is absent for other roles and for texts that are no YAML.
	Tree tree.Value
}

// Source is what a front end reads.
type Source struct {
	// Documents are those that this front end matched, in the order of the input.
	Documents []Document
	// Resolver finds the objects that documents refer to by name. It is never nil.
	Resolver Resolver
	// Options are the user's wishes that change how documents are read.
	Options Options
}

// Options change how documents are read.
type Options struct {
	// Hostname and DSMode are for plain files.
	Hostname string
	DSMode   string
	// DataSource is the data source that the user names, which tells what plain user-data is for.
	DataSource string
	// FeatureGates are KubeVirt's.
	FeatureGates []string
	// UserDataLimit is how many bytes of inline user-data, and of network data, a KubeVirt definition may hold; 0 stands
	// for KubeVirt's own limit.
	UserDataLimit int
	// Stated are fields that the user states beside the documents, with a flag. What documents say of them is read as ever,
	// but brings no warning that it is too little.
	Stated machine.FieldSet
}

// ErrNotFound is wrapped by the errors of a Resolver about an object that does not exist.
var ErrNotFound = kubeobject.ErrNotFound

// Resolver finds Secrets, ConfigMaps and claims, in the manifests of the input or at an API server.
type Resolver interface {
	Resolve(ctx context.Context, ref kubeobject.Ref) (kubeobject.Object, error)
}

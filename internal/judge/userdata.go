package judge

import (
	"slices"
	"testing"
)

// UserDataInput is what a data source would hand to cloud-init.
type UserDataInput struct {
	UserData   []byte         `json:"user_data,omitempty"`
	Parts      []Part         `json:"parts,omitempty"` // a MIME multipart in place of UserData
	VendorData []byte         `json:"vendor_data,omitempty"`
	MetaData   map[string]any `json:"meta_data,omitempty"` // instance-id defaults to i-judge
	// Modules are configuration modules, such as write_files and runcmd, that
	// run on the final configuration; their files appear in the result.
	Modules []string `json:"modules,omitempty"`
}

// ConsumeResult is what cloud-init makes of user-data and vendor-data.
type ConsumeResult struct {
	Config  Value `json:"config"`  // the merged cloud-config of the user's parts
	Vendor  Value `json:"vendor"`  // of vendor-data
	Vendor2 Value `json:"vendor2"` // of OpenStack's vendor_data2
	Final   Value `json:"final"`   // everything merged, the judge's image configuration included
	// Files are scripts, boot hooks, part handlers and files that the seed or a
	// module wrote, by their path in the guest.
	Files map[string]File `json:"files"`
	Log   []LogEntry      `json:"log"`   // of a boot, BootResult.Log has it
	Err   string          `json:"error"` // the exception that ended the stage or a module
}

// File is a file that cloud-init would write in the guest.
type File struct {
	Mode    string `json:"mode"`  // four octal digits
	Owner   string `json:"owner"` // user:group if something set it
	Content []byte `json:"content"`
}

// LogEntry is one message of cloud-init: at INFO or above, and at DEBUG where it
// shows an exception.
type LogEntry struct {
	Level   string `json:"level"` // DEBUG, INFO, WARNING, DEPRECATED, ERROR, CRITICAL
	Logger  string `json:"logger"`
	Message string `json:"message"`
}

// Problems returns the entries above INFO.
func Problems(log []LogEntry) []LogEntry {
	return slices.DeleteFunc(slices.Clone(log), func(e LogEntry) bool { return e.Level == "DEBUG" || e.Level == "INFO" })
}

// UserData judges one user-data with one vendor-data; either may be nil.
func (r *Release) UserData(tb testing.TB, user, vendor []byte) ConsumeResult {
	tb.Helper()
	return r.UserDataBatch(tb, []UserDataInput{{UserData: user, VendorData: vendor}})[0]
}

// UserDataBatch judges many inputs in one process, each as the first boot of a
// new machine.
func (r *Release) UserDataBatch(tb testing.TB, inputs []UserDataInput) []ConsumeResult {
	tb.Helper()
	var answer []ConsumeResult
	ask(tb, r.Root, "userdata", map[string]any{"items": inputs}, &answer)
	if len(answer) != len(inputs) {
		tb.Fatalf("cloud-init %s judged %d of %d inputs", r.Name, len(answer), len(inputs))
	}
	return answer
}

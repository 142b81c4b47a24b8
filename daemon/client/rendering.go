package client

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
)

// Diagnostic is a remark about documents, as `vmseed check --diagnostics json` writes it.
type Diagnostic struct {
	// Code is VS and four digits; Severity is note, warning or error.
	Code     string         `json:"code"`
	Severity string         `json:"severity"`
	Range    diag.Range     `json:"range,omitzero"`
	Field    string         `json:"field,omitempty"`
	Summary  string         `json:"summary"`
	Remedy   string         `json:"remedy,omitempty"`
	Related  []diag.Related `json:"related,omitempty"`
}

// Diagnostics returns remarks as they travel.
func Diagnostics(l diag.List) []Diagnostic {
	out := make([]Diagnostic, len(l))
	for i, d := range l {
		out[i] = Diagnostic{Code: d.Code.String(), Severity: d.Severity.String(), Range: d.Range, Field: d.Field, Summary: d.Summary, Remedy: d.Remedy, Related: d.Related}
	}
	return out
}

// List returns remarks as the rest of the module knows them, for diag.Write.
func List(in []Diagnostic) diag.List {
	var out diag.List
	for _, d := range in {
		code := 0
		_, _ = fmt.Sscanf(d.Code, "VS%d", &code)
		severity := diag.Error
		for _, s := range []diag.Severity{diag.Note, diag.Warning} {
			if s.String() == d.Severity {
				severity = s
			}
		}
		out.Add(diag.Diagnostic{Code: diag.Code(code), Severity: severity, Range: d.Range, Field: d.Field, Summary: d.Summary, Remedy: d.Remedy, Related: d.Related})
	}
	return out
}

// RenderRequest asks what guests would read. Nothing is stored.
type RenderRequest struct {
	Documents []Document `json:"documents,omitempty"`
	Settings
	// DataSources renders for each of these; empty means the one that the documents ask for.
	DataSources []string `json:"dataSources,omitempty"`
	// Generation is the revision of the instance id.
	Generation int `json:"generation,omitempty"`
	// Run adds what a run of the daemon does: what makes the guest report how its first boot goes.
	Run bool `json:"run,omitempty"`
	// Reveal leaves passwords, hashes and keys in the files; they are ****** otherwise.
	Reveal bool `json:"reveal,omitempty"`
}

// RenderResult is what guests would read. With an error among the diagnostics there are no seeds.
type RenderResult struct {
	Seeds       []Seed       `json:"seeds"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	// FirstBoot, of a machine that there is, says whether a start with Initialize would run first boot.
	FirstBoot *bool `json:"firstBoot,omitempty"`
	// MaskedOnly means that the run is over: what its guest was given is kept without its secrets, and nothing reveals them.
	MaskedOnly bool `json:"maskedOnly,omitempty"`
}

// BootReports is what a guest said of its current or last run, each module of it.
type BootReports struct {
	Reports []report.Event `json:"reports"`
}

// Seed is what one guest would read from one data source.
type Seed struct {
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	DataSource string `json:"dataSource"`
	InstanceID string `json:"instanceId,omitempty"`
	UUID       string `json:"uuid,omitempty"`
	Hostname   string `json:"hostname,omitempty"`
	// Volumes, Trees and Firmware are the places where the guest finds files, each in the order of the seed.
	Volumes []Volume `json:"volumes,omitempty"`
	Trees   []Tree   `json:"trees,omitempty"`
	// Firmware are configuration items (fw_cfg), whose paths are their names, and Credentials those of systemd.
	Firmware    []File `json:"firmware,omitempty"`
	Credentials []File `json:"credentials,omitempty"`
	// SMBIOS are strings such as type 1 serial=….
	SMBIOS     []string `json:"smbios,omitempty"`
	KernelArgs []string `json:"kernelArgs,omitempty"`
	// Seal says that the sealable files of trees are withdrawn when the first boot is over.
	Seal bool `json:"seal,omitempty"`
}

// Volume is a labelled file system.
type Volume struct {
	// Name is empty for the seed proper.
	Name  string `json:"name,omitempty"`
	Label string `json:"label,omitempty"`
	// Format is iso or vfat where it must be one.
	Format string `json:"format,omitempty"`
	// Image is a prepared image on the daemon's host, used unchanged; there are no files then.
	Image string `json:"image,omitempty"`
	Files []File `json:"files"`
}

// Tree is what a guest fetches by HTTP.
type Tree struct {
	Name string `json:"name"`
	// Roots are the directories of the server in which all the files stand.
	Roots []string `json:"roots,omitempty"`
	// Tokens is required or optional where readers have session tokens, whose answers pass HopLimit minus one routers.
	Tokens   string `json:"tokens,omitempty"`
	HopLimit int    `json:"hopLimit,omitempty"`
	Files    []File `json:"files"`
}

// File is a file that a guest would read.
type File struct {
	Path string
	// Mode is the permission bits in octal, where the place has such.
	Mode string
	// Size is that of the whole content, in bytes.
	Size int
	// Masked means that something secret in the content was replaced, Truncated that it is not the whole, Binary that it
	// is no text (it travels in base64).
	Masked, Truncated, Binary bool
	// Content holds the guest's secrets unless they are masked.
	Content secret.Text
	// ContentType and Sealable are those of a file that is fetched by HTTP.
	ContentType string
	Sealable    bool
}

// wireFile is how a File travels.
type wireFile struct {
	Path      string `json:"path"`
	Mode      string `json:"mode,omitempty"`
	Size      int    `json:"size"`
	Masked    bool   `json:"masked,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
	Text      string `json:"text,omitempty"`
	Base64    string `json:"base64,omitempty"`

	ContentType string `json:"contentType,omitempty"`
	Sealable    bool   `json:"sealable,omitempty"`
}

// MarshalJSON writes the file with its content.
func (f File) MarshalJSON() ([]byte, error) {
	w := wireFile{Path: f.Path, Mode: f.Mode, Size: f.Size, Masked: f.Masked, Truncated: f.Truncated, ContentType: f.ContentType, Sealable: f.Sealable}
	if f.Binary {
		w.Base64 = base64.StdEncoding.EncodeToString([]byte(f.Content.Reveal()))
	} else {
		w.Text = f.Content.Reveal()
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads a file.
func (f *File) UnmarshalJSON(data []byte) error {
	var w wireFile
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*f = File{Path: w.Path, Mode: w.Mode, Size: w.Size, Masked: w.Masked, Truncated: w.Truncated, Content: secret.New(w.Text),
		ContentType: w.ContentType, Sealable: w.Sealable}
	if w.Base64 != "" {
		raw, err := base64.StdEncoding.DecodeString(w.Base64)
		if err != nil {
			return fmt.Errorf("%s: %w", w.Path, err)
		}
		f.Binary, f.Content = true, secret.FromBytes(raw)
	}
	return nil
}

// CheckResult is what is wrong with documents.
type CheckResult struct {
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// ConvertRequest asks for documents in another form.
type ConvertRequest struct {
	Documents []Document `json:"documents"`
	Settings
	// To is the form; Version lists those that there are.
	To string `json:"to"`
}

// ConvertResult is a document for each machine. With an error among the diagnostics there is none.
type ConvertResult struct {
	Documents   []Document   `json:"documents"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

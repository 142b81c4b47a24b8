package netconfig

import (
	"slices"

	"github.com/vmseed/vmseed/diag"
)

// Lint says what a guest would make of a document that is passed on unchanged: where cloud-init fails, loses or
// misreads something. A zero guest stands for every supported release.
func Lint(file string, data []byte, guest Release) diag.List {
	if Detect(data) == ENI {
		return diag.List{{Code: CodeDeprecated, Severity: diag.Note, Range: diag.At(file, 1, 1),
			Summary: "cloud-init since 24.3 calls interfaces(5) text deprecated", Remedy: "write network-config version 1"}}
	}
	if root, list := parse(file, data); root == nil && !list.HasErrors() {
		return diag.List{{Code: CodeGuestLoses, Severity: diag.Warning, Range: diag.At(file, 1, 1),
			Summary: "the document is empty: cloud-init falls back to DHCP on one NIC", Remedy: "fill it, or leave it out"}}
	}
	r := read(file, data, guest)
	out := slices.DeleteFunc(r.list, func(d diag.Diagnostic) bool { return d.Code == CodeNotHeld })
	out = append(out, r.traps...)
	if out.HasErrors() {
		return out.Sorted()
	}
	return append(out, plausible(r)...).Sorted()
}

// plausible returns the complaints of Validate that hold for a document of someone else: one may say more than the
// model, so that gaps of the model are no mistakes.
func plausible(r *reader) diag.List {
	var out diag.List
	for _, d := range r.config.Validate() {
		switch d.Code {
		case CodeModel, CodeRoute:
			continue
		case CodeReference:
			if r.format == V1 {
				d.Severity = min(d.Severity, diag.Warning) // cloud-init invents the link
			}
		default:
			d.Severity = min(d.Severity, diag.Warning)
		}
		if d.Range.IsZero() {
			d.Range = diag.At(r.file, 1, 1)
		}
		out.Add(d)
	}
	return out
}

// ConvertForOpenStack turns a network document into network_data.json, the only form that a ConfigDrive and OpenStack's
// metadata service hold. A document that already is in that form is returned unchanged. Without an error nothing of
// weight is lost; warnings name the rest.
func ConvertForOpenStack(file string, data []byte) ([]byte, diag.List) {
	c, f, list := Parse(file, data)
	if f == OpenStack && !list.HasErrors() {
		return data, nil
	}
	if list.HasErrors() {
		return nil, refused(file, list)
	}
	list.Add(diag.Diagnostic{Code: CodeConvert, Severity: diag.Note, Range: diag.At(file, 1, 1),
		Summary: "this is " + string(f) + ", which cloud-init does not read from this data source: it is converted to network_data.json",
		Remedy:  "write network_data.json, or use NoCloud to pass the document on unchanged"})
	out, more := EncodeOpenStack(c)
	list = append(list, more...)
	for i, d := range list {
		if d.Range.IsZero() {
			list[i].Range = diag.At(file, 1, 1)
		}
	}
	if list.HasErrors() {
		return nil, refused(file, list)
	}
	return out, list
}

// refused closes the reasons with what follows from them.
func refused(file string, reasons diag.List) diag.List {
	reasons.Errorf(CodeConvert, diag.At(file, 1, 1), "use NoCloud, or write network_data.json",
		"the document cannot be converted to network_data.json, the only form this data source has")
	return reasons
}

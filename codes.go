package vmseed

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeUnknownPlugin is for a data source, delivery or hypervisor that does not exist.
	CodeUnknownPlugin diag.Code = 1000 + iota
	// CodeNotExpressed is for fields that a data source has no words for.
	CodeNotExpressed
	// CodeNotBuilt is for hardware that a hypervisor does not build.
	CodeNotBuilt
	// CodeNoMachine is for input without a machine.
	CodeNoMachine
	// CodeDuplicateMachine is for two machines of one name.
	CodeDuplicateMachine
	// CodeUnknownForm is for documents of no known form.
	CodeUnknownForm
	// CodeTemplate is for templates that nobody rendered.
	CodeTemplate
	// CodeNotWritten is for fields that a form has no words for.
	CodeNotWritten
	// CodeFlattened is for a machine whose generated documents stand in the form.
	CodeFlattened
	// CodeNotRead is for objects of Kubernetes that concern no machine.
	CodeNotRead
	// CodeOtherPlatform is for an Ignition config that travels where the image does not look.
	CodeOtherPlatform
	// CodeRenamed is for a machine whose name the form does not take.
	CodeRenamed
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeUnknownPlugin, Title: "no such plug-in", Text: "The data source, delivery or hypervisor does not exist. The message lists those that do."},
		{Code: CodeNotExpressed, Title: "the data source has no words for it",
			Text: "The machine uses a field that the chosen data source cannot pass to the guest. `docs/reference/fields.md` shows which data source can."},
		{Code: CodeNotBuilt, Title: "the hypervisor does not do it", Text: "The machine asks for hardware that the chosen hypervisor does not build, so the VM runs without it."},
		{Code: CodeNoMachine, Title: "no machine in the input",
			Text: "The files hold objects that machines refer to, such as Secrets, but no machine. Give the file with the VM definition as well."},
		{Code: CodeDuplicateMachine, Title: "two machines of one name", Text: "Machines are told apart by namespace and name. Rename one, or give only one of the files."},
		{Code: CodeUnknownForm, Title: "unknown form",
			Text: "No front end recognises the document. A Kubernetes object needs its `apiVersion` and `kind`; a Virtlet pod the annotation " +
				"`kubernetes.io/target-runtime: virtlet.cloud`; a cloud-config its first line `#cloud-config`."},
		{Code: CodeTemplate, Title: "template that nobody has rendered",
			Text: "The file holds the marks of a template language and is no YAML until they are replaced. Render it first, for example with `helm template`. " +
				"A cloud-config that the guest itself shall render begins with `## template: jinja`."},
		{Code: CodeNotWritten, Title: "the form has no words for it",
			Text: "The machine uses a field that the form which it is converted to cannot say. The converted definition is a machine without it. " +
				"Convert to a form that can say it, do it in the user-data, or add it by hand where the converted definition is used."},
		{Code: CodeFlattened, Title: "fields became user-data",
			Text: "The form to convert to has no words for users, files, mounts and the like of its own. They stand in the converted definition as " +
				"the user-data, vendor-data and network document that the guest of the original reads, so that its guest reads the same."},
		{Code: CodeNotRead, Title: "object that concerns no machine",
			Text: "The input holds a Kubernetes object beside its machines that neither is one nor is referred to by one, such as a Service. It is " +
				"passed over. If it should have been a machine, correct its `apiVersion` and `kind`."},
		{Code: CodeOtherPlatform, Title: "Ignition config where the image does not look",
			Text: "The machine has a seed for cloud-init, a volume or one that is fetched, and an Ignition config of its own, as a KubeVirt VM with a cloud-init volume and the annotation " +
				"has. The config then travels in the firmware, which images of the platforms `openstack`, `kubevirt` and `proxmoxve` do not read. For such " +
				"an image use the data source `ignition`, which puts the config on the volume, or give the config as the user-data of the volume."},
		{Code: CodeRenamed, Title: "machine gets another name",
			Text: "The form names machines as Kubernetes does, in small letters, digits, dashes and dots, and the name of this one has others, as names in oVirt " +
				"may. What vmseed makes of a name (UUID, instance id, MACs) is stated in the converted definition, so that its guest stays the same."},
	}
}

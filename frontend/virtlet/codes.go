package virtlet

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeNotPod is for documents that are no pods.
	CodeNotPod diag.Code = 2200 + iota
	// CodeName is for a pod without a usable name or namespace.
	CodeName
	// CodeContainers is for a pod that has not exactly one container.
	CodeContainers
	// CodeRuntime is for a pod that does not ask for Virtlet.
	CodeRuntime
	// CodeAnnotation is for an annotation that Virtlet does not have.
	CodeAnnotation
	// CodeAnnotationValue is for an annotation with a value that it does not take.
	CodeAnnotationValue
	// CodeNotMapping is for meta-data that is no mapping.
	CodeNotMapping
	// CodeMissingObject is for a Secret, ConfigMap or claim that is not there.
	CodeMissingObject
	// CodeMissingKey is for a key that an object does not have.
	CodeMissingKey
	// CodeSourceValue is for a value of a user-data source that is no part of a cloud-config.
	CodeSourceValue
	// CodeReplaced is for user-data that other user-data takes the place of.
	CodeReplaced
	// CodeSSHKey is for a line that is no SSH public key.
	CodeSSHKey
	// CodeNoGuest is for fields that concern the cluster.
	CodeNoGuest
	// CodeNoEffect is for fields of containers that a VM has no use for.
	CodeNoEffect
	// CodeVolume is for a volume that cannot be understood.
	CodeVolume
	// CodeMount is for a mount that cannot be made.
	CodeMount
	// CodeFlexVolume is for options of Virtlet's volume driver.
	CodeFlexVolume
	// CodeMode is for the permissions of files.
	CodeMode
	// CodeSubPath is for a part of a volume that is not there.
	CodeSubPath
	// CodeSamePath is for two files with one path.
	CodeSamePath
	// CodeEnvironment is for environment variables that cannot be made.
	CodeEnvironment
	// CodeReference is for a reference to a variable that is not known.
	CodeReference
	// CodeClusterOnly is for values that only a cluster knows.
	CodeClusterOnly
	// CodePersistentRoot is for what a root disk on a claim means.
	CodePersistentRoot
	// CodeQuantity is for amounts that cannot be read.
	CodeQuantity
	// CodeCPU is for settings of the CPU that cannot be honoured.
	CodeCPU
	// CodeInjected is for files that Virtlet wrote before the guest started.
	CodeInjected
	// CodeUnread is for values that nothing reads.
	CodeUnread
	// CodeHostname is for host names that are changed.
	CodeHostname
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeNotPod, Title: "not a Pod",
			Text: "Virtlet's definitions are Kubernetes Pods: `apiVersion: v1`, `kind: Pod`. A Deployment or StatefulSet makes pods " +
				"whose names only the cluster knows; give vmseed a Pod with the template's metadata and spec, and a name."},
		{Code: CodeName, Title: "pod without a usable name",
			Text: "`metadata.name` becomes the guest's host name and, with the namespace, its instance-id. It consists of lower-case " +
				"letters, digits, dashes and dots. `generateName` is completed by the cluster, so vmseed needs the full name."},
		{Code: CodeContainers, Title: "not exactly one container",
			Text: "Virtlet runs one VM for each pod, and the pod's only container describes it. Further containers, init containers " +
				"and sidecars cannot run beside the VM: move what they do into the guest or into a pod of their own."},
		{Code: CodeRuntime, Title: "the pod does not ask for Virtlet",
			Text: "The annotation `kubernetes.io/target-runtime: virtlet.cloud` gives a pod to Virtlet, and the image of its container " +
				"begins with `virtlet.cloud/`. Without both, a cluster would run it as a container or refuse it."},
		{Code: CodeAnnotation, Title: "unknown Virtlet annotation",
			Text: "Virtlet ignores annotations that it does not know, so a misspelt one is lost without a word. Names are case-sensitive."},
		{Code: CodeAnnotationValue, Title: "value that the annotation does not take",
			Text: "The message says what the annotation takes. Values of annotations are texts: put numbers and `true` into quotes. " +
				"Booleans are on for the exact text `true` only."},
		{Code: CodeNotMapping, Title: "meta-data is no mapping",
			Text: "`VirtletCloudInitMetaData` holds a YAML or JSON mapping, whose keys replace those of the generated meta-data."},
		{Code: CodeMissingObject, Title: "object is not there",
			Text: "The pod refers to a Secret, a ConfigMap or a claim that vmseed does not have. Give the manifest with the object " +
				"beside that of the pod. It is looked for in the namespace of the pod, and a missing namespace means `default`."},
		{Code: CodeMissingKey, Title: "key is not in the object",
			Text: "The object exists, but has no such key. Correct the key, or mark the reference `optional: true` where the guest can do without."},
		{Code: CodeSourceValue, Title: "value is no part of a cloud-config",
			Text: "Each key of the object that `VirtletCloudInitUserDataSource` names becomes a top-level key of the cloud-config, and " +
				"its value is read as YAML. To pass a whole document or a script under one key, name that key in " +
				"`VirtletCloudInitUserDataSourceKey`."},
		{Code: CodeReplaced, Title: "user-data is replaced",
			Text: "A script (`VirtletCloudInitUserDataScript`, or a document by `VirtletCloudInitUserDataSourceKey`) is all of the " +
				"guest's user-data, and `VirtletCloudInitUserDataOverwrite` lets an annotation take the place of the source object. " +
				"What is replaced does not reach the guest. Remove one of the two."},
		{Code: CodeSSHKey, Title: "not an SSH public key",
			Text: "A line of authorized keys has a key type such as `ssh-ed25519`, the key in base64, and a comment. The guest's SSH " +
				"server ignores other lines, and nobody can log in with them. A private key must never be put here."},
		{Code: CodeNoGuest, Title: "field concerns the cluster",
			Text: "The field tells Kubernetes where and how to run the pod. It changes nothing for the guest, so vmseed ignores it."},
		{Code: CodeNoEffect, Title: "field has no effect on a VM",
			Text: "Virtlet starts the boot loader of the image instead of a command, and nothing in the guest knows of containers. " +
				"What the field asks for does not happen. Use user-data, such as `runcmd`, to do it in the guest."},
		{Code: CodeVolume, Title: "volume cannot be understood",
			Text: "A volume has a name of its own and exactly one source. A claim for `volumeDevices` has `volumeMode: Block`, one for `volumeMounts` has not."},
		{Code: CodeMount, Title: "mount cannot be made",
			Text: "A mount names a volume of the pod and an absolute path that no other mount has. A volume for `volumeDevices` is a claim."},
		{Code: CodeFlexVolume, Title: "option of Virtlet's volume driver",
			Text: "The driver `virtlet/flexvolume_driver` has the types `qcow2` (options `capacity`, `part`), `raw` (`path` below " +
				"`/dev/`, `part`) and `ceph` (`monitor` as host:port, `pool`, `volume`, `user`, `secret`, `protocol`, `part`). All values are " +
				"texts. `part` is the partition to mount, 1 by default and 0 for the whole disk."},
		{Code: CodeMode, Title: "permissions of a file",
			Text: "Modes are whole numbers from 0 to 0777. In YAML a leading zero makes the number octal: `0400` lets the owner read. " +
				"Without it the number is decimal: 400 is 0620."},
		{Code: CodeSubPath, Title: "part of a volume that is not there",
			Text: "`subPath` names a file or directory in the volume: for a Secret or ConfigMap one of its keys, or one of the paths " +
				"under `items`. Disks cannot be mounted in part."},
		{Code: CodeSamePath, Title: "two files with one path",
			Text: "Two mounts put a file at the same place of the guest. The later one is what the guest keeps."},
		{Code: CodeEnvironment, Title: "environment variable that cannot be made",
			Text: "A variable has a name of letters, digits and underscores, and either a value or a source for it. Names with other " +
				"characters reach the guest, but no shell can use them."},
		{Code: CodeReference, Title: "reference to an unknown variable",
			Text: "`$(NAME)` stands for a variable that is defined before, by `envFrom` or higher up in `env`. An unknown one stays as it " +
				"is written, as in Kubernetes; a cluster also knows variables for its services, which vmseed cannot. Write `$$(NAME)` for the plain text."},
		{Code: CodeClusterOnly, Title: "value that only a cluster knows",
			Text: "Addresses, nodes, service account tokens and the like come into being on the cluster. Write the value down, or give " +
				"the pod as `kubectl get pod -o yaml` shows it."},
		{Code: CodePersistentRoot, Title: "root disk on a claim",
			Text: "With a volume device at `/` the guest boots from that volume, which outlives the pod. Virtlet overwrites it whenever " +
				"the image changes. vmseed never writes an image onto a volume: put a bootable system there first. The guest gets no network " +
				"document, as with Virtlet, and the instance-id stays the same for a new pod; render with `--instance-revision` to run " +
				"first boot again."},
		{Code: CodeQuantity, Title: "amount that cannot be read",
			Text: "Amounts are Kubernetes quantities: 512Mi, 2G, 500m. The message says what else the field demands."},
		{Code: CodeCPU, Title: "setting of the CPU",
			Text: "`VirtletLibvirtCPUSetting` takes libvirt's CPU element as YAML. vmseed honours `mode`, `model`, `topology` and " +
				"`features`; other members are for libvirt alone."},
		{Code: CodeInjected, Title: "file is written at first boot",
			Text: "Virtlet writes the files of `VirtletFilesFromDataSource` into the first partition of the root disk before the guest " +
				"starts. vmseed does not change disks: the guest writes them at its first boot, so it must run cloud-init."},
		{Code: CodeUnread, Title: "value that nothing reads",
			Text: "The field is known, but vmseed has no use for the value here."},
		{Code: CodeHostname, Title: "host name differs from the pod's name",
			Text: "The guest's host name is `spec.hostname`, else the pod's name, cut to 63 characters as Kubernetes does. With " +
				"`spec.subdomain` or `setHostnameAsFQDN` the domain is that of the cluster, which vmseed takes to be `cluster.local`."},
	}
}

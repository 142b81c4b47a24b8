package daemon

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeNotOneMachine is for documents of a VM that hold no machine, or several.
	CodeNotOneMachine diag.Code = 7000 + iota
	// CodeOtherUUID is for a document that states another UUID than the VM has.
	CodeOtherUUID
	// CodeSidecar is for the description of an image that cannot be read.
	CodeSidecar
	// CodeUnusableImage is for an image that cannot be imported.
	CodeUnusableImage
	// CodeNothingToBoot is for a VM without disk and kernel.
	CodeNothingToBoot
	// CodeBadName is for names and ids that cannot be taken.
	CodeBadName
	// CodeHostPath is for a document that names a file, directory or device of the host which it may not have.
	CodeHostPath
	// CodeDelivery is for a way in which the guest cannot get its seed.
	CodeDelivery
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeNotOneMachine, Title: "not exactly one machine",
			Text: "Each VM of the daemon has documents that define one machine. These define none, or several: add each machine as a VM of its own, " +
				"with the Secrets and ConfigMaps that it needs beside it."},
		{Code: CodeOtherUUID, Title: "another UUID than the VM's",
			Text: "A VM of the daemon has its id as its UUID, for as long as it exists. The document states another one, which is not used. " +
				"Take it out, or add the document as a new VM, whose id is the UUID that the document states."},
		{Code: CodeSidecar, Title: "description of an image that cannot be read",
			Text: "The file beside an image, with the image's name and `.yaml` behind it, describes the image: `name`, `description`, `guest` (`os`, " +
				"`release`, `ignitionPlatform`), `boot` (`kernel`, `initrd`, `append`), `hardware` (`memory`, `cpus`, `firmware`) and `login`. " +
				"While something in it is wrong, the image cannot be imported."},
		{Code: CodeUnusableImage, Title: "image that cannot be imported",
			Text: "Guest images are files of the formats raw and qcow2 that stand alone. One that names another file as its base or for its data would " +
				"show the guest that file: flatten it with `qemu-img convert`. One that is compressed is unpacked first."},
		{Code: CodeNothingToBoot, Title: "nothing to boot from",
			Text: "The VM has no disk and no kernel. Make it from a template that was imported from an image, or name an image in its definition."},
		{Code: CodeBadName, Title: "name that cannot be taken",
			Text: "Names of VMs, templates and disks become parts of the names of files and of messages, so they hold no slash and only what can be " +
				"printed. Ids are UUIDs, and the one of zeros belongs to the template Blank."},
		{Code: CodeHostPath, Title: "file or device of the host that documents may not have",
			Text: "Documents that come to the daemon name files of its host only below the image repository and the other storage domains, where they are " +
				"read and not written to, whatever links lead there. An administrator allows more when the daemon is started: `--allow-host-path` a directory " +
				"of raw disks, CDs and kernels, `--allow-share` a directory that guests mount, `--allow-host-device` a device by its PCI address."},
		{Code: CodeDelivery, Title: "way in which the guest cannot get its seed",
			Text: "A VM of the daemon may say how its guest gets the seed: `auto`, `iso`, `vfat`, `fw_cfg`, `virtio-blk`, `smbios` or `metadata`, as `vmseed run " +
				"--delivery` does. Which of them can be depends on the data source: only what is read from a volume can be an ISO, and only what is fetched " +
				"can be served. `auto` always fits."},
	}
}

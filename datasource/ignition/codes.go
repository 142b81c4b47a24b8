package ignition

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodePlatform is for platforms that vmseed has no way to.
	CodePlatform diag.Code = 4300 + iota
	// CodeSize is for configs that take long to read.
	CodeSize
	// CodeNetworkTwice is for networks that only the config holds.
	CodeNetworkTwice
	// CodeKernel is for configs that a kernel argument leads to.
	CodeKernel
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodePlatform, Title: "unknown Ignition platform",
			Text: "The platform is the `ignition.platform.id` that the image was built for, and decides where its Ignition looks for a config. The message lists " +
				"those that vmseed reaches. An image for `metal` asks nobody: serve the config over HTTP and boot the image's kernel with the arguments that `vmseed " +
				"show` prints, or take another image."},
		{Code: CodeSize, Title: "config is large for fw_cfg",
			Text: "Linux reads a file of QEMU's fw_cfg device again from its beginning for each page, so the time grows with the square of the size. Under software " +
				"emulation 1 MiB takes 17 seconds, and 4 MiB do not end within 100. Have Ignition fetch large files (`source: https://…` with " +
				"`verification`), or take an image of a platform that reads a disk: `openstack`, `kubevirt` or `proxmoxve`."},
		{Code: CodeNetworkTwice, Title: "only Ignition is told of the network",
			Text: "On platforms with a config drive Afterburn reads the network from there as well, for use before Ignition runs. The form of that document has no " +
				"words for all of this network, so the drive has none. The Ignition config does, and the guest's own system follows it."},
		{Code: CodeKernel, Title: "config over HTTP needs kernel arguments",
			Text: "Ignition fetches a config from the URL that `ignition.config.url` on the kernel's command line names, whatever the platform of its image, and its initramfs " +
				"brings a network up for that (`ip=dhcp rd.neednet=1`). No image's boot loader says so: the VM needs `--kernel` and `--initrd`, or arguments that are " +
				"written into its boot loader. Images of the platform `openstack` ask the metadata service of their own accord."},
	}
}

package image

import "github.com/vmseed/vmseed/diag"

// The diagnostics about images that definitions name.
const (
	// CodeBadReference is for references that cannot be read or that lack something.
	CodeBadReference diag.Code = 1400 + iota
	// CodeBadImage is for references that lead to no guest image.
	CodeBadImage
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeBadReference, Title: "no reference to an image",
			Text: "A definition names the image of a disk: a container image as `REGISTRY/REPOSITORY:TAG`, a URL with a checksum as " +
				"`https://HOST/FILE#sha256=HEX`, a file, or a short name such as `debian:13`. A URL without a checksum is refused, because nobody " +
				"vouches for what it brings. `--image` and `--volume` of `vmseed run` go before what the definition names."},
		{Code: CodeBadImage, Title: "not a guest image",
			Text: "The image that the definition names was found, or looked for, and cannot be used: it does not exist, has another checksum than it should, " +
				"is a container image without a disk in `/disk`, with several files there or for another architecture, is larger than allowed, or is " +
				"compressed or of a format that vmseed does not open."},
	}
}

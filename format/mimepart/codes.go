package mimepart

import "github.com/vmseed/vmseed/diag"

// The diagnostics of this package.
const (
	// CodeBoundary is for a multipart whose boundary is missing or not closed.
	CodeBoundary diag.Code = 3300 + iota
	// CodeOutside is for text that belongs to no part.
	CodeOutside
	// CodeEncoding is for a part that does not decode.
	CodeEncoding
	// CodeTooMany is for messages over their budget.
	CodeTooMany
	// CodeGzip is for compressed parts, or messages, that do not unpack.
	CodeGzip
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeBoundary, Title: "MIME boundary is missing",
			Text: "The parts of a multipart are told apart by lines of two dashes and the boundary that its Content-Type names; " +
				"two more dashes close the message. Without them cloud-init finds no part, or takes a message that was cut off " +
				"for a whole one."},
		{Code: CodeOutside, Title: "text outside of the MIME parts",
			Text: "What stands behind the closing boundary of a multipart belongs to no part, and no reader looks at it."},
		{Code: CodeEncoding, Title: "MIME part does not decode",
			Text: "The part names a Content-Transfer-Encoding, base64 or quoted-printable, that its text does not follow. " +
				"cloud-init would pass the broken text on."},
		{Code: CodeTooMany, Title: "too many MIME parts",
			Text: "vmseed reads messages of at most 1000 parts that nest at most 20 deep, far more than any real one has."},
		{Code: CodeGzip, Title: "gzip data does not unpack",
			Text: "The user-data, or a part of it, begins like gzip data or says that it is, but it is damaged, cut off, or " +
				"larger than 16 MiB when unpacked. cloud-init drops all user-data because of a damaged part since 20.3."},
	}
}

package image

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"net/url"
	"path"
	"strings"

	"github.com/vmseed/vmseed/secret"
)

// Checksum is what a file should hash to.
type Checksum struct {
	// Algorithm is sha256 or sha512.
	Algorithm string `json:"algorithm"`
	// Hex is the sum in small letters.
	Hex string `json:"hex"`
}

// algorithms are the hashes by their names.
var algorithms = map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}

// ParseChecksum reads sha256:HEX or sha512:HEX.
func ParseChecksum(text string) (Checksum, error) {
	algorithm, digits, _ := strings.Cut(strings.TrimSpace(text), ":")
	c := Checksum{Algorithm: strings.ToLower(algorithm), Hex: strings.ToLower(digits)}
	make, ok := algorithms[c.Algorithm]
	if !ok {
		return Checksum{}, badReference("", "a checksum is written sha256:HEX or sha512:HEX, or is the https URL of a list of checksums", "")
	}
	if raw, err := hex.DecodeString(c.Hex); err != nil || len(raw) != make().Size() {
		return Checksum{}, badReference("", fmt.Sprintf("a %s checksum has %d hexadecimal digits", c.Algorithm, 2*make().Size()), "")
	}
	return c, nil
}

// String returns the checksum as ParseChecksum reads it.
func (c Checksum) String() string {
	if c.Algorithm == "" {
		return ""
	}
	return c.Algorithm + ":" + c.Hex
}

// sumsLimit is the size of the largest list of checksums that is read.
const sumsLimit = 4 << 20

// findSum finds the checksum of a file in a list as sha256sum and sha512sum write it ("HEX  NAME", with a * for binary
// mode or a \ where the name is escaped) or as BSD's tools do ("SHA256 (NAME) = HEX"). Other lines, such as those of a
// signature around the list, are passed over.
func findSum(list []byte, file string) (Checksum, error) {
	var found Checksum
	lines := bufio.NewScanner(bytes.NewReader(list))
	for lines.Scan() {
		sum, name := sumLine(lines.Text())
		if path.Base(name) != file {
			continue
		}
		if found.Hex != "" && found.Algorithm == sum.Algorithm && found != sum {
			return Checksum{}, badImage(fmt.Sprintf("the list has two checksums for %s", file), "")
		}
		if found.Algorithm != "sha512" {
			found = sum
		}
	}
	if err := lines.Err(); err != nil {
		return Checksum{}, badImage("the list of checksums cannot be read: "+err.Error(), "")
	}
	if found.Hex == "" {
		return Checksum{}, badImage(fmt.Sprintf("the list of checksums has no line for %s", file), "name the list that is published beside the image")
	}
	return found, nil
}

// sumLine reads a line of a list. A line of another kind has no name.
func sumLine(line string) (sum Checksum, name string) {
	line = strings.TrimRight(line, " \t\r")
	if tag, rest, ok := strings.Cut(line, " ("); ok {
		if name, digits, ok := strings.Cut(rest, ") = "); ok {
			if sum, err := ParseChecksum(tag + ":" + digits); err == nil {
				return sum, name
			}
		}
	}
	digits, name, ok := strings.Cut(line, " ")
	if !ok || name == "" {
		return Checksum{}, ""
	}
	name = strings.TrimPrefix(strings.TrimLeft(name, " "), "*")
	if sum, ok := byLength(digits); ok {
		return sum, name
	}
	return Checksum{}, ""
}

// byLength reads a checksum without the name of its algorithm, which its length tells.
func byLength(digits string) (Checksum, bool) {
	for algorithm, make := range algorithms {
		if len(digits) == 2*make().Size() {
			sum, err := ParseChecksum(algorithm + ":" + digits)
			return sum, err == nil
		}
	}
	return Checksum{}, false
}

// SetChecksum gives a web reference the checksum that a user states: sha256:HEX, sha512:HEX, HEX alone, or the URL of a list.
func (r Reference) SetChecksum(text string) (Reference, error) {
	if r.Kind != Web {
		return r, badReference(r.String(), "only an image at a URL takes a checksum", "")
	}
	if r.Checksum.Algorithm != "" || r.sums.Reveal() != "" {
		return r, badReference(r.String(), "has a checksum already", "state it once")
	}
	if sum, ok := byLength(text); ok {
		r.Checksum = sum
		return r, nil
	}
	if !strings.Contains(text, "/") && strings.Contains(text, ":") {
		sum, err := ParseChecksum(text)
		r.Checksum = sum
		return r, about(r, err)
	}
	return r.setSums(text)
}

// setSums sets the address of the list of checksums, which may be relative to that of the image.
func (r Reference) setSums(text string) (Reference, error) {
	base, err := url.Parse(r.address.Reveal())
	if err != nil {
		return r, badReference(r.String(), "is no URL", "")
	}
	list, err := base.Parse(text)
	if err != nil || list.Host == "" || list.Path == base.Path {
		return r, badReference(r.String(), "a checksum is written sha256:HEX or sha512:HEX, or is the https URL of a list of checksums", "")
	}
	if list.Scheme != "https" {
		return r, badReference(r.String(), "the list of checksums must come by https", "anybody on the way could change it otherwise")
	}
	r.sums = secret.New(list.String())
	return r, nil
}

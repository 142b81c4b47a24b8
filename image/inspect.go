package image

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/vmseed/vmseed/format/qcow2"
)

// Format is the format of a disk image.
type Format string

// The formats of guest images.
const (
	Raw   Format = "raw"
	QCOW2 Format = "qcow2"
)

// headSize is how much of an image is looked at.
const headSize = 512

// foreign are formats by the bytes at an offset, and what helps.
var foreign = []struct {
	offset             int
	magic, name, mends string
}{
	{0, "\x1f\x8b", "compressed with gzip", "unpack it with gunzip and name the file"},
	{0, "\xfd7zXZ\x00", "compressed with xz", "unpack it with xz -d and name the file"},
	{0, "\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it with zstd -d and name the file"},
	{0, "BZh", "compressed with bzip2", "unpack it with bunzip2 and name the file"},
	{0, "PK\x03\x04", "a zip archive", "unpack it and name the image"},
	{257, "ustar", "a tar archive", "unpack it and name the image, or use oci-archive: or docker-archive:"},
	{0, "KDMV", "a VMDK image", "convert it with qemu-img convert -O qcow2"},
	{0, "vhdxfile", "a VHDX image", "convert it with qemu-img convert -O qcow2"},
	{0, "conectix", "a VHD image", "convert it with qemu-img convert -O qcow2"},
	{0x40, "\x7f\x10\xda\xbe", "a VDI image", "convert it with qemu-img convert -O qcow2"},
	{0, "QED\x00", "a QED image", "convert it with qemu-img convert -O qcow2"},
}

// recognise tells format and virtual size of an image by its head and its length. Images that lead to other files and
// files that are no image a guest can use as they are yield errors.
func recognise(head []byte, length int64) (Format, int64, error) {
	for _, f := range foreign {
		if len(head) > f.offset && bytes.HasPrefix(head[f.offset:], []byte(f.magic)) {
			return "", 0, badImage("the file is "+f.name, f.mends)
		}
	}
	switch {
	case length == 0:
		return "", 0, badImage("the file is empty", "")
	case !qcow2.Is(head):
		return Raw, length, nil
	}
	header, err := qcow2.Parse(head)
	switch {
	case errors.Is(err, qcow2.ErrTruncated):
		return "", 0, badImage("the file ends within its header", "fetch it again")
	case errors.Is(err, qcow2.ErrVersion):
		return "", 0, badImage("the file is a qcow image of another version than 2 and 3", "convert it with qemu-img convert -O qcow2")
	case err != nil || header.Size == 0:
		return "", 0, badImage("the image has no sensible size", "")
	case header.Leads():
		return "", 0, badImage("the image names another file of the host as its base or its data", "flatten it with qemu-img convert -O qcow2")
	}
	return QCOW2, header.Size, nil
}

// Backing returns the file that a qcow2 image is an overlay on, as the image spells it; "" for one that stands alone and
// for other formats.
func Backing(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, qcow2.HeaderSize)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	header, err := qcow2.Parse(head[:n])
	if err != nil {
		return "", nil
	}
	name, err := header.BackingFile(f)
	if errors.Is(err, qcow2.ErrBacking) {
		return "", nil
	}
	return name, err
}

package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// Format is the format of a disk image.
type Format string

// The formats of guest images.
const (
	Raw   Format = "raw"
	QCOW2 Format = "qcow2"
)

// Fields of a qcow2 header, as byte offsets (docs/interop/qcow2.txt of QEMU).
const (
	qcowVersion      = 4
	qcowBacking      = 8
	qcowBackingSize  = 16
	qcowSize         = 24
	qcowIncompatible = 72
	qcowHeader       = 80
	qcowExternalData = 1 << 2
	qcowNameLimit    = 1023
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
	case !bytes.HasPrefix(head, []byte("QFI\xfb")):
		return Raw, length, nil
	case len(head) < qcowHeader:
		return "", 0, badImage("the file ends within its header", "fetch it again")
	}
	version := binary.BigEndian.Uint32(head[qcowVersion:])
	size := binary.BigEndian.Uint64(head[qcowSize:])
	switch {
	case version != 2 && version != 3:
		return "", 0, badImage("the file is a qcow image of another version than 2 and 3", "convert it with qemu-img convert -O qcow2")
	case binary.BigEndian.Uint64(head[qcowBacking:]) != 0,
		version == 3 && binary.BigEndian.Uint64(head[qcowIncompatible:])&qcowExternalData != 0:
		return "", 0, badImage("the image names another file of the host as its base or its data", "flatten it with qemu-img convert -O qcow2")
	case size == 0 || size > 1<<62:
		return "", 0, badImage("the image has no sensible size", "")
	}
	return QCOW2, int64(size), nil
}

// Backing returns the file that a qcow2 image is an overlay on, as the image spells it; "" for one that stands alone and
// for other formats.
func Backing(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, qcowHeader)
	if _, err := io.ReadFull(f, head); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	offset, size := binary.BigEndian.Uint64(head[qcowBacking:]), binary.BigEndian.Uint32(head[qcowBackingSize:])
	if !bytes.HasPrefix(head, []byte("QFI\xfb")) || offset == 0 || offset > 1<<40 || size > qcowNameLimit {
		return "", nil
	}
	name := make([]byte, size)
	if _, err := f.ReadAt(name, int64(offset)); err != nil {
		return "", err
	}
	return string(name), nil
}

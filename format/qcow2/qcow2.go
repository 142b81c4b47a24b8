// Package qcow2 reads the header of QEMU's disk images: how large the disk is, and which other files the image leads to. It
// also makes new images that are overlays on others. The layout is that of docs/interop/qcow2 in QEMU.
package qcow2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// HeaderSize is how many bytes at the start of an image Parse looks at.
const HeaderSize = 104

// The errors of Parse.
var (
	// ErrFormat: the bytes are not the start of a qcow2 image.
	ErrFormat = errors.New("not a qcow2 image")
	// ErrTruncated: the image ends within its header.
	ErrTruncated = errors.New("the qcow2 image ends within its header")
	// ErrVersion: the image has another version than 2 and 3. Version 1 is the format that QEMU calls qcow.
	ErrVersion = errors.New("the qcow2 image has another version than 2 and 3")
	// ErrSize: the virtual size has more than 63 bits.
	ErrSize = errors.New("the qcow2 image has no sensible size")
)

// ErrBacking: the name of the backing file is longer than the 1023 bytes that the format allows, or is not in the image.
var ErrBacking = errors.New("the qcow2 image names its backing file wrongly")

const (
	magic = "QFI\xfb"
	// nameLimit is the longest name of a backing file, in bytes.
	nameLimit = 1023
	// headerSize2 is the length of a header of version 2.
	headerSize2 = 72
	// externalData is the bit of the incompatible features for a data file of its own.
	externalData = 1 << 2
)

// Byte offsets of the fields that are read, all of them big endian.
const (
	atVersion      = 4
	atBacking      = 8
	atBackingSize  = 16
	atSize         = 24
	atIncompatible = 72
)

// Header is what the first bytes of an image say.
type Header struct {
	// Version is 2 or 3.
	Version int
	// Size is the size of the disk that the guest sees, in bytes.
	Size int64
	// ExternalData means that the guest's data are in another file of the host, which the image names.
	ExternalData bool

	backing     uint64
	backingSize uint32
}

// Is reports whether an image that starts with head claims to be qcow, of whichever version.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Parse reads the header of an image out of its first HeaderSize bytes or more; fewer are enough where the image has no
// more.
func Parse(head []byte) (Header, error) {
	switch {
	case !Is(head):
		return Header{}, ErrFormat
	case len(head) < headerSize2:
		return Header{}, ErrTruncated
	}
	version := binary.BigEndian.Uint32(head[atVersion:])
	switch {
	case version != 2 && version != 3:
		return Header{}, ErrVersion
	case version == 3 && len(head) < HeaderSize:
		return Header{}, ErrTruncated
	}
	size := binary.BigEndian.Uint64(head[atSize:])
	if size > math.MaxInt64 {
		return Header{}, ErrSize
	}
	return Header{
		Version:      int(version),
		Size:         int64(size),
		ExternalData: version == 3 && binary.BigEndian.Uint64(head[atIncompatible:])&externalData != 0,
		backing:      binary.BigEndian.Uint64(head[atBacking:]),
		backingSize:  binary.BigEndian.Uint32(head[atBackingSize:]),
	}, nil
}

// Leads reports whether the image names another file of the host, as its backing file or for its data. Who opens an
// image from elsewhere that leads shows the guest that file.
func (h Header) Leads() bool { return h.backing != 0 || h.ExternalData }

// BackingFile returns the name of the file that the image is an overlay on, as the image spells it; "" for an image that
// has none. image is the file whose header h is.
func (h Header) BackingFile(image io.ReaderAt) (string, error) {
	switch {
	case h.backing == 0:
		return "", nil
	case h.backing > math.MaxInt64-nameLimit || h.backingSize > nameLimit:
		return "", ErrBacking
	}
	name := make([]byte, h.backingSize)
	if n, err := image.ReadAt(name, int64(h.backing)); n < len(name) {
		if errors.Is(err, io.EOF) {
			return "", ErrBacking
		}
		return "", fmt.Errorf("reading the name of the backing file: %w", err)
	}
	return string(name), nil
}

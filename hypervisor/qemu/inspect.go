package qemu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/vmseed/vmseed/format/qcow2"
	"github.com/vmseed/vmseed/machine"
)

// imageInfo is what must be known of an image before QEMU opens it.
type imageInfo struct {
	Format string
	// Size is the virtual size; 0 for a device.
	Size machine.Bytes
	// Leads means that the image names another file of the host.
	Leads bool
	// Device means that it is a block device rather than a file, wherever either stands.
	Device bool
}

// inspect reads the head of an image.
func inspect(path string) (imageInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return imageInfo{}, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return imageInfo{}, err
	}
	if stat.IsDir() {
		return imageInfo{}, fmt.Errorf("%s is a directory", path)
	}
	info := imageInfo{Format: "raw", Device: stat.Mode()&os.ModeDevice != 0}
	if stat.Mode().IsRegular() {
		info.Size = machine.Bytes(stat.Size())
	}
	head := make([]byte, qcow2.HeaderSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return imageInfo{}, err
	}
	switch header, err := qcow2.Parse(head[:n]); {
	case errors.Is(err, qcow2.ErrFormat) || errors.Is(err, qcow2.ErrTruncated):
	case err != nil:
		return imageInfo{}, fmt.Errorf("%s: %w", path, err)
	default:
		info.Format, info.Size, info.Leads = "qcow2", machine.Bytes(header.Size), header.Leads()
	}
	return info, nil
}

// Layout of a new disk with a file system, in bytes.
const (
	sectorSize     = 512
	partitionStart = 1 << 20
)

// mbr returns the first sector of a disk with one Linux partition from partitionStart to the end.
func mbr(size machine.Bytes) []byte {
	sector := make([]byte, sectorSize)
	entry := sector[446:462]
	entry[4] = 0x83 // Linux
	// Addresses by cylinder, head and sector are unused; these values say so.
	copy(entry[1:], []byte{0xfe, 0xff, 0xff})
	copy(entry[5:], []byte{0xfe, 0xff, 0xff})
	binary.LittleEndian.PutUint32(entry[8:], partitionStart/sectorSize)
	binary.LittleEndian.PutUint32(entry[12:], uint32((size-partitionStart)/sectorSize))
	sector[510], sector[511] = 0x55, 0xaa
	return sector
}

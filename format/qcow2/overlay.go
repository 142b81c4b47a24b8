package qcow2

import (
	"encoding/binary"
	"fmt"
)

// Overlay is a new image that holds nothing yet and shows what is in another, its base.
type Overlay struct {
	// Base is the name of the other image, best an absolute path: at most 1023 bytes.
	Base string
	// Format is raw or qcow2, that of the base. A base whose format is not written down would be guessed from what the guest
	// writes into it.
	Format string
	// Size is that of the disk in bytes. Beyond the end of the base it is all zeros.
	Size int64
}

// The layout of new images (docs/interop/qcow2, version 3), in clusters of 64 KiB: the header, the reference counts of
// clusters, and the first table of the mapping, whose second tables come as the guest writes.
const (
	clusterBits = 16
	clusterSize = 1 << clusterBits
	// perTable is how many bytes of the disk an entry of the first table stands for.
	perTable = clusterSize / 8 * clusterSize
	// refcountOrder 4 means counts of 16 bits.
	refcountOrder = 4
	// formatExtension is the header extension with the name of the base's format.
	formatExtension = 0xe2792aca
	// maxOverlay keeps the first table within the one cluster of counts that a new image has.
	maxOverlay = 1 << 50
)

// Clusters of a new image.
const (
	refcountTableAt = 1
	refcountBlockAt = 2
	mapAt           = 3
)

// Bytes returns the image. It has a few hundred KiB, which grow with the size of the disk by 8 bytes for each 512 MiB.
func (o Overlay) Bytes() ([]byte, error) {
	switch {
	case o.Base == "" || len(o.Base) > nameLimit:
		return nil, ErrBacking
	case o.Format != "raw" && o.Format != "qcow2":
		return nil, fmt.Errorf("%w: its format is raw or qcow2, not %q", ErrBacking, o.Format)
	case o.Size <= 0 || o.Size > maxOverlay:
		return nil, ErrSize
	}
	entries := (o.Size + perTable - 1) / perTable
	clusters := mapAt + (entries*8+clusterSize-1)/clusterSize
	out := make([]byte, clusters*clusterSize)
	put32 := func(at, value int) { binary.BigEndian.PutUint32(out[at:], uint32(value)) }
	put64 := func(at int, value int64) { binary.BigEndian.PutUint64(out[at:], uint64(value)) }
	copy(out, magic)
	put32(atVersion, 3)
	put64(atSize, o.Size)
	put32(20, clusterBits)
	put32(36, int(entries))
	put64(40, mapAt*clusterSize)
	put64(48, refcountTableAt*clusterSize)
	put32(56, 1)
	put32(96, refcountOrder)
	put32(100, HeaderSize)
	put32(HeaderSize, formatExtension)
	put32(HeaderSize+4, len(o.Format))
	copy(out[HeaderSize+8:], o.Format)
	name := HeaderSize + 8 + 8 + 8 // behind the padded name of the format and the end of the extensions
	put64(atBacking, int64(name))
	put32(atBackingSize, len(o.Base))
	copy(out[name:], o.Base)
	put64(refcountTableAt*clusterSize, refcountBlockAt*clusterSize)
	for i := range clusters {
		binary.BigEndian.PutUint16(out[refcountBlockAt*clusterSize+2*i:], 1)
	}
	return out, nil
}

package delivery

import "errors"

var (
	// ErrNotSeed is wrapped by Inspector.Open when the path holds something else.
	ErrNotSeed = errors.New("not a seed")
	// ErrNeedsFile is wrapped when a seed of several blobs is sent to a Writer.
	ErrNeedsFile = errors.New("the seed has several parts and needs a directory")
	// ErrNoVolume is wrapped when a seed has no volume that could be written: its guest reads it by HTTP or from the firmware.
	ErrNoVolume = errors.New("the seed has no volume, because its guest reads it by HTTP or from the firmware")
	// ErrName is wrapped for the name of a file that is no clean relative path, or that another file has.
	ErrName = errors.New("bad name")
)

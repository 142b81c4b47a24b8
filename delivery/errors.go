package delivery

import "errors"

var (
	// ErrNotSeed is wrapped by Inspector.Open when the path holds something else.
	ErrNotSeed = errors.New("not a seed")
	// ErrNeedsFile is wrapped when a seed of several blobs is sent to a Writer.
	ErrNeedsFile = errors.New("the seed has several parts and needs a directory")
	// ErrNoVolume is wrapped when a seed has no volume that could be written: its guest reads it by HTTP or from the firmware.
	ErrNoVolume = errors.New("the seed has no volume, because its guest reads it by HTTP or from the firmware")
	// ErrPart is wrapped when a seed has a part that the delivery does not carry. Whoever delivers a seed of several
	// parts gives each delivery its own; vmseed.Engine.DeliverAll does that.
	ErrPart = errors.New("the seed has a part that does not go this way")
	// ErrNoFirmware is wrapped when a seed has nothing for the firmware: its guest reads volumes.
	ErrNoFirmware = errors.New("the seed has nothing for the firmware, because its guest reads a volume")
	// ErrName is wrapped for the name of a file that is no clean relative path, or that another file has.
	ErrName = errors.New("bad name")
)

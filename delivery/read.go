package delivery

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// The budgets for reading a seed back. A seed is small; a whole disk that is shown by mistake is not.
const (
	maxFiles     = 100_000
	maxSeedBytes = 256 << 20
)

// ReadVolume reads the files of a file system in name order, for inspectors.
func ReadVolume(fsys fs.FS) (seed.Volume, error) {
	var v seed.Volume
	left := int64(maxSeedBytes)
	err := fs.WalkDir(fsys, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if len(v.Files) == maxFiles {
			return fmt.Errorf("%w: more than %d files", ErrNotSeed, maxFiles)
		}
		f, err := fsys.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, left+1))
		if err != nil {
			return err
		}
		if left -= int64(len(data)); left < 0 {
			return fmt.Errorf("%w: more than %d bytes", ErrNotSeed, int64(maxSeedBytes))
		}
		info, err := f.Stat()
		if err != nil {
			return err
		}
		v.Files = append(v.Files, seed.File{Path: p, Content: secret.FromBytes(data), Mode: uint32(info.Mode().Perm())})
		return nil
	})
	return v, err
}

package metadataservice

import (
	"context"
	"os"
	"slices"
	"time"
)

// interval is how often files are looked at. A look costs one call of the system for each file.
const interval = time.Second

// mark tells one state of a file from another. The zero value is that of a file that is not there.
type mark struct {
	info os.FileInfo
}

func markOf(path string) mark {
	info, err := os.Stat(path)
	if err != nil {
		return mark{}
	}
	return mark{info}
}

func (m mark) same(n mark) bool {
	if m.info == nil || n.info == nil {
		return m.info == n.info
	}
	return os.SameFile(m.info, n.info) && m.info.Size() == n.info.Size() && m.info.ModTime().Equal(n.info.ModTime())
}

func marksOf(paths []string) []mark {
	out := make([]mark, len(paths))
	for i, p := range paths {
		out[i] = markOf(p)
	}
	return out
}

func sameMarks(a, b []mark) bool { return slices.EqualFunc(a, b, mark.same) }

// Watch reloads when one of the files changes or now has a value, and takes in changed leases, until ctx ends. A file that changes is left
// alone until it has stayed the same for a moment: a program that writes it in several steps is not read in the middle.
// reloaded is told of every reload; wished means that it was asked for by now.
func (s *Service) Watch(ctx context.Context, files []string, now <-chan struct{}, reloaded func(Reloaded)) {
	tick := time.NewTicker(s.o.interval())
	defer tick.Stop()
	taken := s.marks(files)
	last := taken
	for {
		wished := false
		select {
		case <-ctx.Done():
			return
		case <-now:
			wished = true
		case <-tick.C:
			s.refreshLeases(time.Now())
		}
		seen := marksOf(files)
		settled := sameMarks(seen, last)
		last = seen
		if !wished && (!settled || sameMarks(seen, taken)) {
			continue
		}
		taken = seen
		reloaded(s.reload(ctx, wished))
	}
}

// marks are those of files before they were read the first time, as far as New knows them.
func (s *Service) marks(files []string) []mark {
	if slices.Equal(files, s.o.Files) {
		return s.first
	}
	return marksOf(files)
}

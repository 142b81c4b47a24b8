package provider

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
)

// logPoll is how often a log that is followed is looked at.
const logPoll = 200 * time.Millisecond

// GetContainerLogs returns what the guest wrote to its serial console, of its current or last run. A serial line has no
// times, so only the lines that come while the log is followed can be stamped; of those that are there already, options that
// name a time keep all when the log was written to since then, and none otherwise. A negative Tail gives none of the lines
// that are there.
func (p *Provider) GetContainerLogs(ctx context.Context, namespace, pod, container string, o api.ContainerLogOpts) (io.ReadCloser, error) {
	v, err := p.vmOf(namespace, pod, container)
	if err != nil {
		return nil, err
	}
	if o.Previous {
		return nil, errdefs.InvalidInputf("the console of pod %s/%s is one log over all runs of its VM; leave --previous out", namespace, pod)
	}
	path := v.serialLog(ctx)
	if path == "" {
		if !o.Follow {
			return nil, errdefs.InvalidInputf("the VM of pod %s/%s has not run yet", namespace, pod)
		}
		if path = v.awaitLog(ctx); path == "" {
			return io.NopCloser(bytes.NewReader(nil)), nil
		}
	}
	files, err := openLog(path)
	if err != nil {
		return nil, err
	}
	if err := files.skip(o); err != nil {
		return nil, errors.Join(err, files.Close())
	}
	out := io.Reader(files)
	if o.Follow {
		out = &follower{logFiles: files, ctx: ctx, v: v, path: path}
	}
	if o.Timestamps {
		out = &stamper{from: bufio.NewReader(out), fixed: files.written, follows: o.Follow}
	}
	if o.LimitBytes > 0 {
		out = io.LimitReader(out, int64(o.LimitBytes))
	}
	return &logReader{out, files}, nil
}

// logReader is a log as it was asked for.
type logReader struct {
	io.Reader
	io.Closer
}

// serialLog returns the path of the log of a VM that has run; it is empty for another.
func (v *vm) serialLog(ctx context.Context) string {
	v.mutex.Lock()
	guest := v.guest
	v.mutex.Unlock()
	if guest == nil {
		found, err := v.p.options.Runner.Find(ctx, v.ref)
		if err != nil {
			return ""
		}
		guest = found.Guest
	}
	if l, ok := guest.(Logger); ok {
		return l.SerialLog()
	}
	return ""
}

// awaitLog waits for the log of a VM that has not started yet.
func (v *vm) awaitLog(ctx context.Context) string {
	for v.p.sleep(ctx, logPoll) {
		select {
		case <-v.gone:
			return ""
		default:
		}
		if rec := v.look(); !rec.Run.Since.IsZero() || rec.Over != nil {
			return v.serialLog(ctx)
		}
	}
	return ""
}

// logFiles are the parts of a log that are there: the older one, if it was rotated, and the present one.
type logFiles struct {
	files []*os.File
	at    int
	// written is when the log was last written to.
	written time.Time
}

// openLog opens a log. One that is not there is empty.
func openLog(path string) (*logFiles, error) {
	var out logFiles
	for _, name := range []string{path + ".1", path} {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, out.Close())
		}
		out.files = append(out.files, f)
		if info, err := f.Stat(); err == nil {
			out.written = info.ModTime()
		}
	}
	return &out, nil
}

// Close closes the files.
func (l *logFiles) Close() error {
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Read reads the parts one after the other.
func (l *logFiles) Read(p []byte) (int, error) {
	for l.at < len(l.files) {
		n, err := l.files[l.at].Read(p)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if l.at == len(l.files)-1 {
			break // it may grow
		}
		l.at++
	}
	return 0, io.EOF
}

// skip passes over what the options leave out.
func (l *logFiles) skip(o api.ContainerLogOpts) error {
	since := o.SinceTime
	if o.SinceSeconds > 0 {
		since = time.Now().Add(-time.Duration(o.SinceSeconds) * time.Second)
	}
	lines := o.Tail
	if !since.IsZero() && l.written.Before(since) {
		lines = -1
	}
	if lines == 0 {
		return nil
	}
	for i := len(l.files) - 1; i >= 0; i-- {
		from, left, err := tailStart(l.files[i], max(lines, 0))
		if err != nil {
			return err
		}
		if _, err := l.files[i].Seek(from, io.SeekStart); err != nil {
			return err
		}
		l.at = i
		if left == 0 {
			break
		}
		lines = left
	}
	return nil
}

// tailStart finds where the last lines of a file begin, and how many of them lie before it.
func tailStart(f *os.File, lines int) (from int64, left int, err error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || lines == 0 {
		return end, 0, err
	}
	block := make([]byte, 32<<10)
	for at := end; at > 0; {
		n := min(at, int64(len(block)))
		at -= n
		if _, err := f.ReadAt(block[:n], at); err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
		for i := n - 1; i >= 0; i-- {
			if block[i] != '\n' || at+i == end-1 { // the end of the last line begins none
				continue
			}
			if lines--; lines == 0 {
				return at + i + 1, 0, nil
			}
		}
	}
	if end == 0 {
		return 0, lines, nil
	}
	return 0, lines - 1, nil // what stands at the beginning of the file is a line too, or the end of one
}

// follower reads on when a log grows, and after it was rotated, until the VM has ended.
type follower struct {
	*logFiles
	ctx  context.Context
	v    *vm
	path string
}

// Read waits for what comes.
func (f *follower) Read(p []byte) (int, error) {
	for {
		over := !f.v.writes()
		n, err := f.logFiles.Read(p)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := f.rotated(); err != nil {
			return 0, err
		}
		if f.at < len(f.files)-1 {
			continue
		}
		if over || !f.v.p.sleep(f.ctx, logPoll) {
			return 0, io.EOF
		}
	}
}

// rotated looks for what the log has become, after what was open was read to its end: another file, when the VM was started
// again, or a shorter one, when its contents were moved to the older part.
func (f *follower) rotated() error {
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if n := len(f.files); n > 0 {
		last := f.files[n-1]
		have, err := last.Stat()
		if err != nil {
			return err
		}
		at, err := last.Seek(0, io.SeekCurrent)
		if err != nil || os.SameFile(have, info) && info.Size() >= at {
			return err
		}
		if os.SameFile(have, info) {
			if err := f.open(f.path+".1", at); err != nil {
				return err
			}
		}
	}
	return f.open(f.path, 0)
}

// open adds a part to what is read.
func (f *follower) open(path string, from int64) error {
	next, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f.files = append(f.files, next)
	_, err = next.Seek(from, io.SeekStart)
	return err
}

// writes reports whether the log may still grow.
func (v *vm) writes() bool {
	select {
	case <-v.gone:
		return false
	default:
	}
	rec := v.look()
	return rec.Over == nil || rec.Run.Ended == nil && !rec.Run.Since.IsZero()
}

// stamper puts a time before each line.
type stamper struct {
	from *bufio.Reader
	// fixed is the time of what was there before; follows gives lines the time at which they are read.
	fixed   time.Time
	follows bool
	rest    []byte
	inside  bool
}

// Read reads lines with times.
func (s *stamper) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		line, err := s.from.ReadSlice('\n')
		if len(line) == 0 {
			return 0, err
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if !s.inside {
			at := s.fixed
			if s.follows {
				at = time.Now()
			}
			s.rest = fmt.Append(s.rest, at.UTC().Format(time.RFC3339Nano), " ")
		}
		s.rest = append(s.rest, line...)
		s.inside = line[len(line)-1] != '\n'
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

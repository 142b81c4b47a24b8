// Package bounded reads input that may be hostile within budgets: bytes, nesting depth, nodes, alias expansions.
// Whatever is over budget is refused before it costs anything, and with a place.
package bounded

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// Limits are the budgets for one document. A zero field means the default.
type Limits struct {
	// Bytes is the size of the input; default 4 MiB.
	Bytes int64
	// Depth is the nesting of sequences and mappings; default 100.
	Depth int
	// Nodes is the number of values, counting those behind an alias each time it is used; default 200,000.
	Nodes int
}

// Defaults are the budgets for definitions: far above any real document, far below what hurts.
func Defaults() Limits { return Limits{Bytes: 4 << 20, Depth: 100, Nodes: 200_000} }

func (l Limits) orDefaults() Limits {
	d := Defaults()
	if l.Bytes == 0 {
		l.Bytes = d.Bytes
	}
	if l.Depth == 0 {
		l.Depth = d.Depth
	}
	if l.Nodes == 0 {
		l.Nodes = d.Nodes
	}
	return l
}

// ErrTooLarge is wrapped by errors about input over its byte budget.
var ErrTooLarge = errors.New("input is too large")

// ReadAll reads r to its end. Input over limit bytes is an error that wraps ErrTooLarge, never a truncated result.
func ReadAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	return data, nil
}

// ReadFile reads a file of at most limit bytes.
func ReadFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := ReadAll(f, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// Gunzip unpacks gzip data to at most limit bytes.
func Gunzip(data []byte, limit int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	out, err := ReadAll(z, limit)
	if err != nil {
		return nil, err
	}
	return out, z.Close()
}

package image

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"path"

	"github.com/vmseed/vmseed/internal/bounded"
)

// maxRedirects is how many redirections are followed by default.
const maxRedirects = 10

// maxResumes is how often a download that broke off is taken up again where it stopped.
const maxResumes = 5

// client makes a client for an address. What begins with https stays with it.
func (s *Store) client(address *url.URL) *http.Client {
	limit := max(cmp.Or(s.MaxRedirects, maxRedirects), 0)
	return &http.Client{Transport: s.guard(address.Scheme == "http"), CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > limit {
			return errors.New("too many redirections")
		}
		if address.Scheme == "https" && req.URL.Scheme != "https" {
			return errors.New("the server redirects from https to " + req.URL.Scheme)
		}
		return nil
	}}
}

// get asks for a file from an offset on.
func get(ctx context.Context, client *http.Client, address *url.URL, offset int64, validator string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, plain(err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "vmseed")
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		req.Header.Set("If-Range", validator)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, unreachable(address.Hostname(), err)
	}
	if res.StatusCode == http.StatusOK && offset == 0 || res.StatusCode == http.StatusPartialContent && offset > 0 {
		return res, nil
	}
	_ = res.Body.Close()
	return nil, statusError(address.Hostname(), path.Base(address.Path), res.StatusCode)
}

func statusError(host, what string, status int) error {
	text := fmt.Sprintf("%s answers %d %s for %s", host, status, http.StatusText(status), what)
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return badImage(text, "check the name")
	case http.StatusUnauthorized, http.StatusForbidden:
		return &Error{Fault: Unavailable, What: text, Remedy: "check the name and the credentials"}
	}
	return &Error{Fault: Unavailable, What: text, Remedy: "try again later"}
}

// expected returns the checksum of a web reference, from the list of checksums if need be. One that needs none has none.
func (s *Store) expected(ctx context.Context, ref Reference) (Checksum, error) {
	if ref.Checksum.Hex != "" || ref.sums.Len() == 0 {
		return ref.Checksum, nil
	}
	list, err := url.Parse(ref.sums.Reveal())
	if err != nil {
		return Checksum{}, plain(err)
	}
	file, err := url.Parse(ref.address.Reveal())
	if err != nil {
		return Checksum{}, plain(err)
	}
	res, err := get(ctx, s.client(list), list, 0, "")
	if err != nil {
		return Checksum{}, err
	}
	defer res.Body.Close()
	text, err := bounded.ReadAll(res.Body, sumsLimit)
	if err != nil {
		return Checksum{}, unavailable("the list of checksums cannot be read", err)
	}
	return findSum(text, path.Base(file.Path))
}

// download writes the file of a web reference, unpacked if it is compressed with gzip.
func (s *Store) download(ctx context.Context, ref Reference, want Checksum, w *stage, o Options) error {
	address, err := url.Parse(ref.address.Reveal())
	if err != nil {
		return plain(err)
	}
	body := &resuming{ctx: ctx, client: s.client(address), address: address, limit: w.limit, meter: meter{report: o.report}}
	defer body.Close()
	var sum hash.Hash = sha256.New()
	if want.Algorithm != "" {
		sum = algorithms[want.Algorithm]()
	}
	wire := bufio.NewReaderSize(io.TeeReader(body, sum), block)
	head, err := wire.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var in io.Reader = wire
	if string(head) == "\x1f\x8b" {
		if in, err = gzip.NewReader(wire); err != nil {
			return badImage("the file is no complete gzip file", "")
		}
	}
	_, err = io.Copy(w, in)
	if own := (*Error)(nil); err != nil && (errors.As(err, &own) || ofHost(err)) {
		return err
	}
	// The rest is read also when the file could not be unpacked: if it is not the right file, that is why.
	if _, err := io.Copy(io.Discard, wire); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); want.Hex != "" && got != want.Hex {
		return badImage(fmt.Sprintf("the file has another %s than it should: %s, not %s", want.Algorithm, got, want.Hex),
			"it was changed on its server or on the way: compare with what its publisher says")
	}
	if err != nil {
		return &Error{Fault: BadImage, What: "the file cannot be unpacked", Err: err, Remedy: "it is damaged where it was made"}
	}
	return nil
}

// resuming reads a file from a web server, and takes a transfer that broke off up again if the server vouches that the
// file is still the same.
type resuming struct {
	ctx       context.Context
	client    *http.Client
	address   *url.URL
	limit     int64
	meter     meter
	body      io.ReadCloser
	validator string
	resumed   int
}

func (r *resuming) Read(p []byte) (int, error) {
	if r.body == nil {
		if err := r.open(); err != nil {
			return 0, err
		}
	}
	n, err := r.body.Read(p)
	r.meter.add(n)
	if r.meter.state.Done > r.limit {
		return n, tooLarge(r.limit)
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if r.validator != "" && r.resumed < maxResumes && r.ctx.Err() == nil {
		r.resumed++
		err = errors.Join(r.body.Close(), r.open())
		return n, err
	}
	return n, unavailable(fmt.Sprintf("the transfer broke off after %d bytes", r.meter.state.Done), err)
}

func (r *resuming) open() error {
	res, err := get(r.ctx, r.client, r.address, r.meter.state.Done, r.validator)
	if err != nil {
		return err
	}
	r.body = res.Body
	if r.meter.state.Done > 0 {
		return nil
	}
	// A weak validator does not promise the same bytes (RFC 9110, 8.8.1).
	if tag := res.Header.Get("ETag"); len(tag) > 0 && tag[0] == '"' && res.Header.Get("Accept-Ranges") == "bytes" {
		r.validator = tag
	}
	if res.ContentLength > r.limit {
		return tooLarge(r.limit)
	}
	r.meter.state.Total = max(res.ContentLength, 0)
	return nil
}

// Close ends the transfer.
func (r *resuming) Close() error {
	if r.body == nil {
		return nil
	}
	return r.body.Close()
}

package image

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func sum256(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }
func sum512(b []byte) string { s := sha512.Sum512(b); return hex.EncodeToString(s[:]) }

// site is a web server that speaks https and serves files from memory.
func site(t *testing.T, s *Store, files map[string][]byte) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	gets := &atomic.Int32{}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gets.Add(1)
		body, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	}))
	t.Cleanup(srv.Close)
	s.Transport = srv.Client().Transport
	return srv, gets
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWeb(t *testing.T) {
	s := newStore(t)
	data, other := disk(1, 100_000), disk(2, 60_000)
	packed := zipped(t, other)
	files := map[string][]byte{"/i/web.qcow2": data, "/i/web.qcow2.gz": packed, "/i/a%20b.img": other, "/i/a b.img": other,
		"/i/SHA256SUMS": []byte(sum256(other) + "  other.qcow2\n" + sum256(data) + " *web.qcow2\n" + sum256(packed) + "  ./web.qcow2.gz\n"),
		"/i/CHECKSUM":   []byte("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n# web.qcow2: 100000 bytes\nSHA256 (web.qcow2) = " + sum256(data) + "\n"),
		"/sums/both":    []byte(sum256(data) + "  web.qcow2\n" + sum512(data) + "  web.qcow2\n")}
	srv, gets := site(t, s, files)
	tests := []struct {
		name, text string
		want       []byte
	}{
		{"sha256", srv.URL + "/i/web.qcow2#sha256=" + sum256(data), data},
		{"sha256 again", srv.URL + "/i/web.qcow2#sha256=" + strings.ToUpper(sum256(data)), data},
		{"sha512", srv.URL + "/i/web.qcow2#sha512=" + sum512(data), data},
		{"behind the path", srv.URL + "/i/web.qcow2@sha256:" + sum256(data), data},
		{"list beside it", srv.URL + "/i/web.qcow2#checksum=SHA256SUMS", data},
		{"list in BSD's form", srv.URL + "/i/web.qcow2#checksum=CHECKSUM", data},
		{"list elsewhere", srv.URL + "/i/web.qcow2#checksum=" + srv.URL + "/sums/both", data},
		{"list by an absolute path", srv.URL + "/i/web.qcow2#checksum=/sums/both", data},
		{"gzip", srv.URL + "/i/web.qcow2.gz#sha256=" + sum256(packed), other},
		{"gzip again", srv.URL + "/i/web.qcow2.gz#sha256=" + sum256(packed), other},
		{"escaped name", srv.URL + "/i/a%20b.img#sha256=" + sum256(other), other},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ref := parse(t, tt.text)
			i := resolve(t, s, ref, Options{})
			holds(t, i, tt.want)
			if i.Reference != ref.String() {
				t.Errorf("the image is called %s", i.Reference)
			}
			before := gets.Load()
			holds(t, resolve(t, s, ref, Options{}), tt.want)
			if gets.Load() != before {
				t.Error("the server was asked again")
			}
		})
	}
	assertClean(t, s, 2)
	// A moving file behind a list: the list is asked, the file is fetched only if it is another.
	moving := parse(t, srv.URL+"/i/web.qcow2#checksum=SHA256SUMS")
	before := gets.Load()
	if i := resolve(t, s, moving, Options{Policy: Always}); i.Fetched || gets.Load() != before+1 {
		t.Errorf("%d requests, want that of the list", gets.Load()-before)
	}
	young := disk(3, 100_000)
	files["/i/web.qcow2"], files["/i/SHA256SUMS"] = young, []byte(sum256(young)+"  web.qcow2\n")
	holds(t, resolve(t, s, moving, Options{Policy: Missing}), data)
	holds(t, resolve(t, s, moving, Options{Policy: Always}), young)
}

func TestWebRefuses(t *testing.T) {
	s := newStore(t)
	s.MaxBytes = 1 << 20
	data := disk(1, 100_000)
	wrong := strings.Repeat("0", 64)
	bomb := zipped(t, make([]byte, 3<<20))
	srv, _ := site(t, s, map[string][]byte{"/web.qcow2": data, "/large.img": make([]byte, 2<<20), "/bomb.gz": bomb, "/x.xz": []byte("\xfd7zXZ\x00..."),
		"/cut.gz": zipped(t, data)[:90_000], "/empty.gz": bytes.Repeat(zipped(t, nil), 60_000), "/none": []byte("nothing here\n"),
		"/two": []byte(wrong + "  web.qcow2\n" + sum256(data) + "  web.qcow2\n")})
	forbidden := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
		if status == http.StatusFound {
			http.Redirect(w, r, "http://"+r.Host+"/200", status)
			return
		}
		w.WriteHeader(status)
	}))
	defer forbidden.Close()
	s.Transport = forbidden.Client().Transport
	s.Transport.(*http.Transport).TLSClientConfig.RootCAs.AddCert(srv.Certificate())
	tests := []struct {
		name, text string
		fault      Fault
		say        string
	}{
		{"no checksum", srv.URL + "/web.qcow2", BadReference, "add #sha256=HEX"},
		{"http without a checksum", "http://127.0.0.1:1/web.qcow2", BadReference, "nobody vouches"},
		{"wrong checksum", srv.URL + "/web.qcow2#sha256=" + wrong, BadImage, "another sha256 than it should: " + sum256(data)},
		{"wrong sha512", srv.URL + "/web.qcow2#sha512=" + wrong + wrong, BadImage, "another sha512"},
		{"not in the list", srv.URL + "/web.qcow2#checksum=none", BadImage, "no line for web.qcow2"},
		{"twice in the list", srv.URL + "/web.qcow2#checksum=two", BadImage, "two checksums for web.qcow2"},
		{"no list", srv.URL + "/web.qcow2#checksum=nowhere", BadImage, "404 Not Found for nowhere"},
		{"no file", srv.URL + "/gone.qcow2#sha256=" + wrong, BadImage, "404 Not Found for gone.qcow2"},
		{"larger than allowed", srv.URL + "/large.img#sha256=" + sum256(make([]byte, 2<<20)), BadImage, "--max-size"},
		{"gzip bomb", srv.URL + "/bomb.gz#sha256=" + sum256(bomb), BadImage, "larger than 1048576"},
		{"endless gzip of nothing", srv.URL + "/empty.gz#sha256=" + wrong, BadImage, "larger than 1048576"},
		{"cut gzip, as published", srv.URL + "/cut.gz#sha256=" + sum256(zipped(t, data)[:90_000]), BadImage, "cannot be unpacked"},
		{"cut gzip", srv.URL + "/cut.gz#sha256=" + wrong, BadImage, "another sha256"},
		{"xz", srv.URL + "/x.xz#sha256=" + sum256([]byte("\xfd7zXZ\x00...")), BadImage, "xz -d"},
		{"forbidden", forbidden.URL + "/403#sha256=" + wrong, Unavailable, "403 Forbidden"},
		{"busy", forbidden.URL + "/503#sha256=" + wrong, Unavailable, "try again later"},
		{"redirected to http", forbidden.URL + "/302#sha256=" + wrong, Unavailable, "from https to http"},
		{"nobody there", "https://127.0.0.1:1/web.qcow2#sha256=" + wrong, Unavailable, "127.0.0.1 cannot be reached"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			i, err := s.Resolve(context.Background(), parse(t, tt.text), Options{})
			refused(t, i, err, tt.fault, tt.say)
			assertClean(t, s, 0)
		})
	}
}

// TestWebBreaksOff has a server that ends its answers early. With the means to go on where it stopped, the image is
// complete; without, or when the file has changed meanwhile, there is none.
func TestWebBreaksOff(t *testing.T) {
	data := disk(1, 900_000)
	for _, tt := range []struct {
		name, tag string
		changes   bool
		pieces    int
		say       string
	}{
		{"goes on", `"one"`, false, 3, ""},
		{"goes on no more", `"one"`, false, 50, "broke off after"},
		{"weak tag", `W/"one"`, false, 3, "broke off after"},
		{"no tag", "", false, 3, "broke off after"},
		{"file changes", `"one"`, true, 3, "200 OK"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			asked := 0
			srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				from := 0
				if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil && r.Header.Get("If-Range") != tt.tag {
					t.Errorf("If-Range is %q", r.Header.Get("If-Range"))
				}
				w.Header().Set("Accept-Ranges", "bytes")
				w.Header().Set("ETag", tt.tag)
				w.Header().Set("Content-Length", strconv.Itoa(len(data)-from))
				if from > 0 && !tt.changes {
					w.WriteHeader(http.StatusPartialContent)
				}
				_, _ = w.Write(data[from:min(from+len(data)/tt.pieces+1, len(data))])
			}))
			defer srv.Close()
			s.Transport = srv.Client().Transport
			i, err := s.Resolve(context.Background(), parse(t, srv.URL+"/web.qcow2#sha256="+sum256(data)), Options{})
			if tt.say != "" {
				refused(t, i, err, Unavailable, tt.say)
				assertClean(t, s, 0)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer i.Close()
			holds(t, i, data)
			if asked != tt.pieces {
				t.Errorf("%d requests, want %d", asked, tt.pieces)
			}
		})
	}
}

// TestSilentServer has servers that stop sending, before and within their answers.
func TestSilentServer(t *testing.T) {
	data := disk(1, 900_000)
	for _, sent := range []int{0, 1000} {
		s := newStore(t)
		s.Stall = 200 * time.Millisecond
		srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if sent > 0 {
				w.Header().Set("Content-Length", strconv.Itoa(len(data)))
				_, _ = w.Write(data[:sent])
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		}))
		s.Transport = srv.Client().Transport
		i, err := s.Resolve(context.Background(), parse(t, srv.URL+"/web.qcow2#sha256="+sum256(data)), Options{})
		refused(t, i, err, Unavailable, "sends nothing any more")
		assertClean(t, s, 0)
		srv.Close()
	}
}

// TestNoSecretIsSaid has credentials in a URL and a signature in its query: both reach the server, and nobody else.
func TestNoSecretIsSaid(t *testing.T) {
	s := newStore(t)
	data := disk(1, 5000)
	reached := false
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		reached = password == "canary-password" && r.URL.Query().Get("sig") == "canary-signature"
		switch r.URL.Path {
		case "/web.qcow2":
			_, _ = w.Write(data)
		case "/loop":
			http.Redirect(w, r, "/loop?sig=canary-signature", http.StatusFound)
		default:
			http.Error(w, "canary-signature", http.StatusForbidden)
		}
	}))
	defer srv.Close()
	s.Transport = srv.Client().Transport
	with := strings.Replace(srv.URL, "https://", "https://user:canary-password@", 1)
	var said []string
	for _, text := range []string{with + "/web.qcow2?sig=canary-signature#sha256=" + sum256(data), with + "/web.qcow2?sig=canary-signature#sha512=" + sum512(nil),
		with + "/other?sig=canary-signature#sha256=" + sum256(data[1:]), with + "/loop?sig=canary-signature#sha256=" + sum256(data[1:]),
		with + "/web.qcow2?sig=canary-signature", with + "/web.qcow2?sig=canary-signature#checksum=" + with + "/sums?sig=canary-signature",
		strings.Replace(with, "127.0.0.1:", "127.0.0.1:1/", 1) + "/x?sig=canary-signature#sha256=" + sum256(data[1:])} {
		reached = false
		ref, err := Parse(text)
		said = append(said, fmt.Sprintf("%v %+v %#v", err, ref, ref), ref.String())
		i, err := s.Resolve(context.Background(), ref, Options{})
		said = append(said, fmt.Sprintf("%v %#v", err, i))
		if strings.Contains(text, "/web.qcow2") && strings.Contains(text, "#sha") && !reached {
			t.Errorf("the credentials of %d did not reach the server", len(said))
		}
	}
	entries, err := s.List(context.Background(), true)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d images, %v", len(entries), err)
	}
	said = append(said, fmt.Sprint(entries))
	files, err := s.pointers()
	if err != nil {
		t.Fatal(err)
	}
	for name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, string(text))
	}
	for _, text := range said {
		if strings.Contains(text, "canary") {
			t.Errorf("a secret is said: %s", text)
		}
	}
}

// TestUnchecked takes what has no checksum, for a store that may, from a server that https vouches for.
func TestUnchecked(t *testing.T) {
	s := newStore(t)
	s.Unchecked = true
	files := map[string][]byte{"/web.qcow2": disk(1, 100_000)}
	srv, gets := site(t, s, files)
	ref := parse(t, srv.URL+"/web.qcow2")
	holds(t, resolve(t, s, ref, Options{}), files["/web.qcow2"])
	if i, err := s.Lookup(ref, ""); err != nil || i == nil || i.Close() != nil {
		t.Errorf("it is not found again: %v", err)
	}
	old := files["/web.qcow2"]
	files["/web.qcow2"] = disk(2, 100_000)
	holds(t, resolve(t, s, ref, Options{}), old)
	holds(t, resolve(t, s, ref, Options{Policy: Always}), files["/web.qcow2"])
	if gets.Load() != 2 {
		t.Errorf("%d requests", gets.Load())
	}
	if _, err := s.Resolve(t.Context(), parse(t, "http://127.0.0.1:1/web.qcow2"), Options{}); FaultOf(err) != BadReference {
		t.Errorf("by http: %v", err)
	}
}

func TestMaxRedirects(t *testing.T) {
	s := newStore(t)
	data := disk(1, 100_000)
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if left, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/")); left > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", left-1), http.StatusFound)
			return
		}
		_, _ = w.Write(data)
	}))
	defer srv.Close()
	s.Transport = srv.Client().Transport
	for _, tt := range []struct {
		limit, redirects int
		ok               bool
	}{{0, 10, true}, {0, 11, false}, {2, 2, true}, {2, 3, false}, {-1, 0, true}, {-1, 1, false}} {
		s.Dir, s.MaxRedirects = t.TempDir(), tt.limit
		i, err := s.Resolve(t.Context(), parse(t, fmt.Sprintf("%s/%d#sha256=%s", srv.URL, tt.redirects, sum256(data))), Options{})
		if (err == nil) != tt.ok || err == nil && i.Close() != nil {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

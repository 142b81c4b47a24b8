package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// filtered passes a stream through a filter in parts that cut returns the sizes of.
func filtered(stream string, cut func(left int) int) string {
	var f expectFilter
	var out []byte
	for in := []byte(stream); len(in) > 0; {
		n := cut(len(in))
		out = f.feed(out, in[:n])
		in = in[n:]
	}
	return string(f.release(out))
}

func whole(left int) int { return left }

func TestExpectFilter(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"renamed":         {"POST / HTTP/1.1\r\nExpect: 201-created\r\nA: b\r\n\r\n", "POST / HTTP/1.1\r\nVmseed-Expect: 201-created\r\nA: b\r\n\r\n"},
		"any case":        {"POST / HTTP/1.1\r\neXPECT:202-accepted\r\n\r\n", "POST / HTTP/1.1\r\nVmseed-Expect:202-accepted\r\n\r\n"},
		"bare line feeds": {"POST / HTTP/1.1\nExpect: x\n\n", "POST / HTTP/1.1\nVmseed-Expect: x\n\n"},
		"two": {"POST / HTTP/1.1\r\nExpect: 201-created\r\nExpect: 202-accepted\r\n\r\n",
			"POST / HTTP/1.1\r\nVmseed-Expect: 201-created\r\nVmseed-Expect: 202-accepted\r\n\r\n"},
		"second request": {"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nExpect: a\nGET / HTTP/1.1\r\nExpect: b\r\n\r\n",
			"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nExpect: a\nGET / HTTP/1.1\r\nVmseed-Expect: b\r\n\r\n"},
		"chunked": {"POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\nContent-Length: 3\r\n\r\nB;x=y\r\n\r\nExpect: a\r\n0\r\nT: u\r\n\r\nGET / HTTP/1.1\r\nExpect: b\r\n\r\n",
			"POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\nContent-Length: 3\r\n\r\nB;x=y\r\n\r\nExpect: a\r\n0\r\nT: u\r\n\r\nGET / HTTP/1.1\r\nVmseed-Expect: b\r\n\r\n"},
		"empty lines before a request": {"\r\n\r\nPOST / HTTP/1.1\r\nExpect: x\r\n\r\n", "\r\n\r\nPOST / HTTP/1.1\r\nVmseed-Expect: x\r\n\r\n"},
	} {
		for _, cut := range []func(int) int{whole, func(int) int { return 1 }} {
			if got := filtered(tt.in, cut); got != tt.want {
				t.Errorf("%s:\ngot  %q\nwant %q", name, got, tt.want)
			}
		}
	}
	for name, same := range map[string]string{
		"100-continue":          "POST / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n",
		"100-continue in list":  "POST / HTTP/1.1\r\nExpect: 201-created, 100-Continue\r\n\r\n",
		"other names":           "POST / HTTP/1.1\r\nExpectation: x\r\nExpec: y\r\nX-Expect: z\r\nExpect : w\r\n\r\n",
		"in the body":           "POST / HTTP/1.1\r\nContent-Length: 14\r\n\r\n\r\n\r\nExpect: x\n",
		"cut off in the name":   "POST / HTTP/1.1\r\nExpe",
		"cut off in the value":  "POST / HTTP/1.1\r\nExpect: 201-cr",
		"no such length":        "POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\nGET / HTTP/1.1\r\nExpect: x\r\n\r\n",
		"two lengths":           "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nGET / HTTP/1.1\r\nExpect: x\r\n\r\n",
		"unknown encoding":      "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\nGET / HTTP/1.1\r\nExpect: x\r\n\r\n",
		"two encodings":         "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nExpect: x\r\n\r\n",
		"folded length":         "POST / HTTP/1.1\r\nContent-Length:\r\n 30\r\n\r\nGET / HTTP/1.1\r\nExpect: x\r\n\r\n",
		"no such chunk":         "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5 ;a\r\nGET / HTTP/1.1\r\nExpect: x\r\n\r\n",
		"chunk without its end": "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabGET / HTTP/1.1\r\nExpect: x\r\n\r\n",
		"too long a line":       "POST / HTTP/1.1\r\nA: " + strings.Repeat("x", maxHeld) + "\r\nExpect: x\r\n\r\n",
		"HTTP/2":                "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\nExpect: x\n",
		"not HTTP":              "\x16\x03\x01\x00\xff",
	} {
		for _, cut := range []func(int) int{whole, func(int) int { return 1 }} {
			if got := filtered(same, cut); got != same {
				t.Errorf("%s: got %.300q", name, got)
			}
		}
	}
}

// TestExpectFilterRelease lets a connection that does not speak HTTP any more pass, with what was held before.
func TestExpectFilterRelease(t *testing.T) {
	var f expectFilter
	out := f.feed(nil, []byte("GET / HTTP/1.1\r\nUpgrade: x\r\n\r\nGET / HTTP/1.1\r\nexpe"))
	out = f.release(out)
	out = f.feed(out, []byte("ct: x\r\nexpect: y\r\n"))
	if want := "GET / HTTP/1.1\r\nUpgrade: x\r\n\r\nGET / HTTP/1.1\r\nexpect: x\r\nexpect: y\r\n"; string(out) != want {
		t.Errorf("got %q", out)
	}
}

// request is one that was read from a stream.
type request struct {
	head string
	// wishes are the values of Expect headers.
	wishes []string
	body   string
	err    bool
}

// requests reads all requests of a stream as net/http does, until one of them is wrong.
func requests(stream string, name string) []request {
	r := bufio.NewReader(strings.NewReader(stream))
	var out []request
	for {
		q, err := http.ReadRequest(r)
		if err != nil {
			return out
		}
		body, err := io.ReadAll(q.Body)
		one := request{body: string(body), wishes: slices.Clone(q.Header[name]), err: err != nil}
		q.Header.Del("Expect")
		delete(q.Header, wishHeader)
		var head bytes.Buffer
		fmt.Fprintln(&head, q.Method, q.RequestURI, q.Proto, q.Host, q.ContentLength, q.TransferEncoding, q.Trailer)
		_ = q.Header.Write(&head)
		one.head = head.String()
		if out = append(out, one); err != nil {
			return out
		}
	}
}

// checkFilter holds the filter against net/http's own reader: it sees the same requests, in the same places, with the
// expectations under the other name.
func checkFilter(stream string, cut func(int) int) error {
	if strings.Contains(strings.ToLower(stream), strings.ToLower(wishHeader)) {
		return nil // a client that uses our name has what it wishes for
	}
	got := filtered(stream, cut)
	if back := strings.ReplaceAll(strings.ToLower(got), "vmseed-expect", "expect"); back != strings.ToLower(stream) {
		return fmt.Errorf("more than names of headers changed: %q became %q", stream, got)
	}
	before, after := requests(stream, "Expect"), requests(got, wishHeader)
	if len(before) != len(after) {
		return fmt.Errorf("%d requests became %d:\n%q\n%q", len(before), len(after), stream, got)
	}
	for i, b := range before {
		a := after[i]
		known := slices.ContainsFunc(b.wishes, func(s string) bool { return hasToken(s, "100-continue") })
		if b.head != a.head || b.body != a.body || b.err != a.err || !known && len(a.wishes) != len(b.wishes) && followed(stream) {
			return errors.New("a request changed:\n" + fmt.Sprintf("%q\n%q\n%+v\n%+v", stream, got, b, a))
		}
	}
	return nil
}

// followed reports whether a stream is one whose framing the filter follows, not one at which it stops to look.
func followed(stream string) bool {
	return !strings.Contains(stream, preface) && !strings.Contains(stream, "\n ") && !strings.Contains(stream, "\n\t") && len(stream) < maxHeld
}

// TestExpectFilterRandom makes pipelines of requests and cuts them anywhere.
func TestExpectFilterRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	renamed := 0
	for range 3000 {
		var stream strings.Builder
		for range 1 + r.IntN(4) {
			text := strings.Repeat(pick("Expect: trap\r\n\r\n", "x", "0\r\n\r\n", "POST / HTTP/1.1\r\nexpect: y\r\n"), r.IntN(4))
			fmt.Fprintf(&stream, "POST /%d HTTP/1.1\r\nHost: h\r\n", r.IntN(100))
			for range r.IntN(3) {
				stream.WriteString(pick("Expect: 201-created\r\n", "EXPECT:202-accepted\r\n", "Expect: 100-continue\r\n", "Accept: x\r\n", "Exp: x\r\n", "expect-ct: y\r\n"))
			}
			switch r.IntN(3) {
			case 0:
				fmt.Fprintf(&stream, "Content-Length: %d\r\n\r\n%s", len(text), text)
			case 1:
				stream.WriteString("Transfer-Encoding: chunked\r\n\r\n")
				for _, part := range []string{text, text + "!"} {
					if part != "" {
						fmt.Fprintf(&stream, "%x%s\r\n%s\r\n", len(part), pick("", ";e=1"), part)
					}
				}
				fmt.Fprintf(&stream, "0\r\n%s\r\n", pick("", "Trailer: x\r\n"))
			default:
				stream.WriteString("\r\n")
			}
		}
		s := stream.String()
		if err := checkFilter(s, func(left int) int { return 1 + r.IntN(min(left, 20)) }); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(filtered(s, whole), wishHeader) {
			renamed++
		}
	}
	if renamed < 1000 {
		t.Errorf("only %d streams had an expectation", renamed)
	}
}

func FuzzExpect(f *testing.F) {
	f.Add("POST / HTTP/1.1\r\nHost: h\r\nExpect: 201-created\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: h\r\n\r\n", byte(3))
	f.Add("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nA: b\r\n\r\nGET / HTTP/1.1\r\nExpect: 1\r\n\r\n", byte(1))
	f.Add("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\nGET / HTTP/1.1\nExpect: 1\n\n", byte(200))
	f.Fuzz(func(t *testing.T, stream string, step byte) {
		if err := checkFilter(stream, func(left int) int { return min(left, 1+int(step)) }); err != nil {
			t.Error(err)
		}
	})
}

package server

import (
	"bytes"
	"strconv"
	"strings"
)

// wishHeader is what an Expect header is called between the connection and the handlers. Clients of oVirt send
// "Expect: 201-created" and "Expect: 202-accepted" to say how long they want to wait, and net/http answers 417 to any
// expectation but 100-continue before a handler sees it.
const wishHeader = "Vmseed-Expect"

// maxHeld bounds the part of a head that is kept to be looked at, in bytes.
const maxHeld = 64 << 10

// stage is where in a stream of requests a filter is.
type stage int

const (
	inRequestLine stage = iota
	inHead
	inBody
	inChunkSize
	inChunk
	inChunkEnd
	inTrailer
	// inTheDark passes everything unchanged: the framing is one that net/http refuses as well, or the connection does not
	// speak HTTP any more.
	inTheDark
)

// expectFilter renames Expect headers in a stream of HTTP/1 requests, and changes no other byte. It follows the framing
// of RFC 9112 section 6, as strictly as net/http does, so that it never takes a body for a head. A connection that begins as
// HTTP/2 does is left alone: there net/http passes an Expect header on. The zero value is at the beginning of a connection.
type expectFilter struct {
	stage stage
	// line is the part of the current line that was seen already, without what is held.
	line []byte
	// held is the beginning of a header line that may be, or is, an Expect header. Nothing of it has been passed on.
	held []byte
	// passing means that the current header line is not an Expect header.
	passing bool
	frame   framing
	// left is how many bytes of a body or chunk are to come.
	left uint64
}

// framing is what a head says about the body behind it.
type framing struct {
	old      bool // HTTP/1.0
	lengths  []string
	encoding []string
	// last is whether the last header line was one of the above, which a folded line would continue.
	last bool
	// unclear means that net/http will not take this head.
	unclear bool
}

// feed appends what becomes of in to out.
func (f *expectFilter) feed(out, in []byte) []byte {
	for len(in) > 0 {
		var n int
		switch f.stage {
		case inTheDark:
			n = len(in)
			out = append(out, in...)
		case inBody, inChunk:
			n = int(min(uint64(len(in)), f.left))
			out = append(out, in[:n]...)
			if f.left -= uint64(n); f.left == 0 {
				f.endData()
			}
		default:
			out, n = f.feedLine(out, in)
		}
		in = in[n:]
	}
	return out
}

// release stops the filter and appends what it holds.
func (f *expectFilter) release(out []byte) []byte {
	out = append(out, f.held...)
	*f = expectFilter{stage: inTheDark}
	return out
}

func (f *expectFilter) endData() {
	if f.stage == inChunk {
		f.stage = inChunkEnd
	} else {
		f.begin()
	}
}

// begin waits for the next request.
func (f *expectFilter) begin() { *f = expectFilter{line: f.line[:0], held: f.held[:0]} }

// preface is the line that begins a connection of HTTP/2 (RFC 9113, 3.4). A client of HTTP/1 cannot go on behind it either.
const preface = "PRI * HTTP/2.0"

// expectName begins an Expect header.
const expectName = "expect:"

// feedLine takes the bytes of in up to and with the end of a line.
func (f *expectFilter) feedLine(out, in []byte) ([]byte, int) {
	n := bytes.IndexByte(in, '\n') + 1
	ended := n > 0
	if !ended {
		n = len(in)
	}
	part := in[:n]
	if len(f.line)+len(f.held)+len(part) > maxHeld {
		return append(f.release(out), part...), n
	}
	if f.stage == inHead && !f.passing {
		f.held = append(f.held, part...)
		begin := f.held[:min(len(f.held), len(expectName))]
		if strings.EqualFold(string(begin), expectName[:len(begin)]) && !ended || len(begin) == len(expectName) && strings.EqualFold(string(begin), expectName) {
			if !ended {
				return out, n
			}
			return f.endExpect(out), n
		}
		f.passing = true
		part, f.held = f.held, nil
	}
	out = append(out, part...)
	f.line = append(f.line, part...)
	if ended {
		f.endLine()
	}
	return out, n
}

// endExpect passes an Expect header on, under its other name unless it is the one that net/http knows.
func (f *expectFilter) endExpect(out []byte) []byte {
	if !hasToken(string(f.held[len(expectName):]), "100-continue") {
		out = append(out, wishHeader...)
		f.held = f.held[len("expect"):]
	}
	out = append(out, f.held...)
	f.held, f.frame.last = nil, false
	return out
}

func hasToken(value, token string) bool {
	for _, part := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\r' || r == '\n' }) {
		if strings.EqualFold(part, token) {
			return true
		}
	}
	return false
}

// endLine decides on a whole line that was passed on.
func (f *expectFilter) endLine() {
	text := strings.TrimSuffix(strings.TrimSuffix(string(f.line), "\n"), "\r")
	f.line, f.passing = f.line[:0], false
	switch f.stage {
	case inRequestLine:
		if text != "" { // some clients end a body with an empty line (RFC 9112 section 2.2)
			f.frame.old = strings.HasSuffix(text, "HTTP/1.0")
			f.stage = inHead
		}
		if text == preface {
			f.stage = inTheDark
		}
	case inHead:
		if text == "" {
			f.endHead()
		} else {
			f.frame.header(text)
		}
	case inChunkSize:
		f.endChunkSize(text)
	case inChunkEnd:
		f.stage = inChunkSize
		if text != "" {
			f.stage = inTheDark
		}
	case inTrailer:
		if text == "" {
			f.begin()
		}
	}
}

// header takes note of a header that frames the body.
func (r *framing) header(text string) {
	if text[0] == ' ' || text[0] == '\t' {
		r.unclear = r.unclear || r.last
		return
	}
	name, value, _ := strings.Cut(text, ":")
	value = strings.Trim(value, " \t")
	r.last = true
	switch {
	case strings.EqualFold(name, "Content-Length"):
		r.lengths = append(r.lengths, value)
	case strings.EqualFold(name, "Transfer-Encoding"):
		r.encoding = append(r.encoding, value)
	default:
		r.last = false
	}
}

// endHead decides what follows a head.
func (f *expectFilter) endHead() {
	r := f.frame
	chunked := len(r.encoding) > 0 && !r.old // HTTP/1.0 has no chunks, so net/http does not look for them
	switch {
	case r.unclear, chunked && (len(r.encoding) > 1 || !strings.EqualFold(r.encoding[0], "chunked")):
		f.stage = inTheDark
	case chunked:
		f.stage = inChunkSize
	case len(r.lengths) == 0:
		f.begin()
	default:
		n, err := strconv.ParseUint(r.lengths[0], 10, 63)
		for _, other := range r.lengths[1:] {
			if other != r.lengths[0] {
				err = strconv.ErrSyntax
			}
		}
		switch {
		case err != nil:
			f.stage = inTheDark
		case n == 0:
			f.begin()
		default:
			f.stage, f.left = inBody, n
		}
	}
}

func (f *expectFilter) endChunkSize(text string) {
	size, _, _ := strings.Cut(strings.TrimRight(text, " \t"), ";")
	n, err := strconv.ParseUint(size, 16, 64)
	switch {
	case err != nil || len(size) > 16:
		f.stage = inTheDark
	case n == 0:
		f.stage = inTrailer
	default:
		f.stage, f.left = inChunk, n
	}
}

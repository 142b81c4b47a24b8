package metadata

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// large is a user-data of EC2's limit.
func large() string { return "#!/bin/sh\n" + strings.Repeat("echo first boot\n", 1023) + "exit\n" }

// bare is what a server could be that does nothing but answer.
func bare(content []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content)
	})
}

// BenchmarkAnswer sends requests over one connection of the loopback for each processor, to our server and to one that
// has nothing to look up. The ratio of the two is what matters.
func BenchmarkAnswer(b *testing.B) {
	s := ec2Seed("vm", seed.TokensRequired)
	s.Trees[0].Blobs = append(s.Trees[0].Blobs, seed.Blob{Path: "large", Content: secret.New(large())})
	site := mustSite(b, s)
	h := NewHandler(Config{Identify: Only(site), Limits: Limits{Rate: -1, Connections: -1}})
	ours := serve(b, h)
	table := new(Table)
	seen := NewHandler(Config{Identify: table.Identify, Observe: func(Request) {}, Limits: Limits{Rate: -1, Connections: -1}})
	seen.tokens = h.tokens
	withTable := serve(b, seen)
	table.Set(addresses(site))
	token := h.tokens.issue(site, maxTTL*1e9)
	get := func(path string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + tokenHeader + ": " + token + "\r\n\r\n"
	}
	put := "PUT /latest/api/token HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n" + ttlHeader + ": 60\r\n\r\n"
	for _, bb := range []struct{ name, addr, request string }{
		{"small/bare", plain(b, bare([]byte("i-0123456789abcdef0"))), get("/latest/meta-data/instance-id")},
		{"small/ours", ours, get("/latest/meta-data/instance-id")},
		{"small/table+observe", withTable, get("/latest/meta-data/instance-id")},
		{"16KiB/bare", plain(b, bare([]byte(large()))), get("/latest/large")},
		{"16KiB/ours", ours, get("/latest/large")},
		{"token/bare", plain(b, bare([]byte(token))), put},
		{"token/ours", ours, put},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				c, err := net.Dial("tcp", bb.addr)
				if err != nil {
					b.Error(err)
					return
				}
				defer c.Close()
				r := bufio.NewReaderSize(c, 64<<10)
				for pb.Next() {
					if _, err := io.WriteString(c, bb.request); err != nil {
						b.Error(err)
						return
					}
					if err := skim(r); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// skim reads an answer as cheaply as can be, so that the servers are measured and not the client.
func skim(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.Contains(line, []byte(" 200 ")) {
		return fmt.Errorf("got %q", line)
	}
	length := 0
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			for _, d := range bytes.TrimSpace(n) {
				length = length*10 + int(d-'0')
			}
		}
	}
	_, err = r.Discard(length)
	return err
}

// BenchmarkToken is what a session costs without the network.
func BenchmarkToken(b *testing.B) {
	site := mustSite(b, ec2Seed("vm", seed.TokensRequired))
	t := newTokens()
	token := t.issue(site, maxTTL*1e9)
	b.Run("issue", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t.issue(site, maxTTL*1e9)
		}
	})
	b.Run("good", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !t.good(site, token) {
				b.Fatal("refused")
			}
		}
	})
}

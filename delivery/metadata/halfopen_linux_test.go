package metadata

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestHalfOpen: 5,000 connections that begin a request and do not end it, of 40 addresses, neither hold
// up another machine nor take much memory, and are gone when their time is over.
func TestHalfOpen(t *testing.T) {
	const abusers, each = 40, 125
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur < 2*abusers*each+500 {
		t.Skipf("a process may have %d files open here, and both ends need more, %v", files.Cur, err)
	}
	sites := map[netip.Addr]*Site{netip.MustParseAddr("127.0.0.1"): mustSite(t, ec2Seed("victim", ""))}
	table := new(Table)
	table.Set(sites)
	addr := serve(t, NewHandler(Config{Identify: table.Identify}))
	use := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	victim := func() (took []time.Duration) {
		c := dial(t, addr, "127.0.0.1")
		defer c.Close()
		for range 50 {
			begin := time.Now()
			if !answered(c) {
				t.Fatal("the victim is not answered")
			}
			took = append(took, time.Since(begin))
		}
		slices.Sort(took)
		return took
	}
	quiet := victim()
	before := use()
	var group, opening sync.WaitGroup
	opening.Add(abusers)
	for i := range abusers {
		group.Go(func() {
			var conns []net.Conn
			for range each {
				c := dial(t, addr, fmt.Sprintf("127.0.2.%d", i+1))
				_, _ = io.WriteString(c, "GET /latest/user-data HTTP/1.1\r\nHost: x\r\n")
				conns = append(conns, c)
			}
			opening.Done()
			for _, c := range conns { // the server ends each
				_, _ = io.Copy(io.Discard, c)
				c.Close()
			}
		})
	}
	opening.Wait()
	during := use()
	loud := victim()
	group.Wait()
	perConnection := (during - before) / (abusers * each)
	t.Logf("%d half-open, %d bytes each for both ends; the victim waits %v in quiet and %v beside them (p98)", abusers*each, perConnection, quiet[48], loud[48])
	if perConnection > 64<<10 {
		t.Errorf("a half-open connection takes %d bytes", perConnection)
	}
}

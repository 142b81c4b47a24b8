package intake_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/report/intake"
	"github.com/vmseed/vmseed/secret"
)

// TestMemory: what hostile guests have said is bounded while they say it, and next to nothing once their first boots are over.
func TestMemory(t *testing.T) {
	const guests, words = 20, 250
	key := secret.New("0123456789abcdef")
	in := intake.New(key, func(report.Event) {}, intake.Options{Keep: func(string, []byte) error { return nil }})
	post := func(guest int, way, body string) {
		t.Helper()
		w := httptest.NewRecorder()
		path := "/" + intake.Path(key, numbered(guest), "i-1").Reveal() + way
		if in.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))); w.Code != http.StatusNoContent {
			t.Fatalf("status %d", w.Code)
		}
	}
	before := heap()
	for i := range guests {
		if err := in.Open(numbered(i), "i-1", nil); err != nil {
			t.Fatal(err)
		}
		for n := range words {
			post(i, "/webhook", fmt.Sprintf(`{"name":"modules-final/config-x","description":"%04d%s","event_type":"finish","result":"FAIL"}`, n, strings.Repeat("x", 1900)))
		}
		post(i, "/webhook", module)
	}
	during := heap()
	for i := range guests {
		post(i, "/webhook", ran)
		post(i, "/webhook", done)
	}
	after := heap()
	t.Logf("%d bytes a guest while it boots, %d afterwards", (during-before)/guests, (after-before)/guests)
	if each := (during - before) / guests; each > 100<<10 {
		t.Errorf("%d bytes are kept of each guest", each)
	}
	if each := (after - before) / guests; each > 2<<10 {
		t.Errorf("%d bytes are kept of each guest whose first boot is over", each)
	}
	runtime.KeepAlive(in)
}

func numbered(i int) string { return fmt.Sprintf("ns/vm-%d", i) }

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

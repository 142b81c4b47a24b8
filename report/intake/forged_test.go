package intake_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/report/intake"
	"github.com/vmseed/vmseed/secret"
)

// TestForged makes every request that is not a machine's own, by every way in, before and after its first boot: none is
// heard, and all are answered like a path that is not there.
func TestForged(t *testing.T) {
	type sender struct{}
	d := newDesk(func(ctx context.Context) (string, bool) { m, known := ctx.Value(sender{}).(string); return m, known })
	for _, m := range []string{"ns/vm", "ns/other", "x/vm"} {
		if err := d.Open(m, "i-1", nil); err != nil {
			t.Fatal(err)
		}
	}
	own := d.url("ns/vm", "i-1")
	at := strings.LastIndex(own, "/") + 1
	signature := own[at:]
	flipped := func(i int) string {
		const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		c := digits[(strings.IndexByte(digits, signature[i])+1)%len(digits)]
		return own[:at] + signature[:i] + string(c) + signature[i+1:]
	}
	forged := map[string]string{
		"no signature": own[:at], "no signature at all": own[:at-1], "cut": own[:len(own)-1], "cut to half": own[:at+len(signature)/2],
		"lengthened": own + "A", "padded": own + "=", "in hexadecimal": own[:at] + fmt.Sprintf("%x", signature), "upper case": own[:at] + strings.ToUpper(signature),
		"another machine's": "/vmseed/report/ns/vm/" + d.url("ns/other", "i-1")[len("/vmseed/report/ns/other/"):],
		"another namespace": "/vmseed/report/ns/vm/" + d.url("x/vm", "i-1")[len("/vmseed/report/x/vm/"):],
		"another instance":  d.url("ns/vm", "i-2"), "no instance": d.url("ns/vm", ""), "split otherwise": d.url("n/svm", "i-1"),
		"moved border":                        "/" + intake.Path(d.key, "ns/vmi", "-1").Reveal(),
		"another key":                         "/" + intake.Path(secret.New("0123456789abcdeF"), "ns/vm", "i-1").Reveal(),
		"a machine unknown":                   d.url("ns/none", "i-1"),
		"a machine unknown, without instance": d.url("ns/none", ""),
		"below another root":                  strings.Replace(own, "/report/", "/Report/", 1),
		"a path too much":                     own + "/webhook",
		"another way":                         own + "x",
		"dots":                                strings.Replace(own, "/ns/", "/x/../ns/", 1),
		"doubled slash":                       strings.Replace(own, "/ns/", "//ns/", 1),
		"name in upper case":                  strings.Replace(own, "/ns/vm/", "/NS/vm/", 1),
		"a space after":                       own + " ",
		"a zero byte":                         own + "\x00",
		"signature twice":                     own + "/" + signature,
		"empty":                               "",
		"root":                                "/vmseed/report/",
		"all bits of nothing":                 own[:at] + strings.Repeat("A", len(signature)),
	}
	for i := range signature {
		forged[fmt.Sprintf("changed at %d", i)] = flipped(i)
	}
	ways := map[string]string{"/webhook": done, "/phone-home": home, "/check-in": ready, "/afterburn": ""}
	heard := 0
	missing := httptest.NewRecorder()
	http.NotFound(missing, httptest.NewRequest(http.MethodPost, "/", nil))
	denied := func(t *testing.T, what, method, path, body string) {
		t.Helper()
		got := d.do(method, path, body)
		if got.Code != missing.Code || got.Body.String() != missing.Body.String() || !cmp.Equal(got.Header(), missing.Header()) {
			t.Errorf("%s: %s %d %v %q", what, method, got.Code, got.Header(), got.Body)
		}
		if len(d.events) != heard {
			t.Errorf("%s: %s is heard: %+v", what, method, d.events[heard:])
			heard = len(d.events)
		}
	}
	all := func(when string) {
		for what, path := range forged {
			for way, body := range ways {
				for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodPut, http.MethodHead} {
					denied(t, when+": "+what+way, method, path+way, body)
				}
			}
		}
	}
	all("before")
	// The machine's own URL from another machine's address is none.
	for way, body := range ways {
		r := httptest.NewRequest(http.MethodPost, own+way, strings.NewReader(body))
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sender{}, "ns/other")))
		if w.Code != 404 || len(d.events) != heard {
			t.Errorf("%s from another machine: status %d", way, w.Code)
		}
		w = httptest.NewRecorder()
		r = httptest.NewRequest(http.MethodGet, own+way, nil)
		d.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sender{}, "ns/vm")))
		if w.Code != 405 || w.Header().Get("Allow") != "POST" {
			t.Errorf("%s: GET by the machine itself: status %d", way, w.Code)
		}
	}
	for _, body := range []string{module, ran, done} {
		if got := d.post(own+"/webhook", body); got != 204 {
			t.Fatalf("the machine's own word: status %d", got)
		}
	}
	heard = len(d.events)
	all("after")
	denied(t, "after the final word", http.MethodPost, own+"/check-in", ready)
	for way := range ways {
		denied(t, "after the final word", http.MethodGet, own+way, done)
	}
	d.Close("ns/other")
	denied(t, "closed", http.MethodPost, d.url("ns/other", "i-1")+"/webhook", done)
}

// A key that could be guessed lets nobody in.
func TestShortKey(t *testing.T) {
	for _, key := range []secret.Text{{}, secret.New("123456789012345")} {
		i := intake.New(key, func(report.Event) { t.Error("heard") }, intake.Options{})
		if err := i.Open("ns/vm", "i-1", nil); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		i.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/"+intake.Path(key, "ns/vm", "i-1").Reveal()+"/webhook", strings.NewReader(done)))
		if w.Code != 404 {
			t.Errorf("status %d", w.Code)
		}
	}
}

// Names that a URL cannot hold as they are, and those that look alike when it does.
func TestPath(t *testing.T) {
	d := newDesk(nil)
	seen := map[string]bool{}
	for _, machine := range []string{"ns/vm", "ns/v m", "ns/v%20m", "ns/Ünï", "ns/a'b\"c", "ns/a$INSTANCE_ID", "ns/{{x}}", "ns/a?b#c", "ns/a;b&c=d+e@f:g", "/vm"} {
		url := d.url(machine, "i-1")
		if strings.Trim(url, "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~%") != "" || seen[url] {
			t.Errorf("%q: %s", machine, url)
		}
		seen[url] = true
		_ = d.Open(machine, "i-1", nil)
		r := httptest.NewRequest(http.MethodPost, url+"/webhook", strings.NewReader(module))
		w := httptest.NewRecorder()
		if d.ServeHTTP(w, r); w.Code != 204 || d.events[len(d.events)-1].Machine != machine {
			t.Errorf("%q: status %d", machine, w.Code)
		}
	}
}

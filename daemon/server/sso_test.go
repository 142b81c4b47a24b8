package server

import (
	"bufio"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// recorded are requests as the SDKs send them: ovirtsdk4 4.6.3 with pycurl, and go-ovirt 4.4.3.
const (
	pythonLogin = "POST /ovirt-engine/sso/oauth/token HTTP/1.1\r\nHost: %s\r\nUser-Agent: PythonSDK/4.6.3\r\nAccept: application/json\r\n" +
		"Content-Length: %d\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n%s"
	goLogin = "POST /ovirt-engine/sso/oauth/token HTTP/1.1\r\nHost: %s\r\nUser-Agent: GoSDK/4.4.3\r\nConnection: close\r\nContent-Length: %d\r\nAccept: application/json\r\n" +
		"Content-Type: application/x-www-form-urlencoded\r\n\r\n%s"
	goLogout = "POST /ovirt-engine/services/sso-logout HTTP/1.1\r\nHost: %s\r\nUser-Agent: GoSDK/4.4.3\r\nConnection: close\r\nContent-Length: %d\r\nAccept: application/json\r\n" +
		"Content-Type: application/x-www-form-urlencoded\r\n\r\n%s"
)

// raw sends a request byte for byte, and returns the answer with its JSON object.
func (r *running) raw(t *testing.T, form, body string) (*http.Response, map[string]string) {
	t.Helper()
	c := r.dial(t)
	fmt.Fprintf(c, form, r.Addr(), len(body), body)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]string
	if err := json.Unmarshal(data, &out); err != nil || answer.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s, %s: %q: %v", answer.Status, answer.Header.Get("Content-Type"), data, err)
	}
	return answer, out
}

func TestLoginOfSDKs(t *testing.T) {
	r := begin(t, nil)
	for name, tt := range map[string]struct{ form, body string }{
		"Python": {pythonLogin, "grant_type=password&scope=ovirt-app-api&username=admin%40internal&password=correct+horse"},
		"Go":     {goLogin, "grant_type=password&password=correct+horse&scope=ovirt-app-api&username=admin%40internal"},
	} {
		answer, out := r.raw(t, tt.form, tt.body)
		exp, err := strconv.ParseInt(out["exp"], 10, 64)
		if answer.StatusCode != 200 || out["scope"] != "ovirt-app-api" || out["token_type"] != "bearer" || err != nil {
			t.Errorf("%s: %s, %v", name, answer.Status, err)
		}
		if left := time.Until(time.UnixMilli(exp)); left < 25*time.Minute || left > 31*time.Minute {
			t.Errorf("%s: the token ends in %v", name, left)
		}
		if api := r.do(t, http.MethodGet, "/ovirt-engine/api", "", "Authorization", "Bearer "+out["access_token"]); api.StatusCode != 200 {
			t.Errorf("%s: %s", name, api.Status)
		}
		// Python ends its own token; Go, by a defect, an empty one, which has to do as well.
		logout := "scope=ovirt-app-api&token=" + out["access_token"]
		if name == "Go" {
			logout = "scope=&token="
		}
		if answer, out := r.raw(t, goLogout, logout); answer.StatusCode != 200 || len(out) != 0 {
			t.Errorf("%s: logout: %s, %v", name, answer.Status, out)
		}
		want := map[string]int{"Python": 401, "Go": 200}[name]
		if api := r.do(t, http.MethodGet, "/ovirt-engine/api", "", "Authorization", "Bearer "+out["access_token"]); api.StatusCode != want {
			t.Errorf("%s: after the logout: %s", name, api.Status)
		}
	}
}

func TestLoginErrors(t *testing.T) {
	r := begin(t, nil)
	for name, tt := range map[string]struct {
		method, path, body string
		status             int
		member, code       string
	}{
		"wrong password":  {"POST", pathToken, "grant_type=password&scope=ovirt-app-api&username=admin%40internal&password=x", 400, "error_code", "access_denied"},
		"wrong name":      {"POST", pathToken, "grant_type=password&scope=ovirt-app-api&username=x&password=x", 400, "error_code", "access_denied"},
		"no name":         {"POST", pathToken, "grant_type=password&scope=ovirt-app-api", 400, "error_code", "invalid_request"},
		"another grant":   {"POST", pathToken, "grant_type=code&scope=ovirt-app-api", 400, "error_code", "unsupported_grant_type"},
		"nothing":         {"POST", pathToken, "", 400, "error_code", "unsupported_grant_type"},
		"another scope":   {"POST", pathToken, "grant_type=password&scope=openid&username=x&password=x", 400, "error", "invalid_scope"},
		"no form":         {"POST", pathToken, "a=%zz", 400, "error_code", "invalid_request"},
		"too much":        {"POST", pathToken, "a=" + strings.Repeat("x", maxForm), 400, "error_code", "invalid_request"},
		"another method":  {"PUT", pathToken, "", 405, "error_code", "invalid_request"},
		"Kerberos":        {"POST", pathTicket, "grant_type=urn:ovirt:params:oauth:grant-type:http", 401, "error_code", "access_denied"},
		"wrong, by query": {"GET", pathToken + "?grant_type=password&scope=ovirt-app-api&username=y&password=x", "", 400, "error_code", "access_denied"},
	} {
		answer := r.do(t, tt.method, tt.path, tt.body)
		var out map[string]string
		if err := json.NewDecoder(answer.Body).Decode(&out); err != nil || answer.StatusCode != tt.status || out[tt.member] != tt.code || out["access_token"] != "" {
			t.Errorf("%s: %s %v %v", name, answer.Status, out, err)
		}
		for _, text := range out {
			if strings.Contains(text, "admin") {
				t.Errorf("%s: the answer repeats what was sent: %v", name, out)
			}
		}
	}
	// Where it should be in the body it may be in the query, and a form is one whatever it is called.
	for _, q := range []struct{ method, path, body string }{
		{"GET", pathToken + "?grant_type=password&scope=ovirt-app-api&username=admin%40internal&password=correct%20horse", ""},
		{"POST", pathToken, "grant_type=password&username=admin%40internal&password=correct%20horse\n"},
	} {
		if answer := r.do(t, q.method, q.path, q.body); answer.StatusCode != 200 {
			t.Errorf("%s: %s: %s", q.method, answer.Status, text(t, answer))
		}
	}
}

// TestGuessingIsSlow answers a guesser late, in the words that SDKs understand.
func TestGuessingIsSlow(t *testing.T) {
	t.Parallel() // it waits more than it works
	r := begin(t, nil)
	began := time.Now()
	for i := range 5 {
		answer := r.do(t, "POST", pathToken, "grant_type=password&scope=ovirt-app-api&username=admin%40internal&password="+strconv.Itoa(i))
		if answer.StatusCode != 400 {
			t.Error(answer.Status)
		}
	}
	// The third to the fifth failure cost 0.5, 1 and 2 seconds; the last one is paid by the next attempt.
	if took := time.Since(began); took < 1400*time.Millisecond {
		t.Errorf("5 guesses took %v", took)
	}
}

func TestCACertificate(t *testing.T) {
	r := begin(t, nil)
	for path, status := range map[string]int{
		pathCA + "?resource=ca-certificate&format=X509-PEM-CA": 200, pathCA: 200,
		pathCA + "?resource=engine-certificate": 404, pathCA + "?resource=ca-certificate&format=OPENSSH-PUBKEY": 404,
	} {
		answer := r.do(t, "GET", path, "")
		got := text(t, answer)
		block, _ := pem.Decode([]byte(got))
		if answer.StatusCode != status || status == 200 && (block == nil || block.Type != "CERTIFICATE") {
			t.Errorf("%s: %s %s", path, answer.Status, got)
		}
	}
	if answer := r.do(t, "POST", pathCA, ""); answer.StatusCode != 405 {
		t.Error(answer.Status)
	}
	if file, err := os.ReadFile(r.CAFile()); err != nil || string(file) != string(r.CA()) {
		t.Error("the file is not what clients get", err)
	}
}

package metadata

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// TestAnswers reads a machine's trees as guests do.
func TestAnswers(t *testing.T) {
	addr := serve(t, NewHandler(Config{Identify: Only(mustSite(t, allSeed("vm", seed.TokensOptional))), Limits: Limits{Rate: -1}}))
	const text, octets = "text/plain", "application/octet-stream"
	for _, tt := range []struct {
		method, path string
		want         int
		body, kind   string
	}{
		{"GET", "/", 200, "1.0\n2009-04-04\n2021-07-15\nignition\nlatest\nnocloud", text},
		{"GET", "/latest", 200, "dynamic/\nmeta-data/\nuser-data", text},
		{"GET", "/latest/", 200, "dynamic/\nmeta-data/\nuser-data", text},
		{"GET", "/1.0/", 200, "dynamic/\nmeta-data/\nuser-data", text},
		{"GET", "/latest/meta-data", 200, "instance-id\nlocal-hostname\nnetwork/\npublic-keys/", text},
		{"GET", "/latest/meta-data/", 200, "instance-id\nlocal-hostname\nnetwork/\npublic-keys/", text},
		{"GET", "/latest/meta-data/public-keys/", 200, "0=vm", text},
		{"GET", "/latest/meta-data/public-keys", 200, "0=vm", text},
		{"GET", "/latest/meta-data/public-keys/0", 200, "openssh-key", text},
		{"GET", "/latest/meta-data/public-keys/0/openssh-key", 200, "meta-data/public-keys/0/openssh-key of vm", text},
		{"GET", "/latest/meta-data/network/interfaces/macs/", 200, "52:54:00:00:00:01/", text},
		{"GET", "/latest/meta-data/network/interfaces/macs/52%3A54%3a00:00:00:01/mac", 200, "meta-data/network/interfaces/macs/52:54:00:00:00:01/mac of vm", text},
		{"GET", "/2021-07-15/dynamic/instance-identity", 200, "document", text},
		{"GET", "/2009-04-04/user-data", 200, "user-data of vm", octets},
		{"GET", "/latest/user-data/", 200, "user-data of vm", octets},
		{"HEAD", "/latest/user-data", 200, "", octets},
		{"GET", "/latest/meta-data/instance-id?a=b", 200, "meta-data/instance-id of vm", text},
		{"GET", "/openstack", 200, "2012-08-10\n2018-08-27\nlatest", text},
		{"GET", "/openstack/", 200, "2012-08-10\n2018-08-27\nlatest", text},
		{"GET", "/openstack/latest/", 200, "meta_data.json\nnetwork_data.json\npassword\nuser_data", text},
		{"GET", "/openstack/2018-08-27/meta_data.json", 200, "meta_data.json of vm", text},
		{"GET", "/openstack/latest/password", 200, "", text},
		{"GET", "/nocloud/", 200, "meta-data\nnetwork-config\nuser-data\nvendor-data", text},
		{"GET", "/nocloud/vendor-data", 200, "vendor-data of vm", text},
		{"GET", "/ignition/config.ign", 200, "config.ign of vm", text},
		{"GET", "/latest/meta-data/ami-id", 404, "404 - Not Found", text},
		{"GET", "/2037-01-01/meta-data/", 404, "404 - Not Found", text},
		{"GET", "/openstack/2037-01-01/meta_data.json", 404, "404 - Not Found", text},
		{"GET", "/vmseed/report", 404, "404 - Not Found", text},
		{"POST", "/latest/user-data", 405, "405 - Method Not Allowed", text},
		{"DELETE", "/", 405, "405 - Method Not Allowed", text},
		{"POST", "/latest/nothing", 404, "404 - Not Found", text},
		{"BREW", "/nocloud/user-data", 405, "405 - Method Not Allowed", text},
	} {
		resp, body := raw(t, addr, request(tt.method, tt.path))
		if resp.StatusCode != tt.want || body != tt.body || resp.Header.Get("Content-Type") != tt.kind {
			t.Errorf("%s %s: %s %q %q, want %d %q %q", tt.method, tt.path, resp.Status, body, resp.Header.Get("Content-Type"), tt.want, tt.body, tt.kind)
		}
		if resp.ContentLength < int64(len(tt.body)) || tt.want == 405 && resp.Header.Get("Allow") != "GET, HEAD" || resp.Header.Get("Location") != "" {
			t.Errorf("%s %s: %v", tt.method, tt.path, resp.Header)
		}
	}
}

// TestHostilePaths asks a known machine's server for paths that lead elsewhere on servers that clean them. The machine's
// user-data is found at one of its own paths or not at all, and nobody is sent on to another place.
func TestHostilePaths(t *testing.T) {
	addr := serve(t, NewHandler(Config{Identify: Only(mustSite(t, allSeed("vm", seed.TokensRequired))), Limits: Limits{Rate: -1}}))
	paths := []string{
		"/latest/../latest/user-data", "/nocloud/../latest/user-data", "/nocloud/../nocloud/user-data", "/nocloud/./user-data", "/nocloud//user-data", "//nocloud/user-data",
		"/nocloud/user-data//", "/./nocloud/user-data", "/../nocloud/user-data", "/nocloud/x/../user-data", "/nocloud/%2e%2e/nocloud/user-data", "/nocloud/%2E/user-data",
		"/nocloud%2fuser-data", "/nocloud%2Fuser-data", "/nocloud/user%2ddata%2f", "/%2e%2e/nocloud/user-data", "/nocloud/user-data%00", "/nocloud/user-data%00.txt",
		"/nocloud/user-data%0d%0aX: y", "/nocloud/user-data;x=y", "/nocloud/user-data%3fx", "/nocloud/user-data%23", "/NOCLOUD/user-data", "/nocloud/User-Data", `/nocloud\user-data`,
		"/nocloud/user-data%20", "/%6eocloud%5cuser-data", "/nocloud/%75ser-data%25", "/nocloud/%c0%ae%c0%ae/user-data", "/nocloud%ef%bc%8fuser-data", "/..;/nocloud/user-data",
		"/nocloud/%252e%252e/user-data", "/" + strings.Repeat("nocloud/../", 300) + "nocloud/user-data", "/" + strings.Repeat("/", 3000) + "nocloud/user-data", "/nocloud/" + strings.Repeat("a", 3000),
		"http://x/../nocloud/user-data", "http://nocloud/user-data", "http:nocloud/user-data", "*", "/nocloud/user-data/.", "/nocloud/user-data/..", "nocloud/user-data", "///",
		"/vmseed", "/vmseed/../nocloud/user-data", "/vmseed//nocloud/user-data", "/openstack/latest/../latest/password", "/openstack/latest/password/../user_data",
	}
	t.Logf("%d paths", len(paths))
	for _, path := range paths {
		for _, method := range []string{"GET", "OPTIONS"} {
			resp, body := raw(t, addr, request(method, strings.ReplaceAll(path, " ", "")))
			if resp.StatusCode < 400 || resp.StatusCode == 401 && !strings.HasPrefix(path, "/latest/") || resp.StatusCode == 405 || strings.Contains(body, "of vm") || resp.Header.Get("Location") != "" {
				t.Errorf("%s %.100s: %s %q", method, path, resp.Status, body)
			}
		}
	}
	// CONNECT has no path, and a message that is none of HTTP is net/http's to refuse.
	for message, want := range map[string]int{
		"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: x\r\n\r\n": 404, "GET /nocloud/user-data HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n": 400,
		"GET /nocloud/user-data HTTP/1.1\r\n\r\n": 400, "GET /nocloud/user-data HTTP/3.0\r\nHost: x\r\n\r\n": 505, "GET /nocloud/\x00 HTTP/1.1\r\nHost: x\r\n\r\n": 400,
		"GET /nocloud/user-data HTTP/1.1\r\nHost: x\r\nX : y\r\n\r\n": 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": 404,
		"GET /nocloud/user-data HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n": 400,
		"GET /" + strings.Repeat("x", 9<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n":                          431,
		"GET /nocloud/user-data HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 9<<10) + "\r\n\r\n":  431,
	} {
		if resp, _ := raw(t, addr, message); resp.StatusCode != want {
			t.Errorf("%.60q: %s, want %d", message, resp.Status, want)
		}
	}
	if resp, body := raw(t, addr, "GET /nocloud/user-data HTTP/1.0\r\n\r\n"); resp.StatusCode != 200 || body != "user-data of vm" {
		t.Errorf("HTTP/1.0: %s %q", resp.Status, body)
	}
}

// TestSeal: what the first boot alone needs is gone, the rest stays, and the session goes on.
func TestSeal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "seed.metadata")
	s := allSeed("vm", seed.TokensRequired)
	s.Seal = true
	if _, err := New().Deliver(t.Context(), s, delivery.Target{Path: dir}); err != nil {
		t.Fatal(err)
	}
	live, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if live.Sealed() {
		t.Error("sealed from the start")
	}
	live.Seal()
	live.Seal()
	for range 2 {
		if err := SealFile(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, canary := range []string{"user-data of vm", "user_data of vm"} {
		if in, err := New().Open(dir); err != nil || holds(in, canary) {
			t.Errorf("the sealed file holds %q, %v", canary, err)
		}
	}
	loaded, err := Load(dir)
	if err != nil || !loaded.Sealed() {
		t.Fatal("the file is not sealed: ", err)
	}
	heir := mustSite(t, s)
	heir.Inherit(live)
	for name, site := range map[string]*Site{"sealed": live, "loaded": loaded, "heir": heir} {
		addr := serve(t, NewHandler(Config{Identify: Only(site), Limits: Limits{Rate: -1}}))
		token := "X-aws-ec2-metadata-token: " + session(t, addr)
		for path, want := range map[string]string{"/latest/user-data": "404 - Not Found", "/latest/": "dynamic/\nmeta-data/", "/latest/meta-data/instance-id": "meta-data/instance-id of vm",
			"/latest/meta-data/public-keys/": "0=vm", "/openstack/latest/user_data": "404 - Not Found", "/openstack/latest": "meta_data.json\nnetwork_data.json\npassword",
			"/nocloud/user-data": "", "/nocloud/meta-data": "meta-data of vm", "/nocloud": "meta-data\nnetwork-config\nuser-data\nvendor-data",
			"/": "1.0\n2009-04-04\n2021-07-15\nignition\nlatest\nnocloud"} {
			if resp, body := raw(t, addr, request("GET", path, token)); body != want {
				t.Errorf("%s: %s: %s %q, want %q", name, path, resp.Status, body, want)
			}
		}
	}
}

func holds(s seed.Seed, text string) bool {
	for _, tree := range s.Trees {
		for _, b := range tree.Blobs {
			if strings.Contains(b.Content.Reveal(), text) {
				return true
			}
		}
	}
	return false
}

// TestPassword posts as cloudbase-init does.
func TestPassword(t *testing.T) {
	var saved []string
	fail := true
	site := mustSite(t, allSeed("vm", ""))
	addr := serve(t, NewHandler(Config{Identify: Only(site), Password: func(s *Site, p []byte) error {
		if fail {
			fail = false
			return errors.New("no room")
		}
		saved = append(saved, s.Machine().Name+": "+string(p))
		return nil
	}}))
	post := func(want int, password string, fields ...string) {
		t.Helper()
		resp, _ := raw(t, addr, request("POST", "/openstack/2018-08-27/password", append(fields, fmt.Sprintf("Content-Length: %d", len(password)))...)+password)
		if resp.StatusCode != want {
			t.Errorf("%d bytes: %s, want %d", len(password), resp.Status, want)
		}
	}
	get := func(want string) {
		t.Helper()
		for _, path := range []string{"/openstack/latest/password", "/openstack/2018-08-27/password"} {
			if resp, body := raw(t, addr, request("GET", path)); resp.StatusCode != 200 || body != want {
				t.Errorf("%s: %s %q, want %q", path, resp.Status, body, want)
			}
		}
	}
	get("")
	post(400, "")
	post(400, strings.Repeat("x", maxPassword+1))
	post(500, "first")
	get("")
	long := strings.Repeat("y", maxPassword)
	post(200, long)
	post(409, "second")
	get(long)
	// A page in the guest's browser posts nothing, not even the first one.
	fresh := serve(t, NewHandler(Config{Identify: Only(mustSite(t, allSeed("vm", "")))}))
	for _, field := range []string{"Sec-Fetch-Site: cross-site", "Origin: http://example.com", "Origin: null"} {
		if resp, _ := raw(t, fresh, request("POST", "/openstack/latest/password", field, "Content-Length: 1")+"x"); resp.StatusCode != 403 {
			t.Errorf("%s: %s", field, resp.Status)
		}
	}
	if resp, _ := raw(t, fresh, request("POST", "/openstack/latest/password", "Content-Length: 1")+"x"); resp.StatusCode != 200 {
		t.Errorf("behind the pages: %s", resp.Status)
	}
	if resp, _ := raw(t, addr, request("PUT", "/openstack/latest/password")); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("PUT: %s %v", resp.Status, resp.Header)
	}
	if len(saved) != 1 || saved[0] != "vm: "+long || site.Password().Reveal() != long {
		t.Errorf("saved: %.100q", saved)
	}
	heir, stranger := mustSite(t, allSeed("vm", "")), mustSite(t, allSeed("other", ""))
	heir.Inherit(site)
	stranger.Inherit(site)
	heir.Inherit(nil)
	if !heir.Password().Equal(secret.New(long)) || !stranger.Password().IsZero() {
		t.Error("the password is not inherited by the machine alone")
	}
	// Of many at once, one is the first.
	site = mustSite(t, allSeed("vm", ""))
	var group sync.WaitGroup
	counts := make([]int, 600)
	var mu sync.Mutex
	h := NewHandler(Config{Identify: Only(site)})
	for i := range 50 {
		group.Go(func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("POST", "/openstack/latest/password", strings.NewReader(fmt.Sprint(i))))
			mu.Lock()
			defer mu.Unlock()
			counts[w.Code]++
		})
	}
	group.Wait()
	if counts[200] != 1 || counts[409] != 49 {
		t.Errorf("%d took, %d conflicts", counts[200], counts[409])
	}
}

// TestPasswordFile: a file keeps the password for the next server.
func TestPasswordFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seed.metadata")
	if _, err := New().Deliver(t.Context(), allSeed("vm", ""), delivery.Target{Path: path}); err != nil {
		t.Fatal(err)
	}
	if err := SavePassword(path, []byte("posted")); err != nil {
		t.Fatal(err)
	}
	if site, err := Load(path); err != nil || site.Password().Reveal() != "posted" {
		t.Errorf("%v", err)
	}
}

// TestReportsAndHooks: reports go to their handler with the site, and metrics and log hear of every answer, but of nothing
// secret.
func TestReportsAndHooks(t *testing.T) {
	var log lockedBuffer
	seen := make(chan Request, 100)
	site := mustSite(t, allSeed("vm", seed.TokensRequired))
	known := true
	var mu sync.Mutex
	h := NewHandler(Config{
		Identify: func(*http.Request) *Site {
			mu.Lock()
			defer mu.Unlock()
			if known {
				return site
			}
			return nil
		},
		Reports: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprintf(w, "%s %v %s", r.URL.Path, SiteOf(r.Context()) == site, body)
		}),
		Log: slog.New(slog.NewJSONHandler(&log, nil)), Observe: func(r Request) { seen <- r },
	})
	addr := serve(t, h)
	token := session(t, addr)
	if r := <-seen; r.Route != "token" || r.Status != 200 || r.Bytes != int64(len(token)) || r.Site != site {
		t.Errorf("%+v", r)
	}
	for _, tt := range []struct {
		request string
		status  int
		route   string
	}{
		{request("GET", "/latest/user-data?secret-query", tokenHeader+": "+token), 200, "ec2"},
		{request("GET", "/latest/user-data", tokenHeader+": secret-token"), 401, "ec2"},
		{request("GET", "/", tokenHeader+": "+token), 200, "versions"},
		{request("GET", "/openstack/latest/meta_data.json"), 200, "openstack"},
		{request("POST", "/openstack/latest/password", "Content-Length: 15") + "secret-password", 200, "password"},
		{request("POST", "/vmseed/report/ns_vm.secret-signature", "Content-Length: 11") + "secret-body", 202, "reports"},
		{request("GET", "/nothing"), 404, "denied"},
	} {
		resp, body := raw(t, addr, tt.request)
		if r := <-seen; resp.StatusCode != tt.status || r.Route != tt.route || r.Status != tt.status || r.Bytes != int64(len(body)) || r.Duration <= 0 {
			t.Errorf("%.60q: %s, %+v", tt.request, resp.Status, r)
		}
		if tt.route == "reports" && body != "/vmseed/report/ns_vm.secret-signature true secret-body" {
			t.Errorf("the report's handler got %q", body)
		}
	}
	mu.Lock()
	known = false
	mu.Unlock()
	if _, body := raw(t, addr, request("POST", "/vmseed/x")); body != "/vmseed/x false " {
		t.Errorf("of nobody: %q", body)
	}
	<-seen
	raw(t, addr, request("GET", "/latest/user-data"))
	if r := <-seen; r.Site != nil || r.Route != "denied" || r.Status != 404 {
		t.Errorf("of nobody: %+v", r)
	}
	text := log.String()
	if strings.Contains(text, "secret") || strings.Contains(text, token) || strings.Contains(text, "of vm") {
		t.Errorf("the log has a secret:\n%s", text)
	}
	if !strings.Contains(text, `"machine":"ns/vm","remote":"127.0.0.1:`) || !strings.Contains(text, `"path":"/latest/user-data","route":"ec2","status":200`) {
		t.Errorf("the log:\n%s", text)
	}
	if got := logged("/" + strings.Repeat("ü", 999)); len(got) > maxLogged+3 || !utf8.ValidString(got) {
		t.Errorf("a long path is logged as %q", got)
	}
}

// TestSharedContent: what several protocols serve alike is in memory once, and is sealed in all of them.
func TestSharedContent(t *testing.T) {
	s := allSeed("vm", "")
	for i := range s.Trees {
		s.Trees[i].Blobs = append(s.Trees[i].Blobs, seed.Blob{Path: "large", Content: secret.New(large()), Sealable: s.Trees[i].Name == "ec2"})
	}
	const sites = 100
	all := make([]*Site, sites)
	use := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := use()
	for i := range all {
		all[i] = mustSite(t, s)
	}
	each := (use() - before) / sites
	if t.Logf("%d bytes a machine, %d of them its user-data", each, len(large())); each > int64(len(large()))*2 {
		t.Errorf("a machine of four protocols takes %d bytes", each)
	}
	all[0].Seal()
	h := NewHandler(Config{Identify: Only(all[0])})
	for path, want := range map[string]int{"/latest/large": 404, "/openstack/latest/large": 200, "/nocloud/large": 200} {
		if code, _, _, body, _ := get(h, path); code != want || code == 200 && body != large() {
			t.Errorf("%s: %d", path, code)
		}
	}
	runtime.KeepAlive(all)
}

// TestLoggedPaths: no way to write a signed path puts its signature into the log.
func TestLoggedPaths(t *testing.T) {
	machine, key := seed.Name{Namespace: "ns", Name: "vm"}, secret.New("directory-key-16")
	d := NewDirectories(key)
	signed := d.signature(machine)
	for _, path := range []string{
		"/vmseed/report/ns/vm/" + signed + "/webhook", "//vmseed/report/ns/vm/" + signed + "/webhook", "/VMSEED/report/ns/vm/" + signed,
		"/latest/../vmseed/report/ns/vm/" + signed + "/check-in", "/report/ns/vm/" + signed, "/" + signed, "/vmseed/report/ns/vm%2F" + signed,
		"/nocloud/ns_vm." + signed + "/user-data", "/nocloud/ns_vm," + signed + "/user-data", "/nocloud/" + signed + "/meta-data", "/nocloud/ns_vm.a." + signed,
		"/x/" + signed + signed, "/x/" + signed + ":" + signed, "/" + strings.Repeat("x", maxLogged-len(signed)-1) + "/" + signed,
	} {
		if got := logged(path); strings.Contains(got, signed[:12]) || strings.Contains(got, signed[30:]) {
			t.Errorf("%s is logged as %s", path, got)
		}
	}
	for _, path := range []string{"/latest/meta-data/network/interfaces/macs/52:54:00:00:00:01/public-ipv4s", "/latest/dynamic/instance-identity/document",
		"/openstack/2018-08-27/vendor_data2.json", "/ignition/config.ign", "/"} {
		if got := logged(path); got != path {
			t.Errorf("%s is logged as %s", path, got)
		}
	}
}

package metadata

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// fields are header fields by which somebody might want to be somebody else, with the victim's address, name or id.
func fields() []string {
	names := []string{"X-Forwarded-For", "x-forwarded-for", "X_Forwarded_For", "X-Real-IP", "X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "X-Cluster-Client-IP",
		"X-Originating-IP", "X-Remote-Addr", "X-Remote-IP", "Fly-Client-IP", "X-Forwarded-Host", "X-Forwarded-Server", "X-Original-URL", "X-Rewrite-URL", "X-Host", "Client-IP"}
	var out []string
	for _, n := range names {
		out = append(out, n+": 192.0.2.1")
	}
	return append(out,
		"Forwarded: for=192.0.2.1", `Forwarded: for="192.0.2.1:80";by=127.0.0.1;host=victim`, "Forwarded: for=127.0.0.1, for=192.0.2.1",
		"X-Forwarded-For: 127.0.0.1, 192.0.2.1", "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 127.0.0.1",
		"X-Instance-ID: i-victim", "X-Instance-ID: i-victim\r\nX-Tenant-ID: ns\r\nX-Instance-ID-Signature: "+signature("", "i-victim"),
		"X-Instance-ID: i-victim\r\nX-Tenant-ID: ns\r\nX-Instance-ID-Signature: "+signature("key", "i-victim"),
		"X-Aws-Ec2-Instance-Id: i-victim", "Authorization: Basic dmljdGltOg==", "Cookie: machine=victim", "From: victim", "Referer: http://victim/",
		"Origin: http://victim", "X-HTTP-Method-Override: POST", "X-Original-Forwarded-For: 192.0.2.1", "Via: 1.1 192.0.2.1", "Proxy-Connection: keep-alive")
}

// signature is a proxy's.
func signature(key, id string) string { return hex.EncodeToString(sign(secret.New(key), id)) }

// routes are a request for each kind of answer.
func routes() []string {
	return []string{"GET /", "GET /latest", "GET /latest/", "GET /latest/user-data", "GET /2009-04-04/meta-data/", "GET /latest/meta-data/instance-id",
		"HEAD /latest/meta-data/instance-id", "POST /latest/user-data", "GET /latest/nothing", "GET /latest/api/token", "GET /openstack", "GET /openstack/latest/",
		"GET /openstack/2018-08-27/user_data", "GET /openstack/latest/password", "DELETE /openstack/latest/password", "GET /nocloud/user-data", "GET /nocloud/",
		"GET /ignition/config.ign", "GET /nothing", "GET /vmseed/report", "OPTIONS *", "GET http://victim/latest/user-data"}
}

// whole is an answer but for its date.
func whole(t *testing.T, resp *http.Response, body string) string {
	t.Helper()
	resp.Header.Del("Date")
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n", resp.Status)
	if err := resp.Header.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String() + body
}

// TestForgedHeaders sends every forgery to every route: the answer must be the same to the byte.
func TestForgedHeaders(t *testing.T) {
	forger, victim := mustSite(t, allSeed("forger", seed.TokensOptional)), mustSite(t, allSeed("victim", seed.TokensOptional))
	table := new(Table)
	table.Set(map[netip.Addr]*Site{netip.MustParseAddr("127.0.0.1"): forger, netip.MustParseAddr("192.0.2.1"): victim})
	reports := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, SiteOf(r.Context()).Machine()) })
	addr := serve(t, NewHandler(Config{Identify: table.Identify, Reports: reports, Limits: Limits{Rate: -1}}))
	tried := 0
	for _, route := range routes() {
		method, path, _ := strings.Cut(route, " ")
		resp, body := raw(t, addr, request(method, path))
		want := whole(t, resp, body)
		if strings.Contains(want, "victim") {
			t.Fatalf("%s: %s", route, want)
		}
		for _, f := range append(fields(), "Host: victim") {
			forged := request(method, path, f)
			if strings.HasPrefix(f, "Host:") {
				forged = strings.Replace(request(method, path), "Host: 169.254.169.254", f, 1)
			}
			resp, body := raw(t, addr, forged)
			if got := whole(t, resp, body); got != want {
				t.Errorf("%s with %q:\n%s\nwithout:\n%s", route, f, got, want)
			}
			tried++
		}
	}
	t.Logf("%d headers × %d routes: %d requests", len(fields())+1, len(routes()), tried)
	if len(fields()) < 25 {
		t.Errorf("only %d forgeries", len(fields()))
	}
}

// proxied is a request of a proxy.
type proxied struct {
	name   string
	fields []string
	want   int
}

func proxyCases() []proxied {
	id, tenant, sig := "X-Instance-ID: i-vm", "X-Tenant-ID: ns", "X-Instance-ID-Signature: "+signature("proxy-key", "i-vm")
	with := func(name string, want int, fields ...string) proxied { return proxied{name, fields, want} }
	out := []proxied{
		with("as it must be", 200, id, tenant, sig),
		with("with the guest's address", 200, id, tenant, sig, "X-Forwarded-For: 10.0.0.1"),
		with("in lower case", 200, strings.ToLower(id), "x-tenant-id: ns", "x-instance-id-signature: "+signature("proxy-key", "i-vm")),
		with("in another order", 200, sig, tenant, id),
		with("with blanks around", 200, "X-Instance-ID:   i-vm  ", tenant, sig),
		with("nothing", 404), with("no id", 404, tenant, sig), with("no tenant", 404, id, sig), with("no signature", 404, id, tenant),
		with("id alone", 404, id), with("signature alone", 404, sig), with("tenant alone", 404, tenant),
		with("empty id", 404, "X-Instance-ID:", tenant, "X-Instance-ID-Signature: "+signature("proxy-key", "")),
		with("empty tenant", 404, id, "X-Tenant-ID:", sig), with("empty signature", 404, id, tenant, "X-Instance-ID-Signature:"),
		with("two ids", 404, id, id, tenant, sig), with("two tenants", 404, id, tenant, tenant, sig), with("two signatures", 404, id, tenant, sig, sig),
		with("ids of two", 404, id, "X-Instance-ID: i-other", tenant, sig), with("the second id signed", 404, "X-Instance-ID: i-other", id, tenant, sig),
		with("tenants of two", 404, id, "X-Tenant-ID: other", tenant, sig), with("a list of ids", 404, "X-Instance-ID: i-vm, i-other", tenant, sig),
		with("a list of tenants", 404, id, "X-Tenant-ID: ns, other", sig), with("a list of signatures", 404, id, tenant, sig+", "+signature("proxy-key", "i-vm")),
		with("another's tenant", 404, id, "X-Tenant-ID: other", sig), with("the tenant in capitals", 404, id, "X-Tenant-ID: NS", sig),
		with("the id in capitals", 404, "X-Instance-ID: I-VM", tenant, sig), with("another's id", 404, "X-Instance-ID: i-other", tenant, sig),
		with("another's signature", 404, id, tenant, "X-Instance-ID-Signature: "+signature("proxy-key", "i-other")),
		with("unknown id, signed", 404, "X-Instance-ID: i-none", tenant, "X-Instance-ID-Signature: "+signature("proxy-key", "i-none")),
		with("known id, other tenant's machine, signed", 404, "X-Instance-ID: i-foreign", tenant, "X-Instance-ID-Signature: "+signature("proxy-key", "i-foreign")),
		with("signature in capitals", 404, id, tenant, strings.ToUpper(sig)), with("signature cut", 404, id, tenant, sig[:len(sig)-1]),
		with("signature longer", 404, id, tenant, sig+"0"), with("signature of another key", 404, id, tenant, "X-Instance-ID-Signature: "+signature("other-key", "i-vm")),
		with("signature of the empty key", 404, id, tenant, "X-Instance-ID-Signature: "+signature("", "i-vm")),
		with("signature of the tenant", 404, id, tenant, "X-Instance-ID-Signature: "+signature("proxy-key", "ns")),
		with("the key as signature", 404, id, tenant, "X-Instance-ID-Signature: proxy-key"), with("zeros", 404, id, tenant, "X-Instance-ID-Signature: "+strings.Repeat("0", 64)),
		with("underscores", 404, "X_Instance_ID: i-vm", "X_Tenant_ID: ns", "X_Instance_ID_Signature: "+signature("proxy-key", "i-vm")),
		with("the other provider", 404, "X-Instance-ID: i-vm", "X-Instance-Tenant-ID: ns", sig), with("control character", 404, "X-Instance-ID: i-vm\x7f", tenant, sig),
		with("in base64", 404, id, tenant, "X-Instance-ID-Signature: "+base64.StdEncoding.EncodeToString(sign(secret.New("proxy-key"), "i-vm"))),
	}
	return out
}

// TestProxy is OpenStack's way: what a proxy has signed is believed, and nothing else. Every denial is that of a path that
// does not exist, and the log has neither the key nor any signature.
func TestProxy(t *testing.T) {
	var log lockedBuffer
	p := NewProxy(secret.New("proxy-key"))
	foreign := allSeed("foreign", seed.TokensOptional)
	foreign.Machine.Namespace = "other"
	p.Set(mustSite(t, allSeed("vm", seed.TokensOptional)), mustSite(t, allSeed("other", seed.TokensOptional)), mustSite(t, foreign))
	h := NewHandler(Config{Identify: p.Identify, Proxied: true, Log: slog.New(slog.NewTextHandler(&log, nil)), Limits: Limits{Rate: -1}})
	addr := serve(t, h)
	resp, body := raw(t, addr, request("GET", "/nothing", "X-Instance-ID: i-vm", "X-Tenant-ID: ns", "X-Instance-ID-Signature: "+signature("proxy-key", "i-vm")))
	nothing := whole(t, resp, body)
	cases := proxyCases()
	if t.Logf("%d cases", len(cases)); len(cases) < 40 {
		t.Error("too few")
	}
	for _, c := range cases {
		for _, path := range []string{"/latest/user-data", "/openstack/latest/user_data"} {
			resp, body := raw(t, addr, request("GET", path, c.fields...))
			switch got := whole(t, resp, body); {
			case c.name == "control character" && resp.StatusCode == http.StatusBadRequest: // net/http's own answer
			case resp.StatusCode != c.want:
				t.Errorf("%s: %s, want %d", c.name, resp.Status, c.want)
			case c.want == 200 && (!strings.HasSuffix(body, " of vm") || resp.Header.Get("Cache-Control") != "no-store"):
				t.Errorf("%s: %q", c.name, body)
			case c.want == 404 && got != nothing:
				t.Errorf("%s: a denial that shows:\n%s\nwant\n%s", c.name, got, nothing)
			}
		}
	}
	// An empty key signs for nobody.
	none := NewProxy(secret.Text{})
	none.Set(mustSite(t, allSeed("vm", seed.TokensOptional)))
	r := httptest.NewRequest("GET", "/latest/user-data", nil)
	for name, value := range map[string]string{"X-Instance-ID": "i-vm", "X-Tenant-ID": "ns", "X-Instance-ID-Signature": signature("", "i-vm")} {
		r.Header.Set(name, value)
	}
	if none.Identify(r) != nil {
		t.Error("an empty key is a key")
	}
	// The address that the proxy writes does not refuse a session; more than one is somebody else's.
	for xff, want := range map[string]int{"X-Forwarded-For: 10.0.0.1": 200, "X-Forwarded-For: fd00::1": 200, "X-Forwarded-For: 10.0.0.1, 10.0.0.2": 403,
		"X-Forwarded-For: x": 403, "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-For: 10.0.0.1": 403, "X_Forwarded_For: 10.0.0.1": 403, "Forwarded: for=10.0.0.1": 403} {
		resp, _ := raw(t, addr, request("PUT", "/latest/api/token", append([]string{ttl("60"), xff}, cases[0].fields...)...))
		if resp.StatusCode != want {
			t.Errorf("a token with %q: %s, want %d", xff, resp.Status, want)
		}
	}
	text := log.String()
	if !strings.Contains(text, "machine=ns/vm") || strings.Count(text, "\n") < 2*len(cases) {
		t.Errorf("the log has %d lines", strings.Count(text, "\n"))
	}
	for _, id := range []string{"i-vm", "i-other", "i-foreign", "i-none", ""} {
		for _, key := range []string{"proxy-key", ""} {
			if s := signature(key, id); strings.Contains(strings.ToLower(text), s[:20]) {
				t.Errorf("the log has the signature of %q", id)
			}
		}
	}
	if strings.Contains(text, "proxy-key") {
		t.Error("the log has the key")
	}
}

// TestDirectories: a signed path is a machine's whose address is not known, and no other path is.
func TestDirectories(t *testing.T) {
	var log lockedBuffer
	d := NewDirectories(secret.New("directory-key"))
	vm, other := mustSite(t, allSeed("vm", seed.TokensRequired)), mustSite(t, allSeed("other", seed.TokensRequired))
	known := mustSite(t, allSeed("known", seed.TokensRequired))
	d.Set(vm, other, known)
	table := new(Table)
	h := NewHandler(Config{Identify: table.Identify, Directories: d, Log: slog.New(slog.NewTextHandler(&log, nil)), Limits: Limits{Rate: -1}})
	addr := serve(t, h)
	dir, ign := "/"+d.Path("nocloud", vm.Machine()), "/"+d.Path("ignition", vm.Machine())
	capability := strings.Split(dir, "/")[2]
	flipped := capability[:len(capability)-1] + string(rune(capability[len(capability)-1]^1))
	for path, want := range map[string]string{
		dir + "user-data": "user-data of vm", dir + "meta-data": "meta-data of vm", ign + "config.ign": "config.ign of vm", dir: "meta-data\nnetwork-config\nuser-data\nvendor-data",
		dir + "nothing": "", "/nocloud/user-data": "", "/nocloud/ns_vm/user-data": "", "/nocloud/ns_vm./user-data": "",
		"/nocloud/" + flipped + "/user-data":                                                       "",
		"/nocloud/" + strings.Replace(capability, "ns_vm", "ns_other", 1) + "/user-data":           "",
		"/nocloud/" + strings.ToUpper(capability) + "/user-data":                                   "",
		"/nocloud/" + capability + "=/user-data":                                                   "",
		"/latest/" + capability + "/user-data":                                                     "",
		"/openstack/" + capability + "/latest/user_data":                                           "",
		"/nocloud/x/" + capability + "/user-data":                                                  "",
		"/" + capability + "/nocloud/user-data":                                                    "",
		"//nocloud/" + capability + "/user-data":                                                   "",
		"/nocloud%2f" + capability + "/user-data":                                                  "",
		"/nocloud/" + NewDirectories(secret.New("x")).Path("", vm.Machine())[1:] + "user-data":     "",
		"/nocloud/" + NewDirectories(secret.Text{}).Path("", vm.Machine())[1:] + "user-data":       "",
		"/nocloud/" + d.Path("", seed.Name{Namespace: "ns", Name: "none"})[1:] + "user-data":       "",
		"/nocloud/" + capability + "/../" + d.Path("", other.Machine())[1:] + "user-data":          "",
		"/nocloud/" + capability + "/../ns_other/user-data":                                        "",
		"http://169.254.169.254" + dir + "user-data?x=" + strings.Split(dir, "/")[2] + "#fragment": "user-data of vm",
	} {
		resp, body := raw(t, addr, request("GET", path))
		if want == "" && resp.StatusCode != http.StatusNotFound || want != "" && (resp.StatusCode != http.StatusOK || body != want) {
			t.Errorf("%s: %s %q, want %q", path, resp.Status, body, want)
		}
	}
	// Who is known by the address keeps to its own.
	table.Set(addresses(known))
	for path, want := range map[string]int{dir + "user-data": 404, "/" + d.Path("nocloud", known.Machine()) + "user-data": 200, "/nocloud/user-data": 200} {
		if resp, body := raw(t, addr, request("GET", path)); resp.StatusCode != want || want == 200 && body != "user-data of known" {
			t.Errorf("from a known address, %s: %s %q, want %d", path, resp.Status, body, want)
		}
	}
	// A sealed machine is sealed on this way too, and one that is gone is nobody.
	table.Set(nil)
	vm.Seal()
	if resp, body := raw(t, addr, request("GET", dir+"user-data")); resp.StatusCode != 200 || body != "" {
		t.Errorf("sealed: %s %q", resp.Status, body)
	}
	d.Set(other)
	if resp, _ := raw(t, addr, request("GET", dir+"meta-data")); resp.StatusCode != 404 {
		t.Errorf("gone: %s", resp.Status)
	}
	none := NewDirectories(secret.Text{})
	none.Set(other)
	if site, _, _ := none.resolve(nil, none.Path("nocloud", other.Machine())+"user-data", true); site != nil {
		t.Error("an empty key is a key")
	}
	for _, m := range []seed.Name{vm.Machine(), other.Machine(), known.Machine()} {
		if strings.Contains(log.String(), d.signature(m)[:20]) {
			t.Errorf("the log has the signature of %v", m)
		}
	}
}

// TestTable: addresses are those of the connection, with zones, and IPv4 is IPv4 however the socket has it.
func TestTable(t *testing.T) {
	a, b, c := mustSite(t, ec2Seed("a", "")), mustSite(t, ec2Seed("b", "")), mustSite(t, ec2Seed("c", ""))
	table := new(Table)
	ask := func(remote string) *Site {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = remote
		return table.Identify(r)
	}
	if ask("192.0.2.1:80") != nil {
		t.Error("the empty table knows somebody")
	}
	table.Set(map[netip.Addr]*Site{netip.MustParseAddr("::ffff:192.0.2.1"): a, netip.MustParseAddr("fe80::1%tap0"): b, netip.MustParseAddr("fd00::1"): c})
	for remote, want := range map[string]*Site{"192.0.2.1:80": a, "[::ffff:192.0.2.1]:80": a, "[fe80::1%tap0]:80": b, "[fe80::1%tap1]:80": nil, "[fe80::1]:80": nil,
		"[fd00::1]:80": c, "[fd00::1%tap0]:80": nil, "192.0.2.2:80": nil, "@": nil, "": nil, "pipe": nil} {
		if got := ask(remote); got != want {
			t.Errorf("%s is %v", remote, got)
		}
	}
}

// TestAmbiguous: an address, an instance id or a name that two machines have leads to neither of them.
func TestAmbiguous(t *testing.T) {
	a, b := mustSite(t, allSeed("a", "")), mustSite(t, allSeed("b", ""))
	table := new(Table)
	for range 20 { // the order of a map is not the same each time
		table.Set(map[netip.Addr]*Site{netip.MustParseAddr("192.0.2.1"): a, netip.MustParseAddr("::ffff:192.0.2.1"): b, netip.MustParseAddr("192.0.2.2"): b,
			netip.MustParseAddr("::ffff:192.0.2.2"): b})
		r := httptest.NewRequest("GET", "/", nil)
		if r.RemoteAddr = "192.0.2.1:80"; table.Identify(r) != nil {
			t.Fatal("the address of two machines is one machine's")
		}
		if r.RemoteAddr = "192.0.2.2:80"; table.Identify(r) != b {
			t.Fatal("an address that one machine has twice is not its own")
		}
	}
	copied := allSeed("copy", "")
	copied.Identity.InstanceID = "i-a"
	twin, third := mustSite(t, copied), mustSite(t, copied)
	p := NewProxy(secret.New("proxy-key"))
	ask := func(id string) *Site {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-Instance-ID", id)
		r.Header.Set("X-Tenant-ID", "ns")
		r.Header.Set("X-Instance-ID-Signature", signature("proxy-key", id))
		return p.Identify(r)
	}
	if p.Set(a, b, twin, third); ask("i-a") != nil || ask("i-b") != b {
		t.Error("the instance id of two machines is one machine's")
	}
	if p.Set(a, a); ask("i-a") != a {
		t.Error("a machine that is given twice is not known")
	}
}

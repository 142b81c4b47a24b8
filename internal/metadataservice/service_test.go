package metadataservice

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed"
	datasources "github.com/vmseed/vmseed/datasource/all"
	"github.com/vmseed/vmseed/diag"
	frontends "github.com/vmseed/vmseed/frontend/all"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// site is a service over a file of definitions, with the addresses of the loopback network as those of machines.
type site struct {
	*Service
	t    *testing.T
	file string
	url  string
	// proxied is the URL for proxies.
	proxied string
	log     *lockedBuffer
	heard   chan report.Event
}

// lockedBuffer is a log that is written and read at once.
type lockedBuffer struct {
	mutex sync.Mutex
	b     bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.b.String()
}

// open starts a service for a text of definitions.
func open(t *testing.T, text string, change func(*Options)) *site {
	t.Helper()
	s := &site{t: t, file: filepath.Join(t.TempDir(), "vms.yaml"), log: &lockedBuffer{}, heard: make(chan report.Event, 100)}
	write(t, s.file, text)
	s.start(change)
	return s
}

// start starts a service, a second time as after a restart.
func (s *site) start(change func(*Options)) {
	s.t.Helper()
	if s.Service != nil {
		if err := s.Close(); err != nil {
			s.t.Fatal(err)
		}
	}
	engine := &vmseed.Engine{Frontends: frontends.Frontends(), DataSources: datasources.DataSources()}
	o := Options{Engine: engine, Files: []string{s.file}, Log: slog.New(slog.NewTextHandler(s.log, nil)), Interval: time.Hour,
		Hear: func(e report.Event) { s.heard <- e }}
	o.Source = func(ctx context.Context) ([]machine.Machine, diag.List, error) {
		data, err := os.ReadFile(s.file)
		if err != nil {
			return nil, nil, err
		}
		machines, l := engine.Load(ctx, []vmseed.Input{{File: "vms.yaml", Data: data}}, vmseed.LoadOptions{})
		for i := range machines {
			var problems diag.List
			machines[i], problems = engine.Place(machines[i], machine.Facts{})
			l = append(l, problems...)
		}
		return machines, l, nil
	}
	if change != nil {
		change(&o)
	}
	service, l, err := New(s.t.Context(), o)
	if err != nil || l.HasErrors() {
		s.t.Fatal(l, err)
	}
	s.Service = service
	s.t.Cleanup(func() { _ = service.Close() })
	s.url = s.serve(service.Serve)
	if !o.ProxySecret.IsZero() {
		s.proxied = s.serve(service.ServeProxies)
	}
}

// serve serves until the test ends, or the returned stop is called.
func (s *site) serve(serve func(context.Context, net.Listener) error) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, l) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
	return "http://" + l.Addr().String() + "/"
}

// client asks from an address.
func client(from string) *http.Client {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	return &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}}
}

// get returns status and body of an answer.
func (s *site) get(from, path string, headers ...string) (int, string) {
	s.t.Helper()
	return s.ask(from, http.MethodGet, s.url+strings.TrimPrefix(path, "/"), "", headers...)
}

func (s *site) ask(from, method, url, body string, headers ...string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	answer, err := client(from).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// wants asks and compares.
func (s *site) wants(from, path string, status int, holds string, headers ...string) {
	s.t.Helper()
	if got, text := s.get(from, path, headers...); got != status || !strings.Contains(text, holds) {
		s.t.Errorf("%s asks for %s: %d, %q; want %d with %q", from, path, got, text, status, holds)
	}
}

// define makes the definition of a machine.
func define(name string, lines ...string) string {
	text := "---\napiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: " + name + "}\nspec:\n  identity: {hostname: " + name + ".example.org}\n"
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	return text
}

// at gives machines addresses.
func at(t *testing.T, texts ...string) func(*Options) {
	return func(o *Options) {
		for _, text := range texts {
			a, err := ParseAssignment("--address", text)
			if err != nil {
				t.Fatal(err)
			}
			o.Addresses = append(o.Addresses, a)
		}
	}
}

// TestProtocols serves each machine what it asks for, and nobody anything else.
func TestProtocols(t *testing.T) {
	s := open(t, define("all")+define("ec2", "dataSource: ec2")+define("os", "dataSource: openstack")+define("nc", "dataSource: nocloud-net")+
		define("cd", "dataSource: configdrive")+define("strict", "metadataOptions: {httpTokens: required}")+
		define("ign", "dataSource: ignition")+define("both", `ignition: [{data: '{"ignition": {"version": "3.4.0"}}'}]`),
		at(t, "all=127.0.0.1", "ec2=127.0.0.2", "os=127.0.0.3", "nc=127.0.0.4", "cd=127.0.0.5", "strict=127.0.0.6", "ign=127.0.0.7", "both=127.0.0.8"))
	paths := map[string]string{"ec2": "/latest/meta-data/local-hostname", "openstack": "/openstack/latest/meta_data.json",
		"nocloud": "/nocloud/meta-data", "ignition": "/ignition/config.ign"}
	for from, want := range map[string]map[string]int{
		"127.0.0.1": {"ec2": 200, "openstack": 200, "nocloud": 200, "ignition": 404},
		"127.0.0.2": {"ec2": 401, "openstack": 404, "nocloud": 404, "ignition": 404},
		"127.0.0.3": {"ec2": 200, "openstack": 200, "nocloud": 404, "ignition": 404}, // with the few paths of EC2 that its guests read
		"127.0.0.4": {"ec2": 404, "openstack": 404, "nocloud": 200, "ignition": 404},
		"127.0.0.5": {"ec2": 200, "openstack": 200, "nocloud": 404, "ignition": 404},
		"127.0.0.6": {"ec2": 401, "openstack": 404, "nocloud": 404, "ignition": 404},
		"127.0.0.7": {"ec2": 404, "openstack": 404, "nocloud": 404, "ignition": 200},
		"127.0.0.8": {"ec2": 200, "openstack": 200, "nocloud": 200, "ignition": 200},
		"127.0.0.9": {"ec2": 404, "openstack": 404, "nocloud": 404, "ignition": 404},
	} {
		for protocol, status := range want {
			if got, text := s.get(from, paths[protocol]); got != status {
				t.Errorf("%s reads %s: %d, %q", from, protocol, got, text)
			}
		}
	}
	s.wants("127.0.0.1", paths["ec2"], 200, "all")
	s.wants("127.0.0.3", paths["openstack"], 200, `"os`)
	s.wants("127.0.0.5", paths["openstack"], 200, `"cd`)
	// The whole tree of EC2 wins over OpenStack's small one, and needs no token there.
	s.wants("127.0.0.1", "/2021-03-23/meta-data/", 200, "placement/")
	if status, token := s.ask("127.0.0.2", http.MethodPut, s.url+"latest/api/token", "", "X-aws-ec2-metadata-token-ttl-seconds", "60"); status != 200 {
		t.Errorf("no token: %d", status)
	} else {
		s.wants("127.0.0.2", paths["ec2"], 200, "ec2", "X-aws-ec2-metadata-token", token)
		s.wants("127.0.0.6", paths["ec2"], 401, "", "X-aws-ec2-metadata-token", token)
	}
	if log := s.log.String(); strings.Count(log, "address=127.0.0.9") != 1 {
		t.Errorf("the log has %s", log)
	}
}

// TestNotServed says which machines cannot be.
func TestNotServed(t *testing.T) {
	s := open(t, define("web")+define("disk", "dataSource: none"), at(t, "web=127.0.0.1"))
	if m := s.Machines(); len(m) != 1 || m[0].Name != "web" || fmt.Sprint(m[0].Addresses, m[0].Protocols) != "[127.0.0.1] [ec2 openstack nocloud]" {
		t.Errorf("%+v", m)
	}
	if r := s.Reload(t.Context()); r.Failed() || !slices.ContainsFunc(r.Diagnostics, func(d diag.Diagnostic) bool { return d.Code == CodeNotServed }) {
		t.Errorf("%+v, %v", r, []diag.Diagnostic(r.Diagnostics))
	}
}

// TestReload goes on with the old answers while a file is broken, and never serves some of both.
func TestReload(t *testing.T) {
	text := func(n int) string {
		return define("web", fmt.Sprintf("userData: {layers: [{data: \"#!/bin/sh\\necho round %d\\n\"}]}", n), fmt.Sprintf("identity: {hostname: web%d, revision: %d}", n, n))
	}
	fix := func(s string) string { return strings.Replace(s, "  identity: {hostname: web.example.org}\n", "", 1) }
	s := open(t, fix(text(1)), func(o *Options) {
		at(t, "web=127.0.0.1")(o)
		o.Silent, o.Interval = true, time.Millisecond
		o.Limits.Rate = -1
	})
	s.wants("127.0.0.1", "/latest/user-data", 200, "round 1")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reloads := make(chan Reloaded, 10)
	var watching sync.WaitGroup
	now := make(chan struct{})
	watching.Go(func() { s.Watch(ctx, s.o.Files, now, func(r Reloaded) { reloads <- r }) })
	next := func() Reloaded {
		t.Helper()
		select {
		case r := <-reloads:
			return r
		case <-time.After(patience):
			t.Fatal("nothing is reloaded")
		}
		return Reloaded{}
	}
	for name, broken := range map[string]string{"no YAML": "spec: [", "an error": define("web", "users: 7"), "nothing": "",
		"the address of another":                      define("web") + define("db", "network: {nics: [{name: eth0, addresses: [192.0.2.1/24]}, {name: eth1, addresses: [192.0.2.1/24]}]}") + define("x", "network: {nics: [{name: eth0, addresses: [192.0.2.1/24]}]}"),
		"a machine of that name in another namespace": define("web") + strings.Replace(define("web"), "name: web}", "name: web, namespace: prod}", 1)} {
		write(t, s.file, broken)
		if r := next(); !r.Failed() || r.Machines != 1 || r.Wished {
			t.Errorf("%s: %+v", name, r)
		}
		s.wants("127.0.0.1", "/latest/user-data", 200, "round 1")
	}
	if err := os.Remove(s.file); err != nil {
		t.Fatal(err)
	}
	if r := next(); r.Err == nil || r.Machines != 1 {
		t.Errorf("without the file: %+v", r)
	}
	now <- struct{}{}
	if r := next(); r.Err == nil || !r.Wished {
		t.Errorf("on demand: %+v", r)
	}
	for n := 2; n < 5; n++ {
		write(t, s.file, fix(text(n)))
		if r := next(); r.Failed() {
			t.Errorf("%+v", r)
		}
		s.wants("127.0.0.1", "/latest/user-data", 200, fmt.Sprintf("round %d", n))
		s.wants("127.0.0.1", "/latest/meta-data/local-hostname", 200, fmt.Sprintf("web%d", n))
	}
	stop()
	watching.Wait()
	metrics := s.metrics()
	for _, want := range []string{`vmseed_metadata_reloads_total{result="failure"} 7`, `vmseed_metadata_reloads_total{result="success"} 4`, "vmseed_metadata_last_reload_successful 1"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s:\n%s", want, metrics)
		}
	}
}

// metrics is what Prometheus reads.
func (s *site) metrics() string {
	s.t.Helper()
	w := &page{header: http.Header{}}
	r, err := http.NewRequest(http.MethodGet, "/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.o.Metrics.Handler().ServeHTTP(w, r)
	return w.String()
}

// page is an answer in memory.
type page struct {
	bytes.Buffer
	header http.Header
}

func (p *page) Header() http.Header { return p.header }
func (p *page) WriteHeader(int)     {}

// TestReloadRace answers everybody while machines come, change and go.
func TestReloadRace(t *testing.T) {
	text := func(n int) string {
		out := define("web", fmt.Sprintf("userData: {layers: [{data: \"#!/bin/sh\\n%s\\n\"}]}", strings.Repeat(fmt.Sprint(n%10), 4000)))
		if n%2 == 0 {
			out += define("other")
		}
		return out
	}
	s := open(t, text(0), func(o *Options) {
		at(t, "web=127.0.0.1")(o)
		o.Silent, o.Limits.Rate = true, -1
	})
	var asking sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range 4 {
		asking.Go(func() {
			for ctx.Err() == nil {
				status, body := s.get("127.0.0.1", "/nocloud/user-data")
				_, digits, _ := strings.Cut(strings.TrimSpace(body), "\n")
				if status != 200 || len(digits) != 4000 || strings.Trim(digits, digits[:1]) != "" {
					t.Errorf("%d, %.100q", status, body)
					return
				}
			}
		})
	}
	for n := range 30 {
		write(t, s.file, text(n))
		if r := s.Reload(t.Context()); r.Failed() {
			t.Error(r)
		}
	}
	stop()
	asking.Wait()
}

// TestLeasedAddress knows a guest as soon as its lease is written, without waiting for the next look at the file.
func TestLeasedAddress(t *testing.T) {
	leases := filepath.Join(t.TempDir(), "virbr0.status")
	s := open(t, define("web", `network: {nics: [{name: eth0, mac: "52:54:00:aa:00:01", dhcp4: true}]}`)+define("db", `network: {nics: [{name: eth0, mac: "52:54:00:aa:00:02", dhcp4: true}]}`),
		func(o *Options) { o.Leases = []string{leases} })
	s.wants("127.0.0.11", "/latest/meta-data/hostname", 404, "")
	write(t, leases, `[{"ip-address": "127.0.0.11", "mac-address": "52:54:00:aa:00:01", "expiry-time": 0}]`)
	s.wants("127.0.0.11", "/latest/meta-data/hostname", 200, "web")
	// An address that another guest gets is its own from then on.
	write(t, leases, `[{"ip-address": "127.0.0.11", "mac-address": "52:54:00:aa:00:02", "expiry-time": 0}]`)
	s.refreshLeases(time.Now())
	s.wants("127.0.0.11", "/latest/meta-data/hostname", 200, "db")
	write(t, leases, `[{"ip-address": "127.0.0.11", "mac-address": "52:54:00:aa:00:02", "expiry-time": 1700000000}]`)
	s.refreshLeases(time.Now())
	s.wants("127.0.0.11", "/latest/meta-data/hostname", 404, "")
}

// TestSignedPath serves a machine whose address nobody knows, also after a restart, and nobody who has no path or another's.
func TestSignedPath(t *testing.T) {
	state := t.TempDir()
	change := func(o *Options) {
		at(t, "db=127.0.0.2")(o)
		o.StateDir, o.Base = state, "http://192.0.2.1:8775/"
	}
	s := open(t, define("web")+define("db")+define("ign", "dataSource: ignition"), change)
	path := func(i int, protocol string) string {
		for _, told := range s.Machines()[i].Told {
			if told.Protocol == protocol {
				text := fmt.Sprint(reveal(told))
				_, path, _ := strings.Cut(text, "http://192.0.2.1:8775/")
				path, _, _ = strings.Cut(path, " ")
				return strings.Trim(path, "]")
			}
		}
		return ""
	}
	web, ign := path(0, "nocloud"), path(2, "ignition")
	for range 2 {
		s.wants("127.0.0.9", web+"meta-data", 200, "web")
		s.wants("127.0.0.9", ign, 200, `"ignition"`)
		s.wants("127.0.0.9", "nocloud/meta-data", 404, "")
		s.wants("127.0.0.9", strings.Replace(web, "default_web", "default_db", 1)+"meta-data", 404, "")
		s.wants("127.0.0.2", web+"meta-data", 404, "") // who is known is nobody else
		s.start(change)
	}
}

func reveal(t Told) (out []string) {
	for _, row := range t.SMBIOS {
		out = append(out, row.Value.Reveal())
	}
	for _, arg := range t.KernelArgs {
		out = append(out, arg.Reveal())
	}
	return out
}

// TestProxy knows machines by a signature on a listener of its own, and there alone.
func TestProxy(t *testing.T) {
	s := open(t, define("web"), func(o *Options) { o.ProxySecret = secret.New("a shared secret") })
	id := s.Machines()[0].InstanceID
	sum := hmac.New(sha256.New, []byte("a shared secret"))
	_, _ = sum.Write([]byte(id))
	headers := []string{"X-Instance-ID", id, "X-Tenant-ID", "default", "X-Instance-ID-Signature", hex.EncodeToString(sum.Sum(nil))}
	if status, text := s.ask("127.0.0.1", http.MethodGet, s.proxied+"openstack/latest/meta_data.json", "", headers...); status != 200 || !strings.Contains(text, id) {
		t.Errorf("%d, %s", status, text)
	}
	if status, _ := s.ask("127.0.0.1", http.MethodGet, s.proxied+"openstack/latest/meta_data.json", "", headers[:4]...); status != 404 {
		t.Errorf("without a signature: %d", status)
	}
	s.wants("127.0.0.1", "openstack/latest/meta_data.json", 404, "", headers...)
}

// webhook is the path at which a guest reports.
func (s *site) webhook(from string) string {
	s.t.Helper()
	_, text := s.get(from, "nocloud/vendor-data")
	_, path, ok := strings.Cut(text, "http://{base}/")
	path, _, _ = strings.Cut(path, "/webhook")
	if !ok {
		s.t.Fatalf("no URL in %s", text)
	}
	return path + "/webhook"
}

// say posts an event as cloud-init does.
func (s *site) say(from, path string, want int, name, result string) {
	s.t.Helper()
	text, err := json.Marshal(map[string]string{"name": name, "description": "running config-scripts-user with frequency once-per-instance",
		"event_type": "finish", "origin": "cloudinit", "result": result})
	if err != nil {
		s.t.Fatal(err)
	}
	if status, answer := s.ask(from, http.MethodPost, s.url+path, string(text)); status != want {
		s.t.Errorf("%s says %s: %d, %s", from, name, status, answer)
	}
}

// next is the next event that the service passes on.
func (s *site) next() report.Event {
	s.t.Helper()
	select {
	case e := <-s.heard:
		return e
	case <-time.After(patience):
		s.t.Fatal("nothing is heard")
	}
	return report.Event{}
}

// TestPassword takes the password of a guest once for each instance, and shows it to its owner also after a restart.
func TestPassword(t *testing.T) {
	state := t.TempDir()
	change := func(o *Options) {
		at(t, "win=127.0.0.1", "other=127.0.0.2")(o)
		o.StateDir = state
	}
	s := open(t, define("win", "dataSource: openstack")+define("other", "dataSource: openstack"), change)
	post := func(want int, password string) {
		t.Helper()
		if status, _ := s.ask("127.0.0.1", http.MethodPost, s.url+"openstack/latest/password", password); status != want {
			t.Errorf("%s is answered %d", password, status)
		}
	}
	post(200, "ZW5jcnlwdGVk")
	for range 2 {
		post(409, "YW5vdGhlcg==")
		if m := s.Machines(); m[0].Posted.Reveal() != "ZW5jcnlwdGVk" || !m[1].Posted.IsZero() {
			t.Errorf("%q, %q", m[0].Posted.Reveal(), m[1].Posted.Reveal())
		}
		s.wants("127.0.0.1", "openstack/latest/password", 200, "ZW5jcnlwdGVk")
		s.wants("127.0.0.2", "openstack/latest/password", 200, "")
		s.start(change)
	}
	if strings.Contains(s.log.String(), "ZW5jcnlwdGVk") {
		t.Errorf("the log has %s", s.log.String())
	}
	write(t, s.file, strings.Replace(define("win", "dataSource: openstack"), "org}", "org, revision: 1}", 1)+define("other"))
	if r := s.Reload(t.Context()); r.Failed() {
		t.Error(r)
	}
	post(200, "YW5vdGhlcg==")
}

// TestReports hears a first boot, seals the machine that wants it, and remembers both.
func TestReports(t *testing.T) {
	state := t.TempDir()
	change := func(o *Options) {
		at(t, "web=127.0.0.1", "db=127.0.0.2")(o)
		o.StateDir, o.Base = state, "http://{base}/"
	}
	user := "userData: {layers: [{data: \"#!/bin/sh\\necho hello\\n\"}]}"
	s := open(t, define("web", user, "metadataOptions: {seal: true}")+define("db", user), change)
	web, db, say := s.webhook("127.0.0.1"), s.webhook("127.0.0.2"), s.say
	say("127.0.0.2", web, 404, "init-network", "SUCCESS") // another's
	say("127.0.0.1", web, 204, "init-network", "SUCCESS")
	if r := s.Reload(t.Context()); r.Failed() { // in the middle
		t.Error(r)
	}
	s.wants("127.0.0.1", "nocloud/user-data", 200, "echo hello")
	// Scripts run at a first boot alone, and cloud-init says so.
	say("127.0.0.1", web, 204, "modules-final/config-scripts-user", "SUCCESS")
	say("127.0.0.1", web, 204, "modules-final", "SUCCESS")
	say("127.0.0.2", db, 204, "modules-final/config-scripts-user", "FAIL")
	say("127.0.0.2", db, 204, "modules-final", "FAIL")
	ended := map[string]report.Stage{}
	for len(ended) < 2 {
		if e := s.next(); e.Stage.Ended() {
			ended[e.Machine] = e.Stage
		}
	}
	for _, want := range []string{`first_boots_total{result="success"} 1`, `first_boots_total{result="failure"} 1`} {
		if m := s.metrics(); !strings.Contains(m, want) {
			t.Errorf("the metrics lack %s:\n%s", want, m)
		}
	}
	if ended["default/web"] != report.Done || ended["default/db"] != report.Failed {
		t.Errorf("%v", ended)
	}
	for range 3 {
		if _, text := s.get("127.0.0.1", "nocloud/user-data"); strings.Contains(text, "hello") || !s.Machines()[0].Sealed {
			t.Errorf("a sealed machine reads %s", text)
		}
		s.wants("127.0.0.1", "nocloud/meta-data", 200, "web")
		s.wants("127.0.0.2", "nocloud/user-data", 200, "echo hello")
		say("127.0.0.1", web, 404, "init-network", "FAIL") // its first boot is over
		if r := s.Reload(t.Context()); r.Failed() {
			t.Error(r)
		}
		s.start(change)
	}
	// First boot is to run again, with what it needs.
	write(t, s.file, strings.Replace(define("web", user, "metadataOptions: {seal: true}"), "org}", "org, revision: 1}", 1)+define("db", user))
	if r := s.Reload(t.Context()); r.Failed() {
		t.Error(r)
	}
	s.wants("127.0.0.1", "nocloud/user-data", 200, "echo hello")
	say("127.0.0.1", web, 404, "init-network", "SUCCESS")
	say("127.0.0.1", s.webhook("127.0.0.1"), 204, "init-network", "SUCCESS")
}

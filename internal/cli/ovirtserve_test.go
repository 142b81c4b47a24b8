package cli

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// served is a daemon of ours that runs for a test.
type served struct {
	host, ca, password string
	client             *http.Client
}

var (
	saysAddress  = regexp.MustCompile(`serves https://(\S+?),`)
	saysPassword = regexp.MustCompile(`^\s*password: (\S+)$`)
)

// serveHere starts the daemon on a free port, as its user does.
func serveHere(t *testing.T) served {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	read, write := io.Pipe()
	a := &app{Streams: Streams{In: strings.NewReader(""), Out: write, Err: write}, engine: newEngine()}
	root := a.root()
	root.SetArgs([]string{"serve", "--state-dir", dir, "--listen", "127.0.0.1:0"})
	root.SetOut(write)
	root.SetErr(write)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := root.ExecuteContext(ctx)
		write.CloseWithError(io.EOF)
		done <- err
	}()
	s := served{ca: filepath.Join(dir, "pki", "ca.pem")}
	var said strings.Builder
	lines := bufio.NewScanner(read)
	for s.host == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if m := saysPassword.FindStringSubmatch(lines.Text()); m != nil {
			s.password = m[1]
		}
		if m := saysAddress.FindStringSubmatch(lines.Text()); m != nil {
			s.host = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("the daemon ends with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("the daemon does not end")
		}
	})
	if s.host == "" || s.password == "" {
		t.Fatalf("the daemon does not say where it is:\n%s", &said)
	}
	pem, err := os.ReadFile(s.ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: time.Minute}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// add makes a VM through oVirt's API, as its clients do.
func (s served) add(t *testing.T, vm string) {
	t.Helper()
	request := func(path, kind, body string, header http.Header) []byte {
		r, err := http.NewRequest(http.MethodPost, "https://"+s.host+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		r.Header.Set("Content-Type", kind)
		answer, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		data, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode >= 300 {
			t.Fatalf("%s: %s, %v\n%s", path, answer.Status, err, data)
		}
		return data
	}
	form := url.Values{"grant_type": {"password"}, "scope": {"ovirt-app-api"}, "username": {"admin@internal"}, "password": {s.password}}
	var token struct {
		Access string `json:"access_token"`
	}
	if err := json.Unmarshal(request("/ovirt-engine/sso/oauth/token", "application/x-www-form-urlencoded", form.Encode(), http.Header{"Accept": {"application/json"}}), &token); err != nil {
		t.Fatal(err)
	}
	request("/ovirt-engine/api/vms", "application/xml", vm, http.Header{"Accept": {"application/xml"}, "Authorization": {"Bearer " + token.Access}, "Version": {"4"}})
}

// TestOwnEngine moves a VM out of our own daemon by the way that leads out of oVirt's.
func TestOwnEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a daemon")
	}
	s := serveHere(t)
	s.add(t, `<vm><name>WEB_1</name><cluster><name>Default</name></cluster><template><name>Blank</name></template><memory>1073741824</memory>
<initialization><host_name>web.example.com</host_name><user_name>deploy</user_name><root_password>`+canary+`</root_password>
<custom_script>packages: [nginx]
runcmd:
  - [touch, /run/a]
</custom_script></initialization></vm>`)
	for _, name := range []string{"OVIRT_USERNAME", "OVIRT_TOKEN", "OVIRT_INSECURE"} {
		t.Setenv(name, "")
	}
	t.Setenv("OVIRT_CAFILE", s.ca)
	t.Setenv("OVIRT_PASSWORD", s.password)
	for _, address := range []string{"ovirt://" + s.host + "/WEB_1", "ovirt://admin@internal@" + s.host + "/WEB_1?cluster=Default"} {
		status, stdout, stderr := command(t, "", "convert", "--to", "kubevirt", address)
		if status != exitDone {
			t.Fatalf("status %d\n%s", status, stderr)
		}
		for _, want := range []string{"kind: VirtualMachine", "name: web-1\n", "packages: [nginx]", "- [touch, /run/a]", `guest: "1Gi"`} {
			if !strings.Contains(stdout, want) {
				t.Errorf("no %q in\n%s", want, stdout)
			}
		}
		// The daemon shows no password, so whoever moves the VM is told to state it anew.
		if !strings.Contains(stderr, "root_password: an engine shows ******") || !strings.Contains(stderr, "ovirt://"+s.host+"/WEB_1") {
			t.Errorf("%s", stderr)
		}
		if strings.Contains(stdout+stderr, canary) || strings.Contains(stdout+stderr, s.password) {
			t.Error("a password is said")
		}
	}
	if status, _, stderr := command(t, "", "check", "ovirt://"+s.host+"/web_1"); status != exitEnvironment || !strings.Contains(stderr, `no virtual machine "web_1"`) {
		t.Errorf("another case: status %d\n%s", status, stderr)
	}
	t.Setenv("OVIRT_PASSWORD", "wrong")
	if status, _, stderr := command(t, "", "check", "ovirt://"+s.host+"/WEB_1"); status != exitEnvironment || !strings.Contains(stderr, "does not let admin@internal in") {
		t.Errorf("a wrong password: status %d\n%s", status, stderr)
	}
}

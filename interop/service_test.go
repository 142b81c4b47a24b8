package interop

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	ovirtsdk "github.com/ovirt/go-ovirt"
)

// The limits bound what should take far less, so that only what hangs reaches them, however busy the machine is.
const (
	bootLimit   = 20 * time.Minute
	answerLimit = 5 * time.Minute
)

// service is a running vmseed serve with a state directory of its own.
type service struct {
	program, dir string
	// images is the image repository, domain the directory of the data domain iscsi_new.
	images, domain string
	args           []string
	address, url   string
	// ca is the certificate that clients trust, in PEM, and caFile a file that holds it.
	ca             []byte
	caFile         string
	user, password string
	cmd            *exec.Cmd
	// ended is closed when the process is gone.
	ended chan struct{}
	said  *transcript
}

// transcript keeps what a process prints.
type transcript struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

// Write takes what the process prints.
func (w *transcript) Write(p []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.text.Write(p)
}

// String is all of it.
func (w *transcript) String() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.text.String()
}

// serve builds the command and starts the daemon, which is ended with all of its VMs at the end of the test.
func serve(t testing.TB, images string, args ...string) *service {
	t.Helper()
	dir := t.TempDir()
	s := &service{program: filepath.Join(dir, "vmseed"), dir: filepath.Join(dir, "state"), images: images, domain: t.TempDir(), said: &transcript{}}
	build := exec.Command("go", "build", "-trimpath", "-o", s.program, "./cmd/vmseed")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if s.images == "" {
		s.images = t.TempDir()
	}
	s.address = freeAddress(t)
	s.url = "https://" + s.address
	s.caFile = filepath.Join(dir, "ca.pem")
	s.args = append([]string{"serve", "--state-dir", s.dir, "--listen", s.address, "--images", s.images,
		"--storage-domain", "iscsi_new=" + s.domain, "--accel", "tcg"}, args...)
	s.start(t)
	s.user = "admin@internal"
	said := regexp.MustCompile(`(?m)^password: (\S+)$`).FindStringSubmatch(s.said.String())
	if said == nil {
		t.Fatalf("vmseed serve does not print the first password:\n%s", s.said)
	}
	s.password = said[1]
	t.Cleanup(func() { s.end(t) })
	return s
}

// freeAddress is an address of this machine that nobody listens to.
func freeAddress(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts the daemon and waits until it answers. The certificate is fetched as an administrator does it, from the
// place where an engine has it, and from then on it is what the clients check the daemon against.
func (s *service) start(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command(s.program, s.args...)
	s.cmd.Stdout, s.cmd.Stderr = s.said, s.said
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	for deadline := time.Now().Add(answerLimit); ; time.Sleep(50 * time.Millisecond) {
		select {
		case <-ended:
			t.Fatalf("vmseed serve ends at once: %s\n%s", cmd.ProcessState, s.said)
		default:
		}
		response, err := client.Get(s.url + "/ovirt-engine/services/pki-resource?resource=ca-certificate&format=X509-PEM-CA")
		if err == nil {
			s.ca, err = io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK || err != nil {
				t.Fatalf("the CA's certificate: %s, %v\n%s", response.Status, err, s.ca)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("vmseed serve does not answer: %v\n%s", err, s.said)
		}
	}
	if err := os.WriteFile(s.caFile, s.ca, 0o600); err != nil {
		t.Fatal(err)
	}
}

// kill ends the daemon as a crash does. Its VMs run on.
func (s *service) kill(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
}

// end removes every VM, ends the daemon and looks for what it left behind.
func (s *service) end(t testing.TB) {
	if t.Failed() {
		s.explain(t)
	}
	func() {
		defer failPanic(t)
		connection := s.connect(t)
		vmsService := connection.SystemService().VmsService()
		for _, vm := range vmsService.List().MustSend().MustVms().Slice() {
			vmService := vmsService.VmService(vm.MustId())
			if vm.MustStatus() != ovirtsdk.VMSTATUS_DOWN {
				vmService.Stop().MustSend()
				awaitStatus(t, vmService, ovirtsdk.VMSTATUS_DOWN)
			}
		}
	}()
	_ = s.cmd.Process.Signal(os.Interrupt)
	select {
	case <-s.ended:
	case <-time.After(answerLimit):
		t.Error("vmseed serve does not end")
		_ = s.cmd.Process.Kill()
	}
	if left := processes(s.dir); len(left) > 0 {
		t.Errorf("processes are left behind:\n%s", strings.Join(left, "\n"))
	}
}

// explain logs what there is to know when something went wrong.
func (s *service) explain(t testing.TB) {
	t.Logf("--- vmseed serve ---\n%s", tail(s.said.String()))
	logs, _ := filepath.Glob(filepath.Join(s.dir, "vms", "*", "*.log"))
	for _, path := range logs {
		text, _ := os.ReadFile(path)
		t.Logf("--- %s ---\n%s", path, tail(string(text)))
	}
}

func tail(text string) string { return text[max(0, len(text)-6000):] }

// processes are those whose command line names something.
func processes(name string) []string {
	var found []string
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range entries {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte(name)) {
			found = append(found, fmt.Sprintf("%s: %s", filepath.Base(filepath.Dir(path)), bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return found
}

// connect logs in with the oVirt SDK.
func (s *service) connect(t testing.TB) *ovirtsdk.Connection {
	t.Helper()
	connection, err := ovirtsdk.NewConnectionBuilder().URL(s.url + "/ovirt-engine/api").
		Username(s.user).Password(s.password).CACert(s.ca).Timeout(answerLimit).Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := connection.Test(); err != nil {
		t.Fatal(err)
	}
	return connection
}

// client is for requests that no client library makes.
func (s *service) client(t testing.TB) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(s.ca) {
		t.Fatalf("no certificate:\n%s", s.ca)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: answerLimit}
}

// command is the command with the daemon as its host.
func (s *service) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.program, append([]string{args[0], "--host", s.url, "--ca", s.caFile}, args[1:]...)...)
	cmd.Env = append(os.Environ(), "VMSEED_USERNAME="+s.user, "VMSEED_PASSWORD="+s.password)
	return cmd
}

// await waits until something holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(bootLimit); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// awaitStatus waits until a VM has a status. A VM that is down will not come up by itself.
func awaitStatus(t testing.TB, vmService *ovirtsdk.VmService, want ovirtsdk.VmStatus) {
	t.Helper()
	var seen []string
	await(t, "status "+string(want), func() bool {
		status := vmService.Get().MustSend().MustVm().MustStatus()
		if len(seen) == 0 || seen[len(seen)-1] != string(status) {
			seen = append(seen, string(status))
		}
		if status == ovirtsdk.VMSTATUS_DOWN && want != status && len(seen) > 1 {
			t.Fatalf("on the way to %s the VM was %s", want, strings.Join(seen, ", "))
		}
		return status == want
	})
	t.Logf("the VM was %s", strings.Join(seen, ", "))
}

// failPanic makes a failure of a panic: the SDK's calls that begin with Must panic, and the other tests and the guests
// shall not go down with one.
func failPanic(t testing.TB) {
	if r := recover(); r != nil {
		t.Errorf("%v\n%s", r, debug.Stack())
	}
}

package interop

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

// webKey is the public key of a user of the machines.
const webKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKqrq6urq6urq6urq6urq6urq6urq6urq6urq6urq6ur operator@interop"

// twoMachines are served to stock readers. The first is read with session tokens only, the second as the reader likes.
const twoMachines = `apiVersion: vmseed.dev/v1alpha1
kind: Machine
metadata: {name: web, namespace: lab}
spec:
  dataSource: ec2
  identity:
    instanceID: i-0123456789abcdef0
    hostname: web
    domain: lab.example.org
    region: zh-lab-1
    availabilityZone: zh-lab-1a
    instanceType: m5.large
    tags: {Name: the web server}
  ssh:
    authorizedKeys: ["` + webKey + `"]
  hardware: {arch: amd64}
  userData:
    raw: true
    layers: ["#!/bin/sh\necho web\n"]
  network:
    nics:
    - {name: lan, mac: "52:54:00:12:34:56", addresses: [10.77.0.2/24], gateway4: 10.77.0.1}
---
apiVersion: vmseed.dev/v1alpha1
kind: Machine
metadata: {name: db, namespace: lab}
spec:
  dataSource: ec2
  identity: {instanceID: i-0fedcba9876543210, hostname: db}
  metadataOptions: {httpTokens: optional}
  userData:
    raw: true
    layers: ["#!/bin/sh\necho db\n"]
`

// metadataService is a running vmseed metadata.
type metadataService struct {
	cmd  *exec.Cmd
	said *transcript
}

// serveMetadata builds the command and starts it, by wrap in front of it if there is one, with the machines of a text; it is
// ended with the test.
func serveMetadata(t *testing.T, machines string, wrap []string, args ...string) *metadataService {
	t.Helper()
	dir := t.TempDir()
	program, file := filepath.Join(dir, "vmseed"), filepath.Join(dir, "machines.yaml")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/vmseed")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if err := os.WriteFile(file, []byte(machines), 0o600); err != nil {
		t.Fatal(err)
	}
	line := append(append(wrap, program, "metadata", file, "--state-dir", filepath.Join(dir, "state")), args...)
	s := &metadataService{cmd: exec.Command(line[0], line[1:]...), said: &transcript{}}
	s.cmd.Stdout, s.cmd.Stderr = s.said, s.said
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("vmseed metadata ends with %v", err)
			}
		case <-time.After(answerLimit):
			t.Error("vmseed metadata does not end")
			_ = s.cmd.Process.Kill()
		}
		if t.Failed() {
			t.Logf("--- vmseed metadata ---\n%s", tail(s.said.String()))
		}
	})
	return s
}

// awaitListener waits until somebody listens.
func awaitListener(t *testing.T, s *metadataService, address string) {
	t.Helper()
	for deadline := time.Now().Add(answerLimit); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("vmseed metadata does not answer: %v\n%s", err, s.said)
		}
	}
}

// guestTransport speaks from an address of this machine, as a guest would from its own, and counts.
type guestTransport struct {
	http.Transport
	// forwarded is sent as X-Forwarded-For, as a proxy on the way would.
	forwarded                  string
	tokens, bare, unauthorised atomic.Int64
}

func fromAddress(address string) *guestTransport {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &guestTransport{Transport: http.Transport{DialContext: d.DialContext}}
}

// RoundTrip counts session tokens, reads without one, and refusals.
func (g *guestTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.forwarded != "" {
		r.Header.Set("X-Forwarded-For", g.forwarded)
	}
	switch {
	case r.Method == http.MethodPut:
		g.tokens.Add(1)
	case r.Header.Get("X-aws-ec2-metadata-token") == "":
		g.bare.Add(1)
	}
	response, err := g.Transport.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		g.unauthorised.Add(1)
	}
	return response, err
}

// sdk is the unmodified client of the AWS SDK.
func sdk(url string, transport http.RoundTripper, fallback bool) *imds.Client {
	return imds.New(imds.Options{Endpoint: url, ClientEnableState: imds.ClientEnabled, EnableFallback: aws.BoolTernary(fallback),
		HTTPClient: &http.Client{Transport: transport, Timeout: answerLimit}})
}

// TestAWSSDK reads two machines with the AWS SDK, each from its own address.
func TestAWSSDK(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	s := serveMetadata(t, twoMachines, nil, "--no-report", "--listen", address, "--address", "web=127.77.0.2", "--address", "db=127.77.0.3")
	awaitListener(t, s, address)
	url := "http://" + address

	t.Run("tokens", func(t *testing.T) {
		for _, m := range []struct{ address, instance, region, arch, userData string }{
			{"127.77.0.2", "i-0123456789abcdef0", "zh-lab-1", "x86_64", "#!/bin/sh\necho web\n"},
			// What the definition does not say has to be something, for a region, or may be left out.
			{"127.77.0.3", "i-0fedcba9876543210", "local-1", "", "#!/bin/sh\necho db\n"},
		} {
			transport := fromAddress(m.address)
			client := sdk(url, transport, false)
			document, err := client.GetInstanceIdentityDocument(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if document.InstanceID != m.instance || document.Region != m.region || document.Architecture != m.arch {
				t.Errorf("the identity document: %+v", document.InstanceIdentityDocument)
			}
			if region, err := client.GetRegion(t.Context(), nil); err != nil || region.Region != document.Region {
				t.Errorf("region: %+v, %v; the identity document has %q", region, err, document.Region)
			}
			userData, err := client.GetUserData(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := drain(t, userData.Content); got != m.userData {
				t.Errorf("user-data: %q", got)
			}
			if got := metadata(t, client, "instance-id"); got != m.instance {
				t.Errorf("instance-id: %q", got)
			}
			if leaves := walk(t, client, ""); leaves < 15 {
				t.Errorf("the listings lead to %d leaves", leaves)
			}
			if _, err := client.GetIAMInfo(t.Context(), nil); err == nil {
				t.Error("a machine without a role has IAM data")
			}
			if transport.tokens.Load() != 1 || transport.bare.Load() != 0 || transport.unauthorised.Load() != 0 {
				t.Errorf("%d sessions, %d reads without a token, %d refused", transport.tokens.Load(), transport.bare.Load(), transport.unauthorised.Load())
			}
		}
	})
	t.Run("details", func(t *testing.T) {
		client := sdk(url, fromAddress("127.77.0.2"), false)
		for path, want := range map[string]string{
			"local-hostname": "web.lab.example.org", "placement/availability-zone": "zh-lab-1a", "placement/region": "zh-lab-1",
			"instance-type": "m5.large", "local-ipv4": "10.77.0.2", "mac": "52:54:00:12:34:56", "public-keys/0/openssh-key": webKey,
			"network/interfaces/macs/52:54:00:12:34:56/local-ipv4s":            "10.77.0.2",
			"network/interfaces/macs/52:54:00:12:34:56/subnet-ipv4-cidr-block": "10.77.0.0/24",
			"tags/instance/Name": "the web server",
		} {
			if got := metadata(t, client, path); strings.TrimSuffix(got, "\n") != want {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
	})
	t.Run("behind a proxy", func(t *testing.T) {
		// Whoever forwards requests gets no token. The SDK then goes on without one, if it may.
		for _, m := range []struct {
			address  string
			fallback bool
			want     string
		}{{"127.77.0.2", true, ""}, {"127.77.0.2", false, ""}, {"127.77.0.3", false, ""}, {"127.77.0.3", true, "i-0fedcba9876543210"}} {
			transport := fromAddress(m.address)
			transport.forwarded = "203.0.113.9"
			content, err := sdk(url, transport, m.fallback).GetMetadata(t.Context(), &imds.GetMetadataInput{Path: "instance-id"})
			got := ""
			if err == nil {
				got = drain(t, content.Content)
			}
			if got != m.want || transport.tokens.Load() == 0 {
				t.Errorf("from %s, fallback %t: %q, %v; %d requests for tokens", m.address, m.fallback, got, err, transport.tokens.Load())
			}
		}
	})
	t.Run("nobody", func(t *testing.T) {
		if _, err := sdk(url, fromAddress("127.77.0.4"), true).GetMetadata(t.Context(), &imds.GetMetadataInput{Path: "instance-id"}); err == nil {
			t.Error("an address that is no machine's gets an instance id")
		}
	})
}

// walk reads all that the listings below a path name, and returns how many leaves there are.
func walk(t *testing.T, client *imds.Client, path string) int {
	t.Helper()
	leaves := 0
	for _, name := range strings.Split(metadata(t, client, path), "\n") {
		index, _, key := strings.Cut(name, "=")
		switch {
		case name == "":
			t.Errorf("the listing %q has an empty line", path)
		case key && path == "public-keys/":
			leaves += walk(t, client, path+index+"/")
		case strings.HasSuffix(name, "/"):
			leaves += walk(t, client, path+name)
		default:
			leaves++
			if got := metadata(t, client, path+name); got == "" && path != "public-keys/" {
				t.Logf("%s%s is empty", path, name)
			}
		}
	}
	return leaves
}

// metadata reads one path below meta-data.
func metadata(t *testing.T, client *imds.Client, path string) string {
	t.Helper()
	out, err := client.GetMetadata(t.Context(), &imds.GetMetadataInput{Path: path})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return drain(t, out.Content)
}

func drain(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

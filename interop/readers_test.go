//go:build e2e

package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// wire is a guest and a server that are connected, each in a network namespace of its own: the server has 169.254.169.254,
// the guest the address of the machine web and no way to anywhere else.
type wire struct{ server, guest string }

// newWire makes the namespaces, which are removed at the end of the test.
func newWire(t *testing.T) wire {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces are root's")
	}
	requirePrograms(t, map[string]string{"ip": "iproute2"})
	w := wire{fmt.Sprintf("vmseed-%d-server", os.Getpid()), fmt.Sprintf("vmseed-%d-guest", os.Getpid())}
	for _, name := range []string{w.server, w.guest} {
		run(t, "ip", "netns", "add", name)
		t.Cleanup(func() {
			// The test's context is over.
			if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
				t.Errorf("ip netns del %s: %v\n%s", name, err, out)
			}
		})
		run(t, "ip", "-n", name, "link", "set", "lo", "up")
	}
	run(t, "ip", "-n", w.server, "link", "add", "to-guest", "type", "veth", "peer", "name", "eth0", "netns", w.guest)
	for _, args := range [][]string{
		{"-n", w.server, "address", "add", "10.77.0.1/24", "dev", "to-guest"},
		{"-n", w.server, "address", "add", "169.254.169.254/32", "dev", "lo"},
		{"-n", w.server, "link", "set", "to-guest", "up"},
		{"-n", w.guest, "address", "add", "10.77.0.2/24", "dev", "eth0"},
		{"-n", w.guest, "link", "set", "eth0", "up"},
		{"-n", w.guest, "route", "add", "default", "via", "10.77.0.1"},
	} {
		run(t, "ip", args...)
	}
	return w
}

// requirePrograms skips the test when a program is not installed; the values are Debian's packages.
func requirePrograms(t *testing.T, programs map[string]string) {
	t.Helper()
	for program, debianPackage := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIP-MISSING: %s is not installed (Debian package %s)", program, debianPackage)
		}
	}
}

// in runs a shell script where the guest is, with nothing of this process' environment but the path.
func (w wire) in(t *testing.T, script string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), answerLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ip", "netns", "exec", w.guest, "env", "-i", "HOME=/nonexistent", "PATH="+os.Getenv("PATH"), "sh", "-c", script)
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

// TestStockReaders lets programs read the service that know its address only: 169.254.169.254.
func TestStockReaders(t *testing.T) {
	t.Parallel()
	requirePrograms(t, map[string]string{"ec2metadata": "cloud-guest-utils", "ec2-metadata": "amazon-ec2-utils", "curl": "curl"})
	if err := exec.Command("/usr/bin/python3", "-c", "import boto3").Run(); err != nil {
		t.Skip("SKIP-MISSING: boto3 is not installed (Debian package python3-boto3)")
	}
	w := newWire(t)
	s := serveMetadata(t, twoMachines, []string{"ip", "netns", "exec", w.server}, "--no-report", "--listen", "169.254.169.254:80")
	for deadline := time.Now().Add(answerLimit); ; time.Sleep(50 * time.Millisecond) {
		if _, err := w.in(t, "curl -s -o /dev/null --max-time 5 http://169.254.169.254/"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("vmseed metadata does not answer:\n%s", s.said)
		}
	}
	for _, c := range []struct{ name, script, want string }{
		{"curl, a session", `token=$(curl -sf -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
			curl -sf -H "X-aws-ec2-metadata-token: $token" http://169.254.169.254/latest/meta-data/instance-id`, "i-0123456789abcdef0"},
		{"curl, no session", `curl -s -o /dev/null -w '%{http_code}' http://169.254.169.254/latest/meta-data/instance-id`, "401"},
		{"ec2metadata", "ec2metadata --instance-id --availability-zone --local-hostname --local-ipv4 --public-keys --instance-type",
			// It prints in an order of its own.
			"i-0123456789abcdef0\nzh-lab-1a\nweb.lab.example.org\n10.77.0.2\n['" + webKey + "']\nm5.large"},
		{"ec2metadata, user-data", "ec2metadata --user-data", "#!/bin/sh\necho web"},
		// What it prints is its own affair; it must not fail on anything.
		{"ec2metadata, everything", "ec2metadata | grep -c :", ""},
		{"ec2-metadata", "ec2-metadata --instance-id --instance-type --local-hostname --availability-zone --local-ipv4 --tags",
			"instance-id: i-0123456789abcdef0\ninstance-type: m5.large\nlocal-hostname: web.lab.example.org\nplacement: zh-lab-1a\n" +
				"local-ipv4: 10.77.0.2\ntags: \n\t Name: the web server"},
		{"ec2-metadata, keys", "ec2-metadata --public-keys | tail -n 1", webKey},
		{"ec2-metadata, user-data", "ec2-metadata --user-data", "user-data: #!/bin/sh\necho web"},
		{"botocore, region", `/usr/bin/python3 -c 'from botocore.utils import InstanceMetadataRegionFetcher as F; print(F().retrieve_region())'`, "zh-lab-1"},
		{"botocore, no role", `/usr/bin/python3 -c 'from botocore.utils import InstanceMetadataFetcher as F; print(F().retrieve_iam_role_credentials())'`, "{}"},
		{"boto3, no credentials", `/usr/bin/python3 -c 'import boto3; print(boto3.Session().get_credentials())'`, "None"},
	} {
		got, err := w.in(t, c.script)
		if err != nil || c.want != "" && got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

//go:build e2e && extended

package e2e

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/kube/internal/tinyguest"
)

// virtctl prepares KubeVirt's own client for the namespace.
func (s *space) virtctl(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.CommandContext(ctx, "../../tools/virtctl/build.sh").Output()
	if err != nil {
		t.Fatalf("building virtctl: %v", err)
	}
	return exec.CommandContext(ctx, strings.TrimSpace(string(path)), append([]string{"--kubeconfig", s.Kubeconfig, "--namespace", s.name}, args...)...)
}

// TestVirtctl has KubeVirt's client start a machine, talk to its guest, restart it and stop it.
func TestVirtctl(t *testing.T) {
	w := shared(t)
	s := w.space(t)
	s.kubectl(t, "wait", "apiservice/v1.subresources.kubevirt.io", "--for=condition=Available", "--timeout", limit)
	s.apply(t, strings.Replace(tinyVM("tiny"), "runStrategy: Always", "runStrategy: Halted", 1))
	do := func(args ...string) {
		t.Helper()
		if out, err := s.virtctl(t.Context(), t, args...).CombinedOutput(); err != nil {
			t.Fatalf("virtctl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	do("start", "tiny")
	s.wait(t, "vm/tiny", "condition=Ready")

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	console := s.virtctl(ctx, t, "console", "tiny")
	var problems bytes.Buffer
	console.Stderr = &problems
	in, err := console.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := console.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := console.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "is anybody there"); err != nil {
		t.Fatal(err)
	}
	read := func(until string) {
		t.Helper()
		var got bytes.Buffer
		for buffer := make([]byte, 1); !strings.Contains(got.String(), until); {
			if _, err := out.Read(buffer); err != nil {
				t.Fatalf("the console ends (%v) after %q, before %q: %s", err, got.String(), until, problems.String())
			}
			got.Write(buffer)
		}
	}
	read("is anybody there")

	before := s.field(t, "vmi/tiny", ".metadata.uid")
	do("restart", "tiny")
	read(tinyguest.Down)
	if err := console.Wait(); err == nil || !strings.Contains(problems.String(), "the target VM was powered off") {
		t.Errorf("the console of a VM that goes down ends with %v: %s", err, problems.String())
	}
	s.until(t, "another instance that runs", func() bool {
		out, _, err := s.Run(t.Context(), nil, "--namespace", s.name, "get", "vmi/tiny", "-o", "jsonpath={.metadata.uid} {.status.phase}")
		return err == nil && strings.HasSuffix(out, " Running") && !strings.HasPrefix(out, before)
	})
	do("stop", "tiny")
	s.kubectl(t, "wait", "vmi/tiny", "--for=delete", "--timeout", limit)
	if got := s.field(t, "vm/tiny", ".spec.runStrategy"); got != "Halted" {
		t.Errorf("the machine that was stopped has the strategy %s", got)
	}
}

//go:build conformance && linux

package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lan is the network of docs/how-to/metadata.md in name spaces of its own: a host with a bridge, two guests on it, and a
// router that is the guests' gateway.
type lan struct {
	t                         *testing.T
	host, router, first, next string
}

// nftFile is the rules of the page.
var nftFile = regexp.MustCompile("(?ms)^`([\\w.-]+)`:\n\n```nft\n(.*?)^```$")

// TestBridge follows docs/how-to/metadata.md: guests of a bridge whose gateway is another machine each read their own
// metadata, and whoever takes the address of another gets nothing.
func TestBridge(t *testing.T) {
	for _, tool := range []string{"ip", "nft", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("SKIP-MISSING: " + tool + " is not installed")
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIP-MISSING: network name spaces need root")
	}
	n := newLAN(t)
	dir := t.TempDir()
	page, err := os.ReadFile("../../docs/how-to/metadata.md")
	if err != nil {
		t.Fatal(err)
	}
	files := append(pageFile.FindAllStringSubmatch(string(page), -1), nftFile.FindAllStringSubmatch(string(page), -1)...)
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f[1]), []byte(f[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commands := pageCommands(t, string(page))
	n.run(n.host, strings.ReplaceAll(commands.rules, "metadata.nft", filepath.Join(dir, "metadata.nft")))
	n.serve(dir, commands.serve)

	// Each reads its own, by the address that all guests ask.
	const token, name = "/latest/api/token", "/latest/meta-data/local-hostname"
	curl := func(space string, args ...string) string {
		t.Helper()
		out, _ := n.try(space, append([]string{"curl", "-sS", "-m", "20", "-w", " %{http_code}"}, args...)...)
		return out
	}
	const url = "http://169.254.169.254"
	if got := curl(n.first, url+name); got != "web.example.org 200" {
		t.Errorf("web reads %s", got)
	}
	if got := curl(n.next, url+name); !strings.HasSuffix(got, " 401") {
		t.Errorf("db reads without a token %s", got)
	}
	// The answer with a token leaves with a time to live of 1, which is enough: no router is between them.
	session, code, _ := strings.Cut(curl(n.next, "-X", "PUT", "-H", "X-aws-ec2-metadata-token-ttl-seconds: 60", url+token), " ")
	if got := curl(n.next, "-H", "X-aws-ec2-metadata-token: "+session, url+name); code != "200" || got != "db.example.org 200" {
		t.Errorf("db reads %s %s", code, got)
	}
	if got := curl(n.first, "-H", "X-aws-ec2-metadata-token: "+session, url+name); strings.Contains(got, "example.org") {
		t.Errorf("web reads with the token of db %s", got)
	}
	for _, header := range []string{"X-Forwarded-For: 192.0.2.12", "X-Instance-ID: db", "Forwarded: for=192.0.2.12", "X-Real-IP: 192.0.2.12"} {
		if got := curl(n.first, "-H", header, url+name); got != "web.example.org 200" {
			t.Errorf("web reads with %s %s", header, got)
		}
	}
	// The redirect is for known ports alone: neither the router nor the service's own port help.
	if out, err := n.try(n.router, "curl", "-sS", "-m", "3", "--interface", "192.0.2.254", url+name); err == nil {
		t.Errorf("the router reads %s", out)
	}
	if out, err := n.try(n.first, "curl", "-sS", "-m", "3", "http://192.0.2.1:8775"+name); err == nil {
		t.Errorf("past the redirect there is %s", out)
	}
	n.forge(url + name)
}

// forge has db take the address of web, which is down, and then its MAC as well.
func (n *lan) forge(url string) {
	n.t.Helper()
	before := n.forged()
	n.run(n.first, "ip link set eth0 down")
	n.run(n.next, "ip address add 192.0.2.11/24 dev eth0")
	read := func() (string, error) {
		return n.try(n.next, "curl", "-sS", "-m", "3", "--interface", "192.0.2.11", url)
	}
	for _, mac := range []string{"52:54:00:00:00:02", "52:54:00:00:00:01"} {
		n.run(n.next, "ip link set eth0 address "+mac)
		n.run(n.next, "ip route replace default via 192.0.2.254")
		// Its questions for the gateway's MAC are dropped too, but it may know that.
		n.run(n.next, "ip neighbour replace 192.0.2.254 lladdr 52:54:00:00:00:fe dev eth0 nud permanent")
		if out, err := read(); err == nil {
			n.t.Errorf("with the address of web and the MAC %s, db reads %s", mac, out)
		}
		if now := n.forged(); now == before {
			n.t.Errorf("with the MAC %s nothing was dropped", mac)
		} else {
			before = now
		}
	}
	// What keeps it from that is the filter: without it, a guest that can take an address is that machine.
	n.run(n.host, "nft flush chain bridge vmseed_metadata prerouting")
	n.run(n.host, "nft add rule bridge vmseed_metadata prerouting ip daddr 169.254.169.254 ether daddr set 52:54:00:ff:00:01 meta pkttype set host")
	n.run(n.host, "ip neighbour flush all")
	if out, err := n.try(n.next, "curl", "-sS", "-m", "20", "--interface", "192.0.2.11", url); err != nil || out != "web.example.org" {
		n.t.Errorf("without the filter, this test would show nothing: db reads %s, %v", out, err)
	}
}

// forged is what the counter of dropped packets shows.
func (n *lan) forged() string {
	return n.run(n.host, "nft list counter bridge vmseed_metadata forged")
}

// newLAN makes the network, and removes it at the end of the test.
func newLAN(t *testing.T) *lan {
	mark := make([]byte, 4)
	_, _ = rand.Read(mark)
	prefix := "vmseed-" + hex.EncodeToString(mark)
	n := &lan{t, prefix + "-host", prefix + "-router", prefix + "-web", prefix + "-db"}
	for _, space := range []string{n.host, n.router, n.first, n.next} {
		if out, err := exec.Command("ip", "netns", "add", space).CombinedOutput(); err != nil {
			t.Skipf("SKIP-MISSING: network name spaces cannot be made: %s", out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", space).Run() })
		n.run(space, "ip link set lo up")
	}
	n.run(n.host, "ip link add br0 address 52:54:00:ff:00:01 type bridge")
	n.run(n.host, "ip address add 192.0.2.1/24 dev br0")
	for _, x := range []struct{ space, port, mac, address string }{
		{n.first, "vnet0", "52:54:00:00:00:01", "192.0.2.11/24"}, {n.next, "vnet1", "52:54:00:00:00:02", "192.0.2.12/24"},
		{n.router, "uplink", "52:54:00:00:00:fe", "192.0.2.254/24"},
	} {
		n.run(n.host, "ip link add "+x.port+" type veth peer name eth0 address "+x.mac+" netns "+x.space)
		n.run(n.host, "ip link set "+x.port+" master br0 up")
		n.run(x.space, "ip address add "+x.address+" dev eth0")
		n.run(x.space, "ip link set eth0 up")
		if x.space != n.router {
			n.run(x.space, "ip route add default via 192.0.2.254")
		}
	}
	n.run(n.host, "ip link set br0 up")
	return n
}

// try runs a command in a name space.
func (n *lan) try(space string, args ...string) (string, error) {
	cmd := exec.Command("ip", append([]string{"netns", "exec", space}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// run runs a line that must succeed.
func (n *lan) run(space, line string) string {
	n.t.Helper()
	out, err := n.try(space, strings.Fields(line)...)
	if err != nil {
		n.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}

// commands are those of the page that the test runs.
type commands struct{ rules, serve string }

func pageCommands(t *testing.T, page string) (c commands) {
	t.Helper()
	for _, line := range strings.Split(page, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "nft -f "):
			c.rules = line
		case strings.HasPrefix(line, "vmseed metadata ") && strings.Contains(line, "--listen 192.0.2.1:8775 --url"):
			c.serve = line
		}
	}
	if c.rules == "" || c.serve == "" {
		t.Fatalf("the page has the commands %+v", c)
	}
	return c
}

// serve runs the page's command on the host until the test ends, and returns when it answers.
func (n *lan) serve(dir, line string) {
	n.t.Helper()
	// The test binary is the command when it is called so.
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "vmseed"))
	}
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	args := append([]string{"netns", "exec", n.host, filepath.Join(dir, "vmseed")}, strings.Fields(line)[1:]...)
	cmd := exec.CommandContext(ctx, "ip", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		n.t.Fatal(err)
	}
	ready := make(chan bool)
	go func() {
		defer close(ready)
		for s := bufio.NewScanner(out); s.Scan(); {
			if strings.HasPrefix(s.Text(), "vmseed serves 2 machines") {
				ready <- true
			}
		}
	}()
	n.t.Cleanup(func() {
		stop()
		for range ready { // to the end of the output
		}
		if err := cmd.Wait(); err != nil && ctx.Err() == nil {
			n.t.Error(err)
		}
	})
	if !<-ready {
		n.t.Fatal("the service ended")
	}
}

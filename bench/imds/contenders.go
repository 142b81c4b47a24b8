package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// contender is a server and how each kind of data is read from it. A kind that it does not have is missing.
type contender struct {
	name    string
	process *process
	streams map[string]stream
	// ours means that it must not fail.
	ours bool
}

// bareName is the contender that the others are compared with. It comes first.
const bareName = "bare net/http"

// contenders starts the servers. stop ends them.
func contenders(dir string, machines int, peers bool) (list []contender, stop func(), err error) {
	stop = func() {
		for _, c := range list {
			c.process.stop()
		}
	}
	add := func(name string, p *process, err error, streams map[string]stream) error {
		if err == nil {
			list = append(list, contender{name, p, streams, false})
		}
		return err
	}
	own := func(tokens bool) map[string]stream {
		return map[string]stream{
			"user-data":   {"/latest/user-data", tokens, func(i int) []byte { return []byte(userData(i)) }},
			"instance-id": {"/latest/meta-data/instance-id", tokens, func(i int) []byte { return []byte(instanceID(i)) }},
		}
	}
	// The bare one is sent the same requests, though it looks at no token.
	for _, o := range []struct{ name, mode string }{{bareName, modeBare}, {"vmseed, with session tokens and metrics", modeOurs},
		{"vmseed, with session tokens, metrics and log", modeLog}} {
		p, err := startOwn(o.mode, machines)
		if err := add(o.name, p, err, own(true)); err != nil {
			stop()
			return nil, nil, err
		}
		list[len(list)-1].ours = true
	}
	if !peers {
		return list, stop, nil
	}
	p, err := startMock(dir)
	mock := func(tokens bool) map[string]stream {
		return map[string]stream{"instance-id": {"/latest/meta-data/instance-id", tokens, func(int) []byte { return []byte("i-1234567890abcdef0") }}}
	}
	if err := add("amazon-ec2-metadata-mock v1.12.0", p, err, mock(false)); err != nil {
		stop()
		return nil, nil, err
	}
	list = append(list, contender{"amazon-ec2-metadata-mock v1.12.0, with session tokens", &process{p.address, p.cmd, func() {}}, mock(true), false})
	p, err = startHegel(dir, machines)
	streams := own(false)
	for name, s := range streams {
		s.path = strings.Replace(s.path, "/latest/", "/2009-04-04/", 1) // the one version that it has
		streams[name] = s
	}
	if err := add("Hegel v0.14.2", p, err, streams); err != nil {
		stop()
		return nil, nil, err
	}
	return list, stop, nil
}

// startMock starts AWS's own mock, which knows one machine, with no user-data.
func startMock(dir string) (*process, error) {
	host, port, err := freeAddress()
	if err != nil {
		return nil, err
	}
	return startPeer(filepath.Join(dir, "aemm"), net.JoinHostPort(host, port), "-n", host, "-p", port)
}

// startHegel starts Tinkerbell's metadata server with a file of machines.
func startHegel(dir string, machines int) (*process, error) {
	var file strings.Builder
	for i := range machines {
		fmt.Fprintf(&file, "- metadata:\n    id: %s\n    ipv4: {public: %s}\n  userdata: %q\n", instanceID(i), address(i), userData(i))
	}
	path := filepath.Join(dir, "machines.yaml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		return nil, err
	}
	host, port, err := freeAddress()
	if err != nil {
		return nil, err
	}
	at := net.JoinHostPort(host, port)
	return startPeer(filepath.Join(dir, "hegel"), at, "--backend", "flatfile", "--flatfile-path", path, "--http-addr", at)
}

// freeAddress is an address of this machine that nobody listens to.
func freeAddress() (host, port string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer l.Close()
	return net.SplitHostPort(l.Addr().String())
}

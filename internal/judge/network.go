package judge

import (
	"context"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// MetadataAddress is where guests expect the metadata services of EC2 and
// OpenStack.
const MetadataAddress = "169.254.169.254"

// Network is a network of its own in which a machine boots beside the servers
// that a test starts: a network namespace whose loopback interface also has the
// addresses of metadata services. Nothing in it reaches this machine's networks.
type Network struct{ namespace *os.File }

// NewNetwork makes a network that lasts as long as the test. It skips the test
// where network namespaces cannot be made.
func NewNetwork(tb testing.TB) *Network {
	tb.Helper()
	needTools(tb, "ip")
	made := make(chan *os.File, 1)
	var failure error
	go func() {
		// The thread is not unlocked, so it ends with the goroutine and no other
		// code ever runs in the namespace by accident.
		runtime.LockOSThread()
		var namespace *os.File
		if failure = newNamespace(); failure == nil {
			namespace, failure = os.Open("/proc/thread-self/ns/net")
		}
		made <- namespace
	}()
	n := &Network{namespace: <-made}
	if failure != nil {
		missing(tb, "the right to make a network namespace: %v", failure)
	}
	tb.Cleanup(func() { _ = n.namespace.Close() })
	for _, command := range []string{
		"link set lo up",
		"address add " + MetadataAddress + "/32 dev lo",
		"address add fd00:ec2::254/128 dev lo nodad",
	} {
		n.inside(tb, func() {
			if out, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
				tb.Errorf("ip %s: %v: %s", command, err, out)
			}
		})
	}
	return n
}

// Listen listens in the network at a TCP address such as 169.254.169.254:80. The
// listener may be used from anywhere.
func (n *Network) Listen(tb testing.TB, address string) net.Listener {
	tb.Helper()
	var listener net.Listener
	n.inside(tb, func() {
		var err error
		if listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", address); err != nil {
			tb.Error(err)
		}
	})
	if listener == nil {
		tb.FailNow()
	}
	tb.Cleanup(func() { _ = listener.Close() })
	return listener
}

// inside runs f in the network: sockets that it makes and processes that it
// starts stay there. The nil network is that of the test.
func (n *Network) inside(tb testing.TB, f func()) {
	if n == nil {
		f()
		return
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // as in NewNetwork
		err := enterNamespace(n.namespace)
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		tb.Fatalf("enter a network namespace: %v", err)
	}
}

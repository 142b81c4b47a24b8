//go:build linux

package supervisor_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

// speak is one side of a connection in another network namespace: it serves a word at a TCP address, or asks for one.
func speak(side, address string) {
	if side == "canary" {
		l, err := net.Listen("tcp", address)
		if err != nil {
			fmt.Println("cannot listen:", err)
			return
		}
		fmt.Println("ready")
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "canary") }))
		return
	}
	client := http.Client{Timeout: 3 * time.Second}
	answer, err := client.Get("http://" + address + "/nocloud/meta-data")
	if err != nil {
		fmt.Println("closed")
		return
	}
	defer answer.Body.Close()
	_, _ = io.Copy(os.Stdout, answer.Body)
}

// TestMain lets the test's own program be the supervisor, a QEMU without a guest, and whoever a guest talks to.
func TestMain(m *testing.M) {
	supervisortest.Main()
	if len(os.Args) == 3 && os.Args[1] == "start" {
		c, err := supervisor.Open(os.Args[2], supervisortest.Command()...)
		if err == nil {
			err = c.Start(context.Background(), false)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("started")
		select {}
	}
	if len(os.Args) == 3 && (os.Args[1] == "canary" || os.Args[1] == "fetch") {
		speak(os.Args[1], os.Args[2])
		return
	}
	os.Exit(m.Run())
}

//go:build linux

// Package main is process 1 of the guests that the tests of this package start. It reports like a cloud-init guest,
// answers on its console, and tries whatever the kernel command line names under vmseed.try.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	err := run()
	fmt.Println("guest: end:", err)
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func run() error {
	for _, m := range [][2]string{{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}} {
		if err := os.MkdirAll(m[1], 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m[0], m[1], m[0], 0, ""); err != nil {
			return err
		}
	}
	if err := loadModules(); err != nil {
		return err
	}
	options := commandLine()
	var say sync.Mutex
	console := func(format string, args ...any) {
		say.Lock()
		defer say.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	console("guest: up")
	done := make(chan struct{})
	tries := func() []string {
		return try(options["vmseed.try"], options["vmseed.address"], options["vmseed.gateway"])
	}
	go answer(console, done, tries)
	result := map[string]any{"firstBoot": true, "agent": "test", "hostname": "guest"}
	if options["vmseed.try"] != "" {
		result["warnings"] = tries()
	}
	if _, first := options["ignition.firstboot"]; first {
		result["warnings"] = []string{"Ignition would run"}
	}
	if options["vmseed.configs"] != "" {
		result["warnings"] = configs()
	}
	if port := options["vmseed.listen"]; port != "" {
		l, err := net.Listen("tcp4", ":"+port)
		if err != nil {
			return err
		}
		go serve(l)
	}
	if options["vmseed.agent"] != "" {
		if err := runAgent(console); err != nil {
			return err
		}
	}
	if options["vmseed.report"] != "no" {
		if err := report(result); err != nil {
			return err
		}
		console("guest: reported")
	}
	if options["vmseed.stay"] == "" {
		return nil
	}
	for tick := 0; ; tick++ {
		select {
		case <-done:
			return nil
		case <-time.After(time.Second):
			console("guest: tick %d", tick)
		}
	}
}

func loadModules() error {
	order, err := os.ReadFile("/modules/order")
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(string(order)) {
		f, err := os.Open(filepath.Join("/modules", name))
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func commandLine() map[string]string {
	out := map[string]string{}
	text, _ := os.ReadFile("/proc/cmdline")
	for _, word := range strings.Fields(string(text)) {
		key, value, _ := strings.Cut(word, "=")
		out[key] = value
	}
	return out
}

// answer repeats what is typed on the console, tries once more at "again", and ends the guest at "end".
func answer(console func(string, ...any), done chan<- struct{}, tries func() []string) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "again" {
			console("guest: found %q", tries())
			continue
		}
		console("guest: heard %q", lines.Text())
		if lines.Text() == "end" {
			close(done)
			return
		}
	}
}

// report says how the first boot went, again until the host answers.
func report(result map[string]any) error {
	name, err := portCalled("dev.vmseed.report")
	if err != nil {
		return err
	}
	port, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	answers := bufio.NewReader(port)
	for i, stage := range []string{"init-network", "modules-final", "done"} {
		message := map[string]any{"boot": strings.TrimSpace(string(boot)), "seq": i + 1, "stage": stage}
		if stage == "done" {
			message["result"] = result
		}
		line, err := json.Marshal(message)
		if err != nil {
			return err
		}
		if _, err := port.Write(append(line, '\n')); err != nil {
			return err
		}
		if got, err := answers.ReadString('\n'); err != nil || got != fmt.Sprintf("ack %d\n", i+1) {
			return fmt.Errorf("the host answers %q, %v", got, err)
		}
	}
	return nil
}

// serve says a word to everybody who connects.
func serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		fmt.Fprintln(conn, "guest")
		conn.Close()
	}
}

// try brings the NIC up with an address and reports which of the targets answer, each as network!address!port. The network
// http is TCP, with a request for NoCloud's meta-data.
func try(targets, address, gateway string) []string {
	out := []string{}
	switch address {
	case "":
	case "dhcp":
		learned, err := learn()
		if err != nil {
			learned = "network: " + err.Error()
		}
		out = append(out, learned)
	default:
		if err := configure(address, gateway); err != nil {
			out = append(out, "network: "+err.Error())
		}
	}
	for _, target := range strings.Split(targets, ",") {
		network, to, _ := strings.Cut(target, "!")
		to = strings.ReplaceAll(to, "!", ":")
		request := ""
		if network == "http" {
			network, request = "tcp", "GET /nocloud/meta-data HTTP/1.0\r\nHost: host\r\n\r\n"
		}
		conn, err := net.DialTimeout(network, to, 5*time.Second)
		if err != nil {
			out = append(out, target+" closed")
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		_, _ = io.WriteString(conn, request)
		words, _ := io.ReadAll(io.LimitReader(conn, 4096))
		lines := strings.Split(strings.TrimSpace(string(words)), "\n")
		out = append(out, target+" "+lines[len(lines)-1])
		conn.Close()
	}
	return out
}

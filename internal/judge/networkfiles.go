package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Keyfile has NetworkManager's own library read a connection profile in nmcli's
// offline mode, check it and write down what it understood. complaint is what
// nmcli says about a profile that it refuses. Keys that it does not know are
// missing in what it wrote.
func Keyfile(tb testing.TB, text []byte) (understood string, complaint string) {
	tb.Helper()
	tree := treeNamed(tb, "nmcli")
	found, err := filepath.Glob(filepath.Join(tree.Root, "usr/lib/*/libnm.so.*"))
	if err != nil || len(found) == 0 {
		missing(tb, "libnm in %s", tree.Root)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	// Setting a property to the value that it has anyway is how nmcli copies a profile.
	cmd := exec.CommandContext(ctx, filepath.Join(tree.Root, "usr/bin/nmcli"), "--offline", "connection", "modify", "connection.zone", "")
	cmd.Env = []string{"LD_LIBRARY_PATH=" + filepath.Dir(found[0]), "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH")}
	cmd.Stdin = bytes.NewReader(text)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", strings.TrimSpace(stderr.String() + " " + err.Error())
	}
	return stdout.String(), ""
}

// treeNamed returns the tree of fetch.sh with a name.
func treeNamed(tb testing.TB, name string) *Release {
	tb.Helper()
	for _, tree := range trees(tb) {
		if tree.Name == name {
			return tree
		}
	}
	missing(tb, "%s", name)
	return nil
}

// networkdProgram is where Debian and its relatives keep it.
const networkdProgram = "/lib/systemd/systemd-networkd"

// NetworkdInput is a set of files for systemd-networkd and what to wait for.
type NetworkdInput struct {
	// Files are those of /etc/systemd/network by their names.
	Files map[string][]byte
	// NICs are made before networkd starts.
	NICs []NIC
	// Wait lists texts that are to come up in networkd's log or state, or in what
	// ip(8) shows.
	Wait []string
}

// NetworkdResult is what became of the files.
type NetworkdResult struct {
	// Log is all that networkd said, Complaints the lines about the files.
	Log        string
	Complaints []string
	// Timeout lists the texts that did not come up in a minute.
	Timeout string
	// Addresses, Routes4, Routes6 are the answers of ip(8) as JSON.
	Addresses, Routes4, Routes6 json.RawMessage
	// Links are the state files of networkd by the name of the link.
	Links map[string]string
}

// RunNetworkd runs the system's systemd-networkd in a network of its own, in which
// each NIC is one end of a cable. A match on the permanent MAC is read as one on
// the MAC, since the kernel gives only real NICs a permanent one.
func RunNetworkd(tb testing.TB, input NetworkdInput) NetworkdResult {
	tb.Helper()
	if os.Geteuid() != 0 {
		missing(tb, "the rights of root, for a network namespace")
	}
	needTools(tb, "unshare", "ip", networkdProgram)
	dir := tb.TempDir()
	for name, text := range input.Files {
		text = bytes.ReplaceAll(text, []byte("PermanentMACAddress="), []byte("MACAddress="))
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	script := filepath.Join(tb.TempDir(), "networkd.sh")
	if err := os.WriteFile(script, networkdScript, 0o600); err != nil {
		tb.Fatal(err)
	}
	var nics []string
	for _, nic := range input.NICs {
		nics = append(nics, nic.Name+"="+nic.MAC)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--net", "--mount", "--pid", "--kill-child", "--mount-proc", "/bin/sh", script, dir, strings.Join(nics, " "),
		strings.Join(input.Wait, "\n"), networkdProgram)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		tb.Fatalf("networkd: %v\n%s", err, tail(stderr.String(), 4000))
	}
	return networkdResult(tb, stdout.String())
}

// networkdResult takes the parts of the script's answer apart.
func networkdResult(tb testing.TB, text string) NetworkdResult {
	tb.Helper()
	r := NetworkdResult{Links: map[string]string{}}
	for part := range strings.SplitSeq(text, "\x1e") {
		name, body, _ := strings.Cut(part, "\n")
		body = strings.TrimSpace(body)
		switch key, link, _ := strings.Cut(name, " "); key {
		case "complaints":
			r.Complaints = strings.FieldsFunc(body, func(c rune) bool { return c == '\n' })
		case "timeout":
			r.Timeout = body
		case "log":
			r.Log = body
		case "addresses":
			r.Addresses = json.RawMessage(body)
		case "routes4":
			r.Routes4 = json.RawMessage(body)
		case "routes6":
			r.Routes6 = json.RawMessage(body)
		case "link":
			r.Links[link] = body
		}
	}
	if r.Addresses == nil {
		tb.Fatalf("networkd's script answered %q", tail(text, 400))
	}
	return r
}

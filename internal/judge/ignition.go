package judge

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Ignition is the real program without a guest: it works on a small root file
// system that is made for each config.
type Ignition struct {
	Version string // Debian's
	program string
}

// IgnitionResult is what became of a config, and the root file system that
// Ignition left.
type IgnitionResult struct {
	// Failed is the stage that failed, fetch or files; empty if none.
	Failed string
	// Reason is why, as a guest would say it on its console.
	Reason string
	// Warnings and Errors are those about the config itself, with places.
	Warnings, Errors []string
	Log              string
	nodes            map[string]node
}

// node is an entry of the file system.
type node struct {
	header  *tar.Header
	content string
}

// The script's exit statuses.
const (
	ignitionFetchFailed = 11
	ignitionFilesFailed = 12
)

// NewIgnition returns the program. It skips the test where it cannot be had, or
// may not be given root's rights over files.
func NewIgnition(tb testing.TB) *Ignition {
	tb.Helper()
	needTools(tb, "unshare", "tar")
	for _, tree := range trees(tb) {
		if tree.Name == "ignition" {
			return &Ignition{Version: tree.Version, program: filepath.Join(tree.Root, "usr/lib/dracut/modules.d/30ignition/ignition")}
		}
	}
	missing(tb, "Ignition")
	return nil
}

// Apply runs the stages fetch and files on a config, without a network.
func (g *Ignition) Apply(tb testing.TB, config []byte) IgnitionResult {
	tb.Helper()
	return g.run(tb, nil, config, nil)
}

// Fetch runs the stages fetch and files in a network of servers, where the
// config is found as the arguments of the kernel say. Their last
// ignition.platform.id is the platform.
func (g *Ignition) Fetch(tb testing.TB, network *Network, cmdline []string) IgnitionResult {
	tb.Helper()
	return g.run(tb, network, nil, cmdline)
}

// run runs Ignition: on a config, or with the kernel's arguments.
func (g *Ignition) run(tb testing.TB, network *Network, config []byte, cmdline []string) IgnitionResult {
	tb.Helper()
	dir := tb.TempDir()
	script, err := scripts.ReadFile("ignition.sh")
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "ignition.sh"), script, 0o600),
		os.WriteFile(filepath.Join(dir, "config.ign"), config, 0o600),
		os.WriteFile(filepath.Join(dir, "cmdline"), []byte(strings.Join(cmdline, " ")+"\n"), 0o600))
	if err != nil {
		tb.Fatal(err)
	}
	platform := "file"
	for _, arg := range cmdline {
		if id, ok := strings.CutPrefix(arg, "ignition.platform.id="); ok {
			platform = id
		}
	}
	apart := []string{"--mount"}
	if network == nil {
		apart = append(apart, "--net")
	}
	if os.Getuid() != 0 {
		apart = append(apart, "--map-root-user", "--map-auto")
		if out, err := exec.Command("unshare", append(apart, "true")...).CombinedOutput(); err != nil {
			missing(tb, "root's rights over files: unshare: %v: %s", err, strings.TrimSpace(string(out)))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", append(apart, "/bin/sh", filepath.Join(dir, "ignition.sh"), g.program, dir, platform)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	network.inside(tb, func() { err = cmd.Run() })
	result := IgnitionResult{Log: stderr.String()}
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.ExitCode() == ignitionFetchFailed:
		result.Failed = "fetch"
	case errors.As(err, &exit) && exit.ExitCode() == ignitionFilesFailed:
		result.Failed = "files"
	default:
		tb.Fatalf("Ignition %s: %v\n%s", g.Version, err, tail(result.Log, 4000))
	}
	result.read()
	if result.nodes, err = readTar(&stdout); err != nil {
		tb.Fatal(err)
	}
	return result
}

// read takes what concerns the config out of the log.
func (r *IgnitionResult) read() {
	for line := range strings.Lines(r.Log) {
		if _, text, ok := strings.Cut(line, " : "); ok {
			line = text
		}
		line = strings.TrimSpace(strings.TrimPrefix(line, ": "))
		reason, failed := strings.CutPrefix(line, "Ignition failed: ")
		switch {
		case failed:
			r.Reason = reason
		case strings.HasPrefix(line, "warning at ") && !slices.Contains(r.Warnings, line):
			r.Warnings = append(r.Warnings, line)
		case strings.HasPrefix(line, "error at ") && !slices.Contains(r.Errors, line):
			r.Errors = append(r.Errors, line)
		}
	}
}

// readTar reads an archive of a tree by absolute paths. A hard link is the file.
func readTar(from io.Reader) (map[string]node, error) {
	nodes := map[string]node{}
	for archive := tar.NewReader(from); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nodes, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		n := node{header, string(content)}
		if header.Typeflag == tar.TypeLink {
			n = nodes[path.Join("/", header.Linkname)] // another name of it, which came before
		}
		nodes[path.Join("/", header.Name)] = n
	}
}

// Show describes an entry of the file system by its absolute path: "link
// TARGET", "directory 0755 root:root", or "file 0644 root:root" and on the next
// line the content. It is empty if there is none.
func (r IgnitionResult) Show(name string) string {
	n, ok := r.nodes[name]
	if !ok {
		return ""
	}
	owner := fmt.Sprintf("%s:%s", r.nameOf("/etc/passwd", n.header.Uid), r.nameOf("/etc/group", n.header.Gid))
	switch n.header.Typeflag {
	case tar.TypeSymlink:
		return "link " + n.header.Linkname
	case tar.TypeDir:
		return fmt.Sprintf("directory %04o %s", n.header.Mode, owner)
	}
	return fmt.Sprintf("file %04o %s\n%s", n.header.Mode, owner, n.content)
}

// Content is what is in a file; empty if there is none.
func (r IgnitionResult) Content(name string) string { return r.nodes[name].content }

// nameOf looks up the name of a number in passwd or group.
func (r IgnitionResult) nameOf(database string, id int) string {
	for line := range strings.Lines(r.Content(database)) {
		if fields := strings.Split(strings.TrimSpace(line), ":"); len(fields) > 2 && fields[2] == strconv.Itoa(id) {
			return fields[0]
		}
	}
	return strconv.Itoa(id)
}

// entry returns the fields of a name in passwd, shadow or group.
func (r IgnitionResult) entry(database, name string) []string {
	for line := range strings.Lines(r.Content(database)) {
		if fields := strings.Split(strings.TrimSpace(line), ":"); fields[0] == name {
			return fields
		}
	}
	return nil
}

// Account describes a user in the manner of passwd: number, primary group,
// comment, home and shell, then the password field of shadow and the further
// groups, all joined by colons. It is empty if there is none.
func (r IgnitionResult) Account(name string) string {
	user, shadow := r.entry("/etc/passwd", name), r.entry("/etc/shadow", name)
	if len(user) < 7 || len(shadow) < 2 {
		return ""
	}
	gid, err := strconv.Atoi(user[3])
	if err != nil {
		return ""
	}
	var groups []string
	for line := range strings.Lines(r.Content("/etc/group")) {
		if fields := strings.Split(strings.TrimSpace(line), ":"); len(fields) > 3 && slices.Contains(strings.Split(fields[3], ","), name) {
			groups = append(groups, fields[0])
		}
	}
	return strings.Join([]string{user[2], r.nameOf("/etc/group", gid), user[4], user[5], user[6], shadow[1], strings.Join(groups, ",")}, ":")
}

// Group returns a group's number; it is empty if there is none.
func (r IgnitionResult) Group(name string) string {
	if fields := r.entry("/etc/group", name); len(fields) > 2 {
		return fields[2]
	}
	return ""
}

// Presets are the lines that Ignition wrote for systemd, sorted: what the config
// enables and disables.
func (r IgnitionResult) Presets() []string {
	return slices.Sorted(strings.FieldsFuncSeq(r.Content("/etc/systemd/system-preset/20-ignition.preset"), func(c rune) bool { return c == '\n' }))
}

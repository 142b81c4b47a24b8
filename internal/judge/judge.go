// Package judge asks the programs that will read our products in a guest what
// they make of them: cloud-init of two Debian releases, netplan's generator,
// NetworkManager, systemd-networkd, Ignition, PyYAML and util-linux. Nothing of
// them is installed or changed; each question runs their own code in a process
// that writes to a temporary directory only and reaches no network but the
// loopback interface, of this machine or of a network that the test made.
//
// Only tests import this package. A judge that cannot be had on a machine skips
// the test with a reason that begins with "SKIP-MISSING:". packages.txt lists
// the Debian packages that make every judge available.
package judge

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
)

//go:embed fetch.sh
var fetchScript []byte

//go:embed networkd.sh
var networkdScript []byte

//go:embed python/run.py python/judges/*.py dsidentify.sh ignition.sh
var scripts embed.FS

// python is the system's interpreter: another one that comes earlier in PATH
// lacks the modules that Debian packages.
const python = "/usr/bin/python3"

// timeLimit bounds one question. It only guards against a judge that hangs, so
// it is far above what a busy machine needs.
const timeLimit = 10 * time.Minute

// pythonModules are what cloud-init and our scripts import.
var pythonModules = []string{
	"yaml", "jinja2", "jsonschema", "configobj", "jsonpatch", "oauthlib",
	"requests", "netifaces", "serial",
}

// Release is one unpacked cloud-init.
type Release struct {
	Name    string // of cloud-init "22.4" or "25.1"
	Version string // Debian's version, such as "22.4.2-1+deb12u4"
	Root    string // the tree of the unpacked package
}

// Releases returns the releases to judge by, oldest first, and fetches them if
// the cache has none. It skips the test when they cannot be had.
func Releases(tb testing.TB) []*Release {
	tb.Helper()
	needPython(tb)
	var releases []*Release
	for _, tree := range trees(tb) {
		if unicode.IsDigit(rune(tree.Name[0])) {
			releases = append(releases, tree)
		}
	}
	return releases
}

// Newest returns the newest release of Releases.
func Newest(tb testing.TB) *Release {
	tb.Helper()
	releases := Releases(tb)
	return releases[len(releases)-1]
}

// ExampleDocs returns the directory with the package's own example documents
// and, in releases that have it, of the documentation of each module. Some files
// are compressed with gzip.
func (r *Release) ExampleDocs() (examples, moduleDocs string) {
	doc := filepath.Join(r.Root, "usr/share/doc/cloud-init")
	return filepath.Join(doc, "examples"), filepath.Join(doc, "module-docs")
}

// trees lists every tree that fetch.sh provides.
func trees(tb testing.TB) []*Release {
	tb.Helper()
	script := filepath.Join(tb.TempDir(), "fetch.sh")
	if err := os.WriteFile(script, fetchScript, 0o600); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "/bin/sh", script)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		missing(tb, "packages to judge by: %v: %s", err, strings.TrimSpace(stderr.String()))
	}
	var found []*Release
	for line := range strings.Lines(stdout.String()) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		version, root, ok := strings.Cut(rest, " ")
		if !ok {
			tb.Fatalf("fetch.sh printed %q", line)
		}
		found = append(found, &Release{Name: name, Version: version, Root: root})
	}
	return found
}

// needPython skips the test unless the interpreter and its modules are there.
func needPython(tb testing.TB) {
	tb.Helper()
	const find = "import importlib.util as u, sys\n" +
		"print(*[m for m in sys.argv[1:] if u.find_spec(m) is None])"
	out, err := exec.Command(python, append([]string{"-I", "-c", find}, pythonModules...)...).Output()
	if err != nil {
		missing(tb, "%s: %v", python, err)
	}
	if lacking := strings.TrimSpace(string(out)); lacking != "" {
		missing(tb, "Python modules: %s", lacking)
	}
}

// needTools skips the test unless every program is in PATH.
func needTools(tb testing.TB, names ...string) {
	tb.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			missing(tb, "%s", name)
		}
	}
}

func missing(tb testing.TB, format string, args ...any) {
	tb.Helper()
	tb.Skipf("SKIP-MISSING: "+format, args...)
}

// Command runs the command cloud-init with its arguments, such as schema or
// devel net-convert, in a directory that holds files. It returns the exit status
// and all output. The command sees a system that it cannot change, as one run
// without root's rights does.
func (r *Release) Command(tb testing.TB, files map[string][]byte, args ...string) (status int, output string) {
	tb.Helper()
	var answer struct {
		RC     int
		Output string
	}
	ask(tb, r.Root, "command", map[string]any{"files": files, "args": args}, &answer)
	return answer.RC, answer.Output
}

// ask runs one script with request as JSON and decodes its answer. root is the
// tree of a release, or "-". A script that fails is an error of this package,
// not a verdict, and ends the test.
func ask(tb testing.TB, root, script string, request, answer any) {
	tb.Helper()
	askIn(tb, nil, root, script, request, answer)
}

// askIn is ask in a network.
func askIn(tb testing.TB, network *Network, root, script string, request, answer any) {
	tb.Helper()
	input, err := json.Marshal(request)
	if err != nil {
		tb.Fatal(err)
	}
	code, work := layOut(tb), tb.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-I", "-B", "-X", "utf8",
		filepath.Join(code, "run.py"), script, root, work)
	// blkid is where only root's PATH has it.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME=" + work, "TMPDIR=" + work,
		"LANG=C.UTF-8", "TZ=UTC"}
	cmd.Stdin = bytes.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	network.inside(tb, func() { err = cmd.Run() })
	if err != nil {
		tb.Fatalf("judge %s of %s: %v\n%s", script, root, err, tail(stderr.String(), 4000))
	}
	if err := json.Unmarshal(stdout.Bytes(), answer); err != nil {
		tb.Fatalf("judge %s of %s answered %q: %v", script, root, tail(stdout.String(), 400), err)
	}
}

// layOut writes the embedded scripts to a directory and returns it.
func layOut(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	tree, err := fs.Sub(scripts, "python")
	if err == nil {
		err = os.CopyFS(dir, tree)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// tail returns the last n bytes of s.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("[%d bytes cut] %s", len(s)-n, s[len(s)-n:])
}

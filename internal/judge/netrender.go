package judge

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Renderer names one of cloud-init's network renderers.
type Renderer string

// The renderers. Networkd's files are systemd's; Sysconfig's are of old Red Hat
// releases.
const (
	ENI            Renderer = "eni"
	Netplan        Renderer = "netplan"
	Networkd       Renderer = "networkd"
	Sysconfig      Renderer = "sysconfig"
	NetworkManager Renderer = "network-manager"
)

// Renderers are all of them, in a fixed order.
func Renderers() []Renderer {
	return []Renderer{ENI, Netplan, Networkd, Sysconfig, NetworkManager}
}

// NetKind is the format of a network document.
type NetKind string

// The formats that cloud-init reads. NetYAML is network-config version 1 or 2,
// with or without the network: wrapper.
const (
	NetYAML NetKind = "yaml"
	NetJSON NetKind = "network_data.json"
	NetENI  NetKind = "eni"
)

// NetDoc is one network document for one renderer.
type NetDoc struct {
	Doc      []byte   `json:"doc"`
	Kind     NetKind  `json:"kind"`
	Renderer Renderer `json:"renderer"`
	Distro   string   `json:"distro,omitempty"` // debian or rhel, as fits the renderer, if empty
	// NICs are those of the guest. NetJSON needs them unless its links have
	// names; with NICs the result has MissingNICs.
	NICs []NIC `json:"nics,omitempty"`
}

// Rendering is what a renderer wrote.
type Rendering struct {
	Files       map[string]string `json:"files"` // by the path in the guest
	Err         string            `json:"error"` // the exception that stopped it
	MissingNICs string            `json:"missing_nics"`
	Log         []LogEntry        `json:"log"`
}

// NetRender renders each document, in one process.
func (r *Release) NetRender(tb testing.TB, docs ...NetDoc) []Rendering {
	tb.Helper()
	var answer []Rendering
	ask(tb, r.Root, "netrender", map[string]any{"items": docs}, &answer)
	if len(answer) != len(docs) {
		tb.Fatalf("cloud-init %s rendered %d of %d documents", r.Name, len(answer), len(docs))
	}
	return answer
}

// NetplanGenerate has netplan's own generator check a netplan document and
// write what systemd-networkd or NetworkManager would read. Err has netplan's
// message, with line and column, if it refuses the document.
func NetplanGenerate(tb testing.TB, doc []byte) Rendering {
	tb.Helper()
	generator, libraries := netplanPaths(tb)
	root := tb.TempDir()
	dir := filepath.Join(root, "etc", "netplan")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "50-cloud-init.yaml"), doc, 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(generator, "--root-dir", root)
	cmd.Env = []string{"LD_LIBRARY_PATH=" + libraries, "PATH=/usr/bin:/bin"}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	var result Rendering
	if err := cmd.Run(); err != nil {
		result.Err = strings.TrimSpace(output.String())
		if result.Err == "" {
			result.Err = err.Error()
		}
		return result
	}
	if err := os.RemoveAll(dir); err != nil {
		tb.Fatal(err)
	}
	result.Files = readTree(tb, root)
	return result
}

// netplanPaths returns the generator and the directory of its library.
func netplanPaths(tb testing.TB) (generator, libraries string) {
	tb.Helper()
	for _, tree := range trees(tb) {
		if tree.Name != "netplan" {
			continue
		}
		found, err := filepath.Glob(filepath.Join(tree.Root, "usr/lib/*/libnetplan.so.*"))
		if err != nil || len(found) == 0 {
			missing(tb, "libnetplan in %s", tree.Root)
		}
		return filepath.Join(tree.Root, "usr/libexec/netplan/generate"), filepath.Dir(found[0])
	}
	missing(tb, "netplan's generator")
	return "", ""
}

// readTree returns every regular file below root by its absolute name there.
func readTree(tb testing.TB, root string) map[string]string {
	tb.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, root)] = string(content)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

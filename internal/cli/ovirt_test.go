package cli

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ova writes an archive with the files of names; those that end in .img are holes of a gibibyte.
func ova(t *testing.T, contents map[string]string, names ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "vm.ova")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range names {
		// A writer that is flushed and not closed leaves the file where the next header belongs.
		w := tar.NewWriter(f)
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(contents[name])), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		hole := strings.HasSuffix(name, ".img")
		if hole {
			h.Size = 1 << 30
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if hole {
			if _, err := f.Seek(h.Size, io.SeekCurrent); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, err := io.WriteString(w, contents[name]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := tar.NewWriter(f).Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func example(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../examples/ovirt/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The description is found wherever it stands, and what is larger than any definition may be is not read.
func TestArchive(t *testing.T) {
	contents := map[string]string{"vm.ovf": example(t, "web.ovf"), "web.mf": "SHA256(vm.ovf)= 0"}
	want, name, err := (&app{}).definition(t.Context(), "../../examples/ovirt/web.ovf")
	if err != nil || name != "../../examples/ovirt/web.ovf" {
		t.Fatal(name, err)
	}
	for _, names := range [][]string{{"vm.ovf", "disk.img"}, {"disk.img", "web.mf", "vm.ovf"}} {
		file := ova(t, contents, names...)
		got, name, err := (&app{}).definition(t.Context(), file)
		if err != nil || !bytes.Equal(got, want) || name != file+"/vm.ovf" {
			t.Errorf("%v: %d bytes of %s, %v", names, len(got), name, err)
		}
	}
	if _, _, err := (&app{}).definition(t.Context(), truncated(t, ova(t, contents, "vm.ovf", "disk.img"), 1<<29)); err != nil {
		t.Errorf("a disk that is cut off keeps its description from being read: %v", err)
	}
	for what, c := range map[string]struct{ file, want string }{
		"no description": {ova(t, contents, "web.mf", "disk.img"), "the archive holds no file *.ovf"},
		"cut off":        {truncated(t, ova(t, contents, "disk.img", "vm.ovf"), 1<<29), "the archive is broken"},
		"cut off inside": {truncated(t, ova(t, contents, "vm.ovf"), 1000), "vm.ovf, which describes the VM, is cut off"},
		"two of them":    {ova(t, map[string]string{"vm.ovf": "a", "b/vm2.OVF": "b"}, "vm.ovf", "disk.img", "b/vm2.OVF"), "several descriptions, vm.ovf and vm2.OVF"},
	} {
		if _, _, err := (&app{}).definition(t.Context(), c.file); err == nil || !strings.Contains(err.Error(), c.want) || statusOf(err) != exitInput {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func truncated(t *testing.T, file string, size int64) string {
	t.Helper()
	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}
	return file
}

// fakeEngine is an engine of oVirt that has one VM. It knows what the client needs and no more: the client's own tests and
// those of the daemon are about the rest.
func fakeEngine(t *testing.T, vm string) (address string) {
	const id = "3f0a1c52-9d0e-4c1b-8a55-1f7f6f7d2c10"
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ovirt-engine/sso/oauth/token":
			w.Header().Set("Content-Type", "application/json")
			if r.FormValue("username") == "ann@example" && r.FormValue("password") == canary {
				fmt.Fprint(w, `{"access_token":"token"}`)
				return
			}
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error_code":"access_denied","error":"no entry with %s"}`, r.FormValue("password"))
		case "/ovirt-engine/api/vms":
			fmt.Fprintf(w, `<vms><vm id="%s"><name>web-1</name></vm></vms>`, id)
		case "/ovirt-engine/api/vms/" + id:
			fmt.Fprint(w, vm)
		case "/ovirt-engine/api/vms/" + id + "/cdroms":
			fmt.Fprint(w, "<cdroms/>")
		case "/ovirt-engine/api/vms/" + id + "/diskattachments":
			fmt.Fprint(w, "<disk_attachments/>")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"OVIRT_USERNAME", "OVIRT_TOKEN", "OVIRT_INSECURE"} {
		t.Setenv(name, "")
	}
	t.Setenv("OVIRT_CAFILE", ca)
	t.Setenv("OVIRT_PASSWORD", canary)
	return strings.TrimPrefix(server.URL, "https://")
}

// A machine of a live engine is the machine of its document.
func TestEngine(t *testing.T) {
	host := fakeEngine(t, example(t, "vm.xml"))
	status, got, stderr := command(t, "", "convert", "--to", "kubevirt", "ovirt://ann@example@"+host+"/web-1")
	if status != exitDone {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	_, want, _ := command(t, "", "convert", "--to", "kubevirt", "../../examples/ovirt/vm.xml")
	if got != want || !strings.Contains(got, "kind: VirtualMachine") {
		t.Errorf("from the engine\n%s\nfrom the file\n%s", got, want)
	}
	t.Setenv("OVIRT_USERNAME", "ann@example")
	if status, _, stderr := command(t, "", "check", "ovirt://"+host+"/3F0A1C52-9d0e-4c1b-8a55-1f7f6f7d2c10"); status != exitDone {
		t.Errorf("by its id: status %d\n%s", status, stderr)
	}
	address, file := "ovirt://"+host+"/web-1", "../../examples/ovirt/vm.xml"
	_, shown, _ := command(t, "", "show", file)
	if status, got, stderr := command(t, "", "show", address); status != exitDone || got != shown {
		t.Errorf("show: status %d\n%s%s", status, got, stderr)
	}
	if status, got, stderr := command(t, "", "diff", address, file); status != exitDone || got != "" {
		t.Errorf("diff: status %d\n%s%s", status, got, stderr)
	}
}

func TestEngineTroubles(t *testing.T) {
	host := fakeEngine(t, example(t, "vm.xml"))
	for name, c := range map[string]struct {
		env, address string
		status       int
		want         string
	}{
		"wrong user":       {"", "ovirt://" + host + "/web-1", exitEnvironment, "does not let admin@internal in"},
		"no such VM":       {"OVIRT_USERNAME=ann@example", "ovirt://" + host + "/db", exitEnvironment, `no virtual machine "db"`},
		"no VM":            {"", "ovirt://" + host, exitUsage, "names no virtual machine"},
		"password":         {"", "ovirt://ann:" + canary + "@" + host + "/web-1", exitUsage, "set OVIRT_PASSWORD"},
		"unknown CA":       {"OVIRT_CAFILE=", "ovirt://" + host + "/web-1", exitEnvironment, "pki-resource"},
		"missing CA":       {"OVIRT_CAFILE=/nowhere/ca.pem", "ovirt://" + host + "/web-1", exitUsage, "OVIRT_CAFILE"},
		"insecure or not":  {"OVIRT_INSECURE=perhaps", "ovirt://" + host + "/web-1", exitUsage, "OVIRT_INSECURE is true or false"},
		"insecure is said": {"OVIRT_INSECURE=True", "ovirt://" + host + "/web-1", exitEnvironment, "can read the password"},
	} {
		t.Run(name, func(t *testing.T) {
			if key, value, ok := strings.Cut(c.env, "="); ok {
				t.Setenv(key, value)
			}
			status, stdout, stderr := command(t, "", "convert", c.address)
			if status != c.status || stdout != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("status %d, want %d\n%s%s", status, c.status, stdout, stderr)
			}
			if strings.Contains(stderr, canary) {
				t.Errorf("it says the password: %s", stderr)
			}
		})
	}
}

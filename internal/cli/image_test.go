package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/image/imagetest"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
)

// pushed puts a container image with a disk into a registry on this host, and returns its name and the disk.
func pushed(t *testing.T, repository string) (ref string, disk []byte) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	srv := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(srv.Close)
	ref = strings.TrimPrefix(srv.URL, "http://") + "/" + repository
	disk = append([]byte("a raw disk"), make([]byte, 100_000)...)
	img := imagetest.Disk(t, runtime.GOARCH, "disk/d.img", disk)
	at, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(at, img); err != nil {
		t.Fatal(err)
	}
	return ref, disk
}

// tagged gives the image of a reference another one as well.
func tagged(t *testing.T, ref, another string) {
	t.Helper()
	at, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(at)
	if err != nil {
		t.Fatal(err)
	}
	to, err := name.ParseReference(another)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(to, img); err != nil {
		t.Fatal(err)
	}
}

// ends demands an exit status and words on standard error, and returns standard output.
func ends(t *testing.T, want int, say string, args ...string) string {
	t.Helper()
	status, stdout, stderr := command(t, "", args...)
	if status != want || !strings.Contains(stderr, say) {
		t.Errorf("%v: exit status %d, want %d\n%s", args, status, want, stderr)
	}
	return stdout
}

func TestImageCommand(t *testing.T) {
	ref, disk := pushed(t, "team/web:1")
	ends(t, exitUsage, "needs one REF", "image", "pull")
	ends(t, exitUsage, "no command image \"push\"", "image", "push")
	ends(t, exitUsage, "takes no arguments", "image", "ls", "x")
	ends(t, exitUsage, "-o takes json", "image", "ls", "-o", "yaml")
	ends(t, exitUsage, "it knows debian:12", "image", "pull", "debian:99")
	ends(t, exitUsage, "add #sha256=HEX", "image", "pull", "https://127.0.0.1:1/x.img")
	ends(t, exitUsage, "only an image at a URL", "image", "pull", ref, "--checksum", "sha256:"+strings.Repeat("0", 64))
	ends(t, exitUsage, "--max-size takes a size", "image", "pull", ref, "--max-size", "many")
	ends(t, exitUsage, "--older-than takes", "image", "prune", "--older-than", "-1d")
	ends(t, exitUsage, "exclude each other", "image", "prune", "--older-than", "1d", "--all")
	ends(t, exitInput, "404 Not Found", "image", "pull", ref+"0")
	ends(t, exitInput, "larger than 1000 bytes", "image", "pull", ref, "--max-size", "1000")
	ends(t, exitEnvironment, "cannot be reached", "image", "pull", "127.0.0.1:1/x/y")
	ends(t, exitEnvironment, "cannot be reached", "image", "pull", "https://127.0.0.1:1/x.img", "--checksum", "sha256:"+strings.Repeat("0", 64))

	path := strings.TrimSpace(ends(t, exitDone, "pulling "+ref, "image", "pull", ref))
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, disk) {
		t.Fatalf("%s: %d bytes, %v", path, len(got), err)
	}
	if out := ends(t, exitDone, "", "image", "ls"); !strings.Contains(out, ref+"  "+runtime.GOARCH+"  raw") || !strings.Contains(out, filepath.Base(path)[:12]) {
		t.Error(out)
	}
	var listed []image.Entry
	if err := json.Unmarshal([]byte(ends(t, exitDone, "", "image", "ls", "-o", "json", "--verify")), &listed); err != nil || len(listed) != 1 || listed[0].Path != path {
		t.Errorf("%+v, %v", listed, err)
	}

	// A VM in a directory of its own has a disk that is an overlay on the image.
	root := filepath.Join(t.TempDir(), "vms")
	dir := filepath.Join(root, supervisor.DirName("default", "vm"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	overlay := make([]byte, 1024)
	copy(overlay, "QFI\xfb\x00\x00\x00\x03")
	binary.BigEndian.PutUint64(overlay[8:], 512)
	binary.BigEndian.PutUint32(overlay[16:], uint32(len(path)))
	if err := os.WriteFile(filepath.Join(dir, "disk0.qcow2"), append(overlay[:512], path...), 0o600); err != nil {
		t.Fatal(err)
	}
	ends(t, exitDone, "0 images removed", "image", "prune")
	ends(t, exitDone, "0 images removed", "image", "prune", "--older-than", "30d")
	ends(t, exitDone, "0 images removed", "image", "prune", "--all", "--state-dir", root)
	store, err := imageStore()
	if err != nil {
		t.Fatal(err)
	}
	if err := store.AddUser(root); err != nil {
		t.Fatal(err)
	}
	ends(t, exitDone, "0 images removed", "image", "prune", "--all")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	again := strings.TrimSuffix(ref, ":1") + ":again"
	tagged(t, ref, again)
	if other := strings.TrimSpace(ends(t, exitDone, "", "image", "pull", again)); other != path {
		t.Errorf("%s is at %s, %s at %s", ref, path, again, other)
	}
	if out := ends(t, exitDone, "1 image removed, 0.1 MB", "image", "prune", "--all"); !strings.Contains(out, ref) || !strings.Contains(out, again) {
		t.Error(out)
	}
	if out := ends(t, exitDone, "", "image", "ls", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Error(out)
	}
}

func TestRunImageFlag(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, say := range map[string]string{
		"gone.qcow2": "--image: there is no file gone.qcow2", "./gone": "--image: there is no file ./gone", "/gone/x": "--image: there is no file /gone/x",
		"gone": "there is no image", "debian:99": "it knows debian:12", "https://example.org/x.img": "add #sha256=HEX", "Team/web": "no name of a container image",
	} {
		ends(t, exitUsage, say, "run", "--image", text, "m.yaml")
	}
	ends(t, exitUsage, "--pull takes missing, always or never", "run", "--image", "https://example.org/x.img#sha256="+strings.Repeat("0", 64), "--pull", "daily", "m.yaml")
	for _, name := range []string{"debian:13", "plain"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if ref, err := boot.ParseImage(name); err != nil || ref.Kind != image.File {
			t.Errorf("%s is a file here, but is read as %s %s, %v", name, ref.Kind, ref, err)
		}
	}
}

// TestRunImages resolves what --image and definitions of several forms name.
func TestRunImages(t *testing.T) {
	ref, disk := pushed(t, "team/web:1")
	gone := strings.Replace(ref, "web", "gone", 1)
	for _, tt := range []struct {
		name, form, document, flag, pull string
		dry                              bool
		volume                           bool
		status                           int
		code                             diag.Code
		say                              string
	}{
		{name: "KubeVirt", form: "kubevirt", document: ref},
		{name: "KubeVirt, never", form: "kubevirt", document: ref, pull: "never", status: exitEnvironment, say: `the image of disk "data": ` + ref + ": is not in the store"},
		{name: "KubeVirt, unknown", form: "kubevirt", document: gone, code: image.CodeBadImage, say: gone + ": 127.0.0.1"},
		{name: "KubeVirt, unknown, but given", form: "kubevirt", document: gone, volume: true},
		{name: "KubeVirt, no name", form: "kubevirt", document: "Web:1", code: image.CodeBadReference, say: "no name of a container image"},
		{name: "KubeVirt, URL", form: "kubevirt", document: "https://example.org/x.img", code: image.CodeBadReference, say: "the URL has no checksum"},
		{name: "KubeVirt, unreachable", form: "kubevirt", document: "127.0.0.1:1/x", status: exitEnvironment, say: "cannot be reached"},
		{name: "native", form: "native", document: ref},
		{name: "native, missing file", form: "native", document: "gone.qcow2", code: image.CodeBadReference, say: "there is no such file"},
		{name: "Virtlet, name", form: "virtlet", document: "cirros"},
		{name: "Virtlet, URL", form: "virtlet", document: "https://example.org/x.img", code: image.CodeBadReference, say: "the URL has no checksum"},
		{name: "flag", form: "virtlet", document: "cirros", flag: ref},
		{name: "flag, unknown", form: "virtlet", document: "cirros", flag: gone, status: exitInput, say: "404"},
		{name: "dry run", form: "kubevirt", document: ref, dry: true, say: ref + " is not on this host; it would be pulled"},
		{name: "dry run, never", form: "kubevirt", document: ref, dry: true, pull: "never", status: exitEnvironment, say: "not in the store"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			var stderr bytes.Buffer
			a := &app{Streams: Streams{Out: io.Discard, Err: &stderr}, engine: newEngine()}
			o := boot.Options{Image: tt.flag, Pull: image.Policy(tt.pull), DryRun: tt.dry}
			m := machine.Machine{Name: "vm", Namespace: "default", Document: machine.Document{Form: tt.form},
				Disks: []machine.Disk{{Name: "root", Root: true, Source: machine.DiskSource{Blank: true}}, {Name: "data", Source: machine.DiskSource{Image: tt.document}}}}
			m.Places = machine.Places{"disks[1]": diag.Range{File: "vm.yaml"}}
			if tt.volume {
				o.Volumes = []boot.Volume{{Name: "data", Volume: hypervisor.Volume{Path: "/d"}}}
			}
			root := t.TempDir()
			p, l, err := a.launcher(root).Try(context.Background(), m, o)
			err = bootTrouble(context.Background(), err)
			if (err != nil) != (tt.status != 0) || err != nil && (hostStatus(err) != tt.status || !strings.Contains(err.Error(), tt.say)) {
				t.Fatalf("got %v (status %d), want status %d, %s", err, hostStatus(err), tt.status, tt.say)
			}
			if p != nil {
				defer p.Discard()
				for _, ref := range p.Absent {
					fmt.Fprintf(&stderr, "%s is not on this host; it would be pulled", ref)
				}
			}
			if tt.code != 0 {
				if len(l) != 1 || l[0].Code != tt.code || l[0].Range.File != "vm.yaml" || l[0].Field != "disks[1].source.image" || !strings.Contains(l[0].Summary, tt.say) ||
					!strings.Contains(l[0].Remedy, "--volume data=PATH") {
					t.Errorf("got %+v", l)
				}
				return
			}
			if len(l) != 0 || err == nil && !strings.Contains(stderr.String(), tt.say) {
				t.Errorf("got %v\n%s", l, &stderr)
			}
			pulled := !tt.volume && (tt.document != "cirros" || tt.flag != "")
			if err != nil {
				return
			}
			v := p.VM.Volumes["data"]
			if tt.flag != "" {
				v = p.VM.Volumes["root"]
			}
			switch {
			case !pulled:
				if v.Overlay {
					t.Errorf("got %+v", p.VM.Volumes)
				}
			case tt.dry:
				if filepath.Base(v.Path) != "image" || !v.Overlay {
					t.Errorf("got %+v", p.VM.Volumes)
				}
				if files, err := os.ReadDir(os.Getenv("XDG_CACHE_HOME")); err != nil || len(files) != 0 {
					t.Errorf("%v, %v: a dry run writes into the cache", files, err)
				}
			default:
				checkPulled(t, v, disk, root)
			}
		})
	}
}

// checkPulled holds that a volume is an overlay on an image that is in the store, and held there.
func checkPulled(t *testing.T, v hypervisor.Volume, disk []byte, root string) {
	t.Helper()
	got, err := os.ReadFile(v.Path)
	if err != nil || !bytes.Equal(got, disk) || !v.Overlay {
		t.Errorf("%+v: %d bytes, %v", v, len(got), err)
	}
	store, err := imageStore()
	if err != nil {
		t.Fatal(err)
	}
	users, err := store.Users()
	if err != nil || len(users) > 1 || len(users) == 1 && users[0] != root {
		t.Errorf("%v, %v: the directory of VMs is not known to the store", users, err)
	}
	// The image is held until the VM's disk is made.
	if gone, err := store.Prune(context.Background(), image.PruneOptions{All: true}); err != nil || len(gone) != 0 {
		t.Errorf("%v, %v was pruned", gone, err)
	}
}

// hostStatus is the exit status of an error that may be of this host.
func hostStatus(err error) int { return statusOf(hostTrouble(err)) }

// TestRunImageFile holds that the image of a second disk is fetched although that of the first is a file.
func TestRunImageFile(t *testing.T) {
	ref, _ := pushed(t, "team/drivers:1")
	root := filepath.Join(t.TempDir(), "root.img")
	if err := os.WriteFile(root, make([]byte, 512), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{Streams: Streams{Out: io.Discard, Err: io.Discard}, engine: newEngine()}
	m := machine.Machine{Name: "vm", Namespace: "default", Document: machine.Document{Form: "kubevirt"}, Disks: []machine.Disk{
		{Name: "root", Root: true, Source: machine.DiskSource{Image: "127.0.0.1:1/x"}}, {Name: "drivers", Source: machine.DiskSource{Image: ref}}}}
	p, l, err := a.launcher(t.TempDir()).Try(t.Context(), m, boot.Options{Image: root})
	if err != nil || len(l) != 0 {
		t.Fatal(err, l)
	}
	defer p.Discard()
	if !p.VM.Volumes["drivers"].Overlay {
		t.Errorf("got %+v", p.VM.Volumes)
	}
}

func TestBar(t *testing.T) {
	for _, tt := range []struct {
		s     image.Progress
		since time.Duration
		want  string
	}{
		{image.Progress{}, 0, "0.0 MB"},
		{image.Progress{Done: 5e6}, 2 * time.Second, "5.0 MB  2.5 MB/s"},
		{image.Progress{Done: 0, Total: 10e6}, 0, "[------------------------]   0%  0.0 MB of 10.0 MB"},
		{image.Progress{Done: 5e6, Total: 10e6}, time.Second, "[############------------]  50%  5.0 MB of 10.0 MB  5.0 MB/s"},
		{image.Progress{Done: 10e6, Total: 10e6}, 0, "[########################] 100%  10.0 MB of 10.0 MB"},
		{image.Progress{Done: 20e6, Total: 10e6}, 0, "[########################] 100%  20.0 MB of 10.0 MB"},
	} {
		if got := bar(tt.s, tt.since); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.s, got, tt.want)
		}
	}
	ref, err := image.Parse("team/web")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, live := range []bool{false, true} {
		out.Reset()
		p := &progress{out: &out, live: live, start: time.Now(), ending: "\n"}
		show := p.pulling(ref)
		for _, s := range []image.Progress{{Waiting: true}, {Done: 1, Total: 2}, {Done: 2, Total: 2}} {
			show(s)
		}
		p.end()
		p.end()
		text := out.String()
		if bars := strings.Count(text, "%"); live && bars != 2 || !live && bars != 0 || !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") ||
			!slices.ContainsFunc(strings.Split(text, "\n"), func(s string) bool { return strings.HasSuffix(s, "pulling docker.io/team/web:latest") }) {
			t.Errorf("live %t: %q", live, text)
		}
	}
}

func TestAge(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "90m": 90 * time.Minute, "0d": 0} {
		if got, err := age(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "-1d", "99999999d", "month"} {
		if got, err := age(text); err == nil {
			t.Errorf("%s: %s", text, got)
		}
	}
}

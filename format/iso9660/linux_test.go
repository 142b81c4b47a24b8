//go:build conformance

package iso9660

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/testguest"
)

// linuxMount is one way to mount a volume in the guest; it is the request to the probe and part of its answer.
type linuxMount struct{ Serial, Type, Options string }

// TestLinux mounts volumes in a Linux guest and compares what its isofs shows with what was written.
func TestLinux(t *testing.T) {
	volumes := map[string][]File{"seed": seedFiles(), "tree": treeFiles(), "drive": configDrive(), "none": nil}
	dir := t.TempDir()
	var plan []linuxMount
	var disks []testguest.Drive
	readers := make(map[string]*Reader)
	for serial, files := range volumes {
		image := write(t, files, Options{Label: "cidata"})
		readers[serial] = open(t, image)
		path := filepath.Join(dir, serial+".iso")
		if err := os.WriteFile(path, image, 0o600); err != nil {
			t.Fatal(err)
		}
		disks = append(disks, testguest.Drive{Path: path, Serial: serial, ReadOnly: true})
		for _, options := range []string{"", "norock", "nojoliet", "norock,nojoliet"} {
			plan = append(plan, linuxMount{serial, "iso9660", options})
		}
	}
	mounts, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	output := testguest.Initramfs(t, testguest.InitramfsConfig{
		Probe: "github.com/vmseed/vmseed/format/iso9660/internal/mountprobe",
		Disks: disks,
		Files: map[string][]byte{"mounts.json": mounts},
	})
	shown := make(map[linuxMount]map[string]string)
	for _, m := range plan {
		shown[m] = make(map[string]string)
	}
	for line := range strings.Lines(output) {
		var e struct {
			linuxMount
			Path, SHA256, Error string
			Mode                os.FileMode
			MTime               int64
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if e.Error != "" {
			t.Errorf("%s, options %q, %q: %s", e.Serial, e.Options, e.Path, e.Error)
			continue
		}
		if strings.Contains(e.Options, "norock") {
			e.Mode = e.Mode.Type()
		}
		shown[e.linuxMount][e.Path] = fmt.Sprint(e.Mode, " ", time.Unix(e.MTime, 0).UTC().Format(time.RFC3339), " ", e.SHA256)
	}
	for _, m := range plan {
		t.Run(m.Serial+"/"+m.Options, func(t *testing.T) {
			switch m.Options {
			case "", "nojoliet":
				diff(t, shown[m], want(volumes[m.Serial], true))
			default:
				names := Joliet
				if m.Options == "norock,nojoliet" {
					names = Plain
				}
				view, err := readers[m.Serial].Through(names)
				if err != nil {
					t.Fatal(err)
				}
				diff(t, shown[m], snapshot(t, view, false))
			}
		})
	}
}

package node

import (
	"testing"
	"testing/fstest"
)

// files are those of /proc, /sys and /etc that are read, as proc(5) and os-release(5) describe them.
func files() fstest.MapFS {
	m := fstest.MapFS{}
	for name, content := range map[string]string{
		"proc/meminfo":                   "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    8000000 kB\nHugePages_Total:       0\n",
		"proc/stat":                      "cpu  100 20 30 4000 500 6 7 8 90 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n",
		"proc/loadavg":                   "0.10 0.20 0.30 2/321 4567\n",
		"proc/sys/kernel/pid_max":        "4194304\n",
		"proc/sys/kernel/osrelease":      "6.1.0-42-amd64\n",
		"proc/sys/kernel/random/boot_id": "b\n",
		"etc/machine-id":                 "m\n",
		"sys/class/dmi/id/product_uuid":  "u\n",
		"etc/os-release":                 "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
	} {
		m[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return m
}

func TestHost(t *testing.T) {
	h := linux{dir: t.TempDir(), root: files()}
	f, err := h.Facts()
	if err != nil {
		t.Fatal(err)
	}
	if f.Memory != 16000000<<10 || f.CPUs < 1 || f.Storage <= 0 || f.System.OSImage != "Debian GNU/Linux 12 (bookworm)" || f.System.KernelVersion != "6.1.0-42-amd64" ||
		f.System.MachineID != "m" || f.System.SystemUUID != "u" || f.System.BootID != "b" || f.System.OperatingSystem != "linux" {
		t.Errorf("the facts are %+v", f)
	}
	m, err := h.Measure()
	if err != nil {
		t.Fatal(err)
	}
	// user + nice + system + irq + softirq + steal, in hundredths of a second.
	if m.CPUSeconds != 1.71 || m.MemoryAvailable != 8000000<<10 || m.Processes != 321 || m.ProcessLimit != 4194304 || m.StorageTotal <= 0 {
		t.Errorf("the measure is %+v", m)
	}
}

// TestHostWithoutNumbers: a host that cannot be measured is an error, never one with nothing.
func TestHostWithoutNumbers(t *testing.T) {
	for _, name := range []string{"proc/meminfo", "proc/stat"} {
		broken := files()
		broken[name] = &fstest.MapFile{Data: []byte("?\n")}
		if m, err := (linux{dir: t.TempDir(), root: broken}).Measure(); err == nil {
			t.Errorf("a host whose %s is not understood measures %+v", name, m)
		}
	}
	if _, err := (linux{dir: "/nowhere/at/all", root: files()}).Facts(); err == nil {
		t.Error("a directory that is not there has a file system")
	}
}

package node

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// clockTicks is the unit of times in /proc/stat, per second: USER_HZ, which is 100 on every architecture that Go runs on.
const clockTicks = 100

// ThisHost is the machine that the process runs on. dir is where the disks of pods are.
func ThisHost(dir string) Host { return linux{dir: dir, root: os.DirFS("/")} }

// linux reads /proc, /sys and /etc below root.
type linux struct {
	dir  string
	root fs.FS
}

// Facts implements Host.
func (h linux) Facts() (Facts, error) {
	memory, err := h.memory()
	if err != nil {
		return Facts{}, err
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(h.dir, &disk); err != nil {
		return Facts{}, fmt.Errorf("the file system of %s: %w", h.dir, err)
	}
	f := Facts{CPUs: int64(runtime.NumCPU()), Memory: memory["MemTotal"], Storage: int64(disk.Blocks) * disk.Bsize}
	f.System = corev1.NodeSystemInfo{
		MachineID:       h.line("etc/machine-id"),
		SystemUUID:      h.line("sys/class/dmi/id/product_uuid"),
		BootID:          h.line("proc/sys/kernel/random/boot_id"),
		KernelVersion:   h.line("proc/sys/kernel/osrelease"),
		OSImage:         h.distribution(),
		OperatingSystem: runtime.GOOS,
		Architecture:    runtime.GOARCH,
	}
	return f, nil
}

// Measure implements Host.
func (h linux) Measure() (Measure, error) {
	memory, err := h.memory()
	if err != nil {
		return Measure{}, err
	}
	busy, err := h.busy()
	if err != nil {
		return Measure{}, err
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(h.dir, &disk); err != nil {
		return Measure{}, fmt.Errorf("the file system of %s: %w", h.dir, err)
	}
	m := Measure{
		CPUSeconds: busy, MemoryTotal: memory["MemTotal"], MemoryAvailable: memory["MemAvailable"],
		StorageTotal: int64(disk.Blocks) * disk.Bsize, StorageFree: int64(disk.Bavail) * disk.Bsize,
		Inodes: int64(disk.Files), InodesFree: int64(disk.Ffree),
	}
	m.ProcessLimit, _ = strconv.ParseInt(h.line("proc/sys/kernel/pid_max"), 10, 64)
	// proc(5): the fourth field of loadavg is the number of runnable tasks and that of all tasks.
	if fields := strings.Fields(h.line("proc/loadavg")); len(fields) > 3 {
		_, all, _ := strings.Cut(fields[3], "/")
		m.Processes, _ = strconv.ParseInt(all, 10, 64)
	}
	return m, nil
}

// memory reads /proc/meminfo, in bytes.
func (h linux) memory() (map[string]int64, error) {
	file, err := h.root.Open("proc/meminfo")
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // It was only read.
	values := map[string]int64{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err == nil {
			values[name] = n << 10
		}
	}
	if values["MemTotal"] == 0 {
		return nil, errors.Join(lines.Err(), errors.New("/proc/meminfo does not say how much memory there is"))
	}
	return values, nil
}

// busy reads from /proc/stat how long the processors were not idle, in seconds. Guests' time is part of user time.
func (h linux) busy() (float64, error) {
	fields := strings.Fields(h.line("proc/stat"))
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, errors.New("/proc/stat does not begin with the processors' times")
	}
	var ticks int64
	for i, f := range fields[1:9] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		if i != 3 && i != 4 { // idle and iowait
			ticks += n
		}
	}
	return float64(ticks) / clockTicks, nil
}

// line returns the first line of a file, or nothing.
func (h linux) line(name string) string {
	b, err := fs.ReadFile(h.root, path.Clean(name))
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(first)
}

// distribution returns PRETTY_NAME of os-release(5).
func (h linux) distribution() string {
	b, err := fs.ReadFile(h.root, "etc/os-release")
	if err != nil {
		return ""
	}
	for l := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(l, "PRETTY_NAME="); ok {
			return strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	return ""
}

package judge

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Identified is the decision of ds-identify, which systemd asks before
// cloud-init: without it cloud-init does not run at all.
type Identified struct {
	Enabled     bool
	DataSources []string // the datasource_list it writes for cloud-init
	Log         string
}

// sysfsName maps dmidecode's names to the files of /sys/class/dmi/id that
// ds-identify reads.
func sysfsName(dmidecode string) string {
	switch dmidecode {
	case "system-manufacturer":
		return "sys_vendor"
	case "chassis-asset-tag":
		return "chassis_asset_tag"
	}
	name := strings.NewReplacer("system-", "product_", "baseboard-", "board_").Replace(dmidecode)
	name = strings.NewReplacer("serial-number", "serial", "product-name", "name").Replace(name)
	return strings.ReplaceAll(name, "-", "_")
}

// DSIdentify runs the release's ds-identify for a machine. Of the request it
// takes Disks, DMI, Cmdline, Files, SystemConfig and DataSources; unlike Boot it
// has the script's own list where DataSources is empty.
func (r *Release) DSIdentify(tb testing.TB, request BootRequest) Identified {
	tb.Helper()
	needTools(tb, "blkid")
	root := tb.TempDir()
	write := func(name string, content []byte) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	config := request.SystemConfig + "\n"
	if len(request.DataSources) > 0 {
		config += fmt.Sprintf("datasource_list: [ %s ]\n", strings.Join(request.DataSources, ", "))
	}
	write("etc/cloud/cloud.cfg", []byte(config))
	write("proc/cmdline", []byte(request.Cmdline+"\n"))
	write("run/.exists", nil)
	write("sys/class/dmi/id/product_name", []byte("Standard PC\n"))
	for key, value := range request.DMI {
		write("sys/class/dmi/id/"+sysfsName(key), []byte(value+"\n"))
	}
	for name, content := range request.Files {
		write(name, content)
	}
	write("blkid", probeAll(tb, request.Disks))

	wrapper, err := scripts.ReadFile("dsidentify.sh")
	if err != nil {
		tb.Fatal(err)
	}
	write("judge.sh", wrapper)
	cmd := exec.Command("/bin/sh", filepath.Join(root, "judge.sh"),
		filepath.Join(r.Root, "usr/lib/cloud-init/ds-identify"), root, filepath.Join(root, "blkid"))
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Dir = root
	output, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		tb.Fatalf("ds-identify %s: %v\n%s", r.Name, err, output)
	}
	result := Identified{Enabled: err == nil, Log: string(output)}
	for _, name := range []string{"log", "run/cloud-init/cloud.cfg"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // not written when nothing was found
		}
		if name == "log" {
			result.Log += string(content)
			continue
		}
		result.DataSources = datasourceList(string(content))
	}
	return result
}

// datasourceList reads "datasource_list: [ A, B ]", the only form ds-identify
// writes.
func datasourceList(config string) []string {
	for line := range strings.Lines(config) {
		if list, ok := strings.CutPrefix(strings.TrimSpace(line), "datasource_list:"); ok {
			return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("[], ", r) })
		}
	}
	return nil
}

// probeAll is what blkid would print in a guest with these disks.
func probeAll(tb testing.TB, disks []Disk) []byte {
	tb.Helper()
	var all bytes.Buffer
	for _, disk := range disks {
		cmd := exec.Command("blkid", "-p", "-o", "export", disk.Path)
		out, err := cmd.Output()
		if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 2) {
			tb.Fatalf("blkid %s: %v", disk.Path, err)
		}
		all.WriteString("DEVNAME=" + disk.Device + "\n")
		for line := range bytes.Lines(out) {
			if !bytes.HasPrefix(line, []byte("DEVNAME=")) {
				all.Write(line)
			}
		}
		all.WriteByte('\n')
	}
	return all.Bytes()
}

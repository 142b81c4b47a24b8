package subresources

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestParseGuest holds what is read from the lines of a guest.
func TestParseGuest(t *testing.T) {
	got := parseGuest([]byte(`os PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
os NAME="Debian GNU/Linux"
os VERSION_ID="12"
os VERSION="12 (\"book\` + "`" + `worm\\)"
os ID=debian
os # a comment
kernel 6.1.0-28-amd64
build #1 SMP Debian 6.1.119-1
machine x86_64
hostname web.example.org
timezone CET +0100
user root     ttyS0        2026-11-22 02:25
user debian   pts/0        2026-11-22 01:00 (10.0.2.2)
user debian   pts/1        2026-11-21 23:00 (10.0.2.2)
user odd      tty1         Nov 22 01:00
fs /dev/vda1      ext4 2031440 1020304 900000      54% /
fs /dev/vdb       vfat 100 50 50 50% /mnt/a b
fs tmpfs          tmpfs 100 50 50 50% /run
fs /dev/broken    ext4 x y z 1% /
nonsense
`))
	want := kubevirtv1.VirtualMachineInstanceGuestAgentInfo{
		Hostname: "web.example.org", Timezone: "CET, 3600",
		OS: kubevirtv1.VirtualMachineInstanceGuestOSInfo{Name: "Debian GNU/Linux", KernelRelease: "6.1.0-28-amd64", Version: "12 (\"book`worm\\)",
			PrettyName: "Debian GNU/Linux 12 (bookworm)", VersionID: "12", KernelVersion: "#1 SMP Debian 6.1.119-1", Machine: "x86_64", ID: "debian"},
		UserList: []kubevirtv1.VirtualMachineInstanceGuestOSUser{
			{UserName: "root", LoginTime: float64(time.Date(2026, 11, 22, 2, 25, 0, 0, time.UTC).Unix())},
			{UserName: "debian", LoginTime: float64(time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC).Unix())},
			{UserName: "odd"},
		},
		FSInfo: kubevirtv1.VirtualMachineInstanceFileSystemInfo{Filesystems: []kubevirtv1.VirtualMachineInstanceFileSystem{
			{DiskName: "vda1", MountPoint: "/", FileSystemType: "ext4", UsedBytes: 1020304 << 10, TotalBytes: 2031440 << 10},
			{DiskName: "vdb", MountPoint: "/mnt/a b", FileSystemType: "vfat", UsedBytes: 50 << 10, TotalBytes: 100 << 10},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestGuestAnswers holds which instances are asked, and what a caller hears of a guest that cannot answer.
func TestGuestAnswers(t *testing.T) {
	silent := instanceX(kubevirtv1.Running)
	silent.Status.Conditions = nil
	for name, test := range map[string]struct {
		objects []client.Object
		err     error
		code    int
		says    string
	}{
		"answers":   {[]client.Object{instanceX(kubevirtv1.Running), launcherX("vmi")}, nil, http.StatusOK, `"items":[]`},
		"no shell":  {[]client.Object{instanceX(kubevirtv1.Running), launcherX("vmi")}, &exitError{status: 127, stderr: "not found"}, http.StatusInternalServerError, "ended with status 127: not found"},
		"no answer": {[]client.Object{instanceX(kubevirtv1.Running), launcherX("vmi")}, context.DeadlineExceeded, http.StatusGatewayTimeout, "the guest does not answer"},
		"no node":   {[]client.Object{instanceX(kubevirtv1.Running), launcherX("vmi")}, errors.New("dial tcp: refused"), http.StatusInternalServerError, "refused"},
		"no agent":  {[]client.Object{silent, launcherX("vmi")}, nil, http.StatusConflict, "VMI does not have guest agent connected"},
		"no pod":    {[]client.Object{instanceX(kubevirtv1.Running)}, nil, http.StatusConflict, "no launcher pod of the VMI is running"},
		"halted":    {[]client.Object{instanceX(kubevirtv1.Succeeded)}, nil, http.StatusConflict, "VMI is not running"},
		"nothing":   {nil, nil, http.StatusNotFound, "not found"},
	} {
		h := serve(t, Options{}, interceptor.Funcs{}, test.objects...)
		h.Server.pods.(*fakePods).exec = func([]string) ([]byte, error) { return nil, test.err }
		if response, body := h.do(t, "owner", http.MethodGet, url(instances, "userlist"), ""); response.StatusCode != test.code || !strings.Contains(body, test.says) {
			t.Errorf("%s: %d %s, want %d and %q", name, response.StatusCode, body, test.code, test.says)
		}
	}
}

// TestReboot runs the script with a shutdown that is not the machine's.
func TestReboot(t *testing.T) {
	dir := t.TempDir()
	done := filepath.Join(dir, "done")
	for name, text := range map[string]string{"shutdown": `echo "$@" >` + done + `.new; mv ` + done + `.new ` + done, "sleep": `test "$*" = 1`} {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+text+"\n"), 0o700))
	}
	command := exec.Command("/bin/sh", "-c", rebootScript)
	command.Env = []string{"PATH=" + dir}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eventually(t, "the guest shuts down", func() bool { _, err := os.Stat(done); return err == nil })
	if got, err := os.ReadFile(done); err != nil || string(got) != "-r now\n" {
		t.Errorf("shutdown %q, %v", got, err)
	}
	command = exec.Command("/bin/sh", "-c", rebootScript)
	command.Env = []string{"PATH=" + t.TempDir()}
	if out, err := command.CombinedOutput(); err == nil || !strings.Contains(string(out), "neither shutdown nor reboot") {
		t.Errorf("a guest without the commands: %v %s", err, out)
	}
}

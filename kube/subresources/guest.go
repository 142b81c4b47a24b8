package subresources

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// guestTimeout is how long a guest may take to answer.
const guestTimeout = 30 * time.Second

// The scripts that guests run, with the POSIX shell.
var (
	//go:embed guest/info.sh
	infoScript string
	//go:embed guest/reboot.sh
	rebootScript string
)

// ask runs a script in the guest by the guest agent, after the checks that KubeVirt makes.
func (s *Server) ask(ctx context.Context, t target, script string) ([]byte, *apierrors.StatusError) {
	vmi, failure := s.instance(ctx, t)
	if failure != nil {
		return nil, failure
	}
	if vmi.Status.Phase != kubevirtv1.Running {
		return nil, conflict(t, instanceStopped)
	}
	if !hasCondition(vmi, kubevirtv1.VirtualMachineInstanceAgentConnected) {
		return nil, conflict(t, "VMI does not have guest agent connected")
	}
	pod, failure := s.runningPod(ctx, t, vmi)
	if failure != nil {
		return nil, failure
	}
	ctx, cancel := context.WithTimeout(ctx, guestTimeout)
	defer cancel()
	out, err := s.pods.Exec(ctx, pod, "/bin/sh", "-c", script)
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		return nil, apierrors.NewInternalError(exit)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, apierrors.NewTimeoutError("the guest does not answer", 5)
	case err != nil:
		return nil, s.failed(t, err)
	}
	return out, nil
}

// softReboot answers PUT virtualmachineinstances/NAME/softreboot: the guest's own reboot, which runs no first boot again.
func (s *Server) softReboot(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	if _, failure := s.ask(r.Context(), t, rebootScript); failure != nil {
		return failure
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// guestInfo answers GET virtualmachineinstances/NAME/guestosinfo. The agent's own version and commands are not in it: only
// what a command in the guest can see.
func (s *Server) guestInfo(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	out, failure := s.ask(r.Context(), t, infoScript)
	if failure == nil {
		writeJSON(w, http.StatusOK, parseGuest(out))
	}
	return failure
}

// guestUsers answers GET virtualmachineinstances/NAME/userlist.
func (s *Server) guestUsers(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	out, failure := s.ask(r.Context(), t, infoScript)
	if failure == nil {
		list := kubevirtv1.VirtualMachineInstanceGuestOSUserList{Items: parseGuest(out).UserList}
		if list.Items == nil {
			list.Items = []kubevirtv1.VirtualMachineInstanceGuestOSUser{}
		}
		writeJSON(w, http.StatusOK, list)
	}
	return failure
}

// guestFileSystems answers GET virtualmachineinstances/NAME/filesystemlist.
func (s *Server) guestFileSystems(w http.ResponseWriter, r *http.Request, t target) *apierrors.StatusError {
	out, failure := s.ask(r.Context(), t, infoScript)
	if failure == nil {
		list := kubevirtv1.VirtualMachineInstanceFileSystemList{Items: parseGuest(out).FSInfo.Filesystems}
		if list.Items == nil {
			list.Items = []kubevirtv1.VirtualMachineInstanceFileSystem{}
		}
		writeJSON(w, http.StatusOK, list)
	}
	return failure
}

// parseGuest reads what info.sh writes: lines that begin with what they are about. A line that is not understood says
// nothing; the guest decides about them all, so none of them can do harm.
func parseGuest(out []byte) kubevirtv1.VirtualMachineInstanceGuestAgentInfo {
	var info kubevirtv1.VirtualMachineInstanceGuestAgentInfo
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		what, rest, _ := strings.Cut(lines.Text(), " ")
		switch what {
		case "os":
			parseRelease(&info.OS, rest)
		case "kernel":
			info.OS.KernelRelease = rest
		case "build":
			info.OS.KernelVersion = rest
		case "machine":
			info.OS.Machine = rest
		case "hostname":
			info.Hostname = rest
		case "timezone":
			info.Timezone = timezone(rest)
		case "user":
			addUser(&info.UserList, rest)
		case "fs":
			if fs, ok := parseFileSystem(rest); ok {
				info.FSInfo.Filesystems = append(info.FSInfo.Filesystems, fs)
			}
		}
	}
	return info
}

// parseRelease reads a line of os-release (freedesktop.org, "os-release").
func parseRelease(os *kubevirtv1.VirtualMachineInstanceGuestOSInfo, line string) {
	key, value, ok := strings.Cut(line, "=")
	if !ok {
		return
	}
	if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
		value = strings.NewReplacer(`\"`, `"`, `\$`, `$`, "\\`", "`", `\\`, `\`).Replace(value[1 : len(value)-1])
	}
	switch key {
	case "NAME":
		os.Name = value
	case "VERSION":
		os.Version = value
	case "PRETTY_NAME":
		os.PrettyName = value
	case "VERSION_ID":
		os.VersionID = value
	case "ID":
		os.ID = value
	}
}

// timezone turns a name and an offset of the form +hhmm into KubeVirt's form, the name and the offset in seconds.
func timezone(text string) string {
	name, offset, _ := strings.Cut(text, " ")
	at, err := time.Parse("-0700", offset)
	if err != nil {
		return name
	}
	_, seconds := at.Zone()
	return name + ", " + strconv.Itoa(seconds)
}

// addUser reads a line of who(1) in UTC: name, terminal and the time of the login. A user is listed once, with the first login.
func addUser(users *[]kubevirtv1.VirtualMachineInstanceGuestOSUser, line string) {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return
	}
	user := kubevirtv1.VirtualMachineInstanceGuestOSUser{UserName: fields[0]}
	if len(fields) > 3 {
		if at, err := time.Parse("2006-01-02 15:04", fields[2]+" "+fields[3]); err == nil {
			user.LoginTime = float64(at.Unix())
		}
	}
	for i := range *users {
		if had := &(*users)[i]; had.UserName == user.UserName {
			if had.LoginTime == 0 || user.LoginTime != 0 && user.LoginTime < had.LoginTime {
				had.LoginTime = user.LoginTime
			}
			return
		}
	}
	*users = append(*users, user)
}

// parseFileSystem reads a line of df -kPT: device, type, KiB in all, KiB used, KiB free, share, mount point.
func parseFileSystem(line string) (kubevirtv1.VirtualMachineInstanceFileSystem, bool) {
	fields := strings.Fields(line)
	if len(fields) < 7 || !strings.HasPrefix(fields[0], "/dev/") {
		return kubevirtv1.VirtualMachineInstanceFileSystem{}, false
	}
	total, err := strconv.ParseInt(fields[2], 10, 52)
	if err != nil {
		return kubevirtv1.VirtualMachineInstanceFileSystem{}, false
	}
	used, err := strconv.ParseInt(fields[3], 10, 52)
	if err != nil {
		return kubevirtv1.VirtualMachineInstanceFileSystem{}, false
	}
	return kubevirtv1.VirtualMachineInstanceFileSystem{
		DiskName: path.Base(fields[0]), FileSystemType: fields[1], MountPoint: strings.Join(fields[6:], " "),
		TotalBytes: int(total << 10), UsedBytes: int(used << 10),
	}, true
}

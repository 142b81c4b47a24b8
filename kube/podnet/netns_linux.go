package podnet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// isNamespace reports whether a network namespace is bound to a path: after a reboot there is a plain file, or nothing.
func isNamespace(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Type == unix.NSFS_MAGIC
}

// createNamespace makes a network namespace and binds it to a path, which keeps it alive without a process.
func createNamespace(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o444)
	if err != nil {
		return err
	}
	f.Close()
	err = onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		if err := unix.Mount("/proc/thread-self/ns/net", path, "none", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind the namespace to %s: %w", path, err)
		}
		return prepare()
	})
	if err != nil {
		return errors.Join(err, removeNamespace(path))
	}
	return nil
}

// shareMounts makes a directory a mount point whose mounts other mount namespaces see come and go, as ip-netns(8) does.
// A process that was started with a copy of a pod's mount would keep the namespace alive otherwise.
func shareMounts(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err := unix.Mount("", dir, "none", unix.MS_SHARED|unix.MS_REC, "")
	if errors.Is(err, unix.EINVAL) {
		if err = unix.Mount(dir, dir, "none", unix.MS_BIND|unix.MS_REC, ""); err == nil {
			err = unix.Mount("", dir, "none", unix.MS_SHARED|unix.MS_REC, "")
		}
	}
	if err != nil {
		return fmt.Errorf("make %s a shared mount: %w", dir, err)
	}
	return nil
}

// prepare sets up the namespace of the calling thread. The host's settings are copied into new namespaces, and a node
// forwards packets; a pod's namespace must not.
func prepare() error {
	for name, value := range map[string]string{"ipv4/ip_forward": "0", "ipv6/conf/all/forwarding": "0", "ipv6/conf/default/accept_ra": "0",
		"ipv4/conf/all/rp_filter": "0", "ipv4/conf/default/rp_filter": "0",
		// With br_netfilter the packets of guests would pass the namespace's connection tracking.
		"bridge/bridge-nf-call-iptables": "0", "bridge/bridge-nf-call-ip6tables": "0", "bridge/bridge-nf-call-arptables": "0"} {
		if err := sysctl(name, value); err != nil {
			return err
		}
	}
	return linkUp("lo")
}

// sysctl sets a value of the calling thread's network namespace. What the kernel was built without is passed over.
func sysctl(name, value string) error {
	err := os.WriteFile(filepath.Join("/proc/sys/net", name), []byte(value), 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeNamespace removes a namespace and its name. One that a process still uses goes with that process.
func removeNamespace(path string) error {
	for {
		err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		if err == nil {
			continue // a name may have been bound twice
		}
		if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("unmount %s: %w", path, err)
		}
		break
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// within runs a function in a network namespace.
func within(path string, f func() error) error {
	ns, err := os.Open(path)
	if err != nil {
		return err
	}
	defer ns.Close()
	return onThread(func() error {
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter %s: %w", path, err)
		}
		return f()
	})
}

// onThread runs a function on a thread of its own, which ends with it: whatever namespace the function enters is nobody
// else's. The process's first thread cannot end: it would hold the namespace for ever and show it as the process's in
// /proc/PID/net, so it is kept waiting while another one does the work.
func onThread(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			result <- onThread(f)
			return
		}
		result <- f() // and never unlocked, so that the thread is not used again
	}()
	return <-result
}

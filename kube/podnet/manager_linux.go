package podnet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

// Manager gives the pods of one node their networks. Its methods may be called at the same time; those for one pod wait
// for each other, also over several processes.
type Manager struct {
	cfg     Config
	cni     *libcni.CNIConfig
	records records
	log     *slog.Logger
	// mounting keeps two from making NetnsDir a mount point, one on top of the other.
	mounting sync.Mutex
	// collecting keeps GC of plugins apart from their ADD and DEL, as CNI 1.1 demands (section 3, Lifecycle & Ordering).
	collecting sync.RWMutex
}

// New prepares the directories. It does not need a network configuration: Usable says whether there is one.
func New(cfg Config) (*Manager, error) {
	cfg.ConfDir = cmp.Or(cfg.ConfDir, DefaultConfDir)
	cfg.StateDir = cmp.Or(cfg.StateDir, DefaultStateDir)
	cfg.CacheDir = cmp.Or(cfg.CacheDir, filepath.Join(cfg.StateDir, "cni"))
	cfg.NetnsDir = cmp.Or(cfg.NetnsDir, DefaultNetnsDir)
	cfg.ResolvConf = cmp.Or(cfg.ResolvConf, "/etc/resolv.conf")
	state, err := filepath.Abs(cfg.StateDir)
	if err != nil {
		return nil, err
	}
	if len(cfg.BinDirs) == 0 {
		cfg.BinDirs = DefaultBinDirs()
	}
	m := &Manager{cfg: cfg, records: records(filepath.Join(state, "pods")), log: cmp.Or(cfg.Log, slog.Default())}
	for _, dir := range []string{string(m.records), cfg.CacheDir} {
		if err := os.MkdirAll(dir, atomicfile.DirMode); err != nil {
			return nil, err
		}
	}
	if err := atomicfile.Sweep(string(m.records)); err != nil {
		return nil, err
	}
	// What plugins say beside their result is for who looks for a fault.
	exec := &invoke.DefaultExec{RawExec: &invoke.RawExec{Stderr: chatter{m.log}}, PluginDecoder: version.PluginDecoder{}}
	m.cni = libcni.NewCNIConfigWithCacheDir(cfg.BinDirs, cfg.CacheDir, exec)
	return m, nil
}

// chatter logs what plugins write to their standard error.
type chatter struct{ log *slog.Logger }

func (c chatter) Write(p []byte) (int, error) {
	c.log.Debug("a CNI plugin says", "text", strings.TrimSpace(string(p)))
	return len(p), nil
}

// Usable reports whether pods can be connected: nil when there is a configuration for the cluster's network whose plugins
// are installed and say that they are ready. The error wraps ErrNotConfigured when there is none. It may change at any
// time, because on many clusters a DaemonSet brings the configuration.
func (m *Manager) Usable(ctx context.Context) error {
	d, err := cluster(m.cfg.ConfDir)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("CNI plugins need root, and this is another user")
	}
	if _, err := m.cni.ValidateNetworkList(ctx, d.list); err != nil {
		return fmt.Errorf("network %q of %s: %w; plugins are looked for in %s", d.list.Name, d.file, err, strings.Join(m.cfg.BinDirs, ", "))
	}
	if err := m.cni.GetStatusNetworkList(ctx, d.list); err != nil {
		return fmt.Errorf("network %q of %s is not ready: %w", d.list.Name, d.file, err)
	}
	return nil
}

// uidForm are UIDs that can be names of files and CNI's container ids.
var uidForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// How long the plugins of a pod may take. One that hangs is killed, and the pod hears of it.
const (
	addLimit = 4 * time.Minute
	delLimit = time.Minute
)

// Setup connects a pod to its networks, or finds how it was connected before. On an error nothing is left of it, or what
// is left is known to List, Teardown and the next Setup.
func (m *Manager) Setup(ctx context.Context, pod Pod) (Attachment, error) {
	if pod.HostNetwork {
		return Attachment{}, errors.New("the pod asks for the node's network (hostNetwork), which a VM cannot share; leave it out")
	}
	if !uidForm.MatchString(pod.UID) {
		return Attachment{}, fmt.Errorf("the pod's UID %q has a form that CNI does not take", pod.UID)
	}
	unlock, err := m.records.lock(pod.UID)
	if err != nil {
		return Attachment{}, err
	}
	defer unlock()
	m.collecting.RLock()
	defer m.collecting.RUnlock()
	rec, err := m.records.read(pod.UID)
	if err != nil {
		return Attachment{}, err
	}
	if rec != nil && rec.Phase == ready && isNamespace(rec.Netns) {
		return rec.Attachment, rec.check()
	}
	if rec != nil {
		m.log.Info("removing what is left of a pod's networks", "uid", pod.UID, "phase", rec.Phase)
		if err := m.undo(ctx, rec); err != nil {
			return Attachment{}, fmt.Errorf("remove what an earlier start has left: %w", err)
		}
	}
	if rec, err = m.plan(pod); err != nil {
		return Attachment{}, err
	}
	if err := m.build(ctx, rec, pod); err != nil {
		return Attachment{}, errors.Join(err, m.undo(context.WithoutCancel(ctx), rec))
	}
	return rec.Attachment, nil
}

// Teardown disconnects a pod and removes its namespace, also after a reboot that left none, and when the configuration of
// a network is gone. That nothing is known of the pod is no error.
func (m *Manager) Teardown(ctx context.Context, uid string) error {
	if !uidForm.MatchString(uid) {
		return nil // Setup refused it
	}
	unlock, err := m.records.lock(uid)
	if err != nil {
		return err
	}
	defer unlock()
	m.collecting.RLock()
	defer m.collecting.RUnlock()
	rec, err := m.records.read(uid)
	if err != nil || rec == nil {
		return err
	}
	return m.undo(ctx, rec)
}

// check reports what is missing of the wires of a pod. The plugins' own CHECK is not asked, because it looks for the
// addresses where the guest has them now.
func (r *record) check() error {
	return within(r.Netns, func() error {
		for _, w := range r.Wires {
			if err := connected(w); err != nil {
				return fmt.Errorf("the pod's network is broken; delete the pod: %w", err)
			}
		}
		return nil
	})
}

// List returns the UIDs of the pods that something is recorded for, in order.
func (m *Manager) List() ([]string, error) { return m.records.list() }

// Tidy removes namespaces that no record is for. When Exclusive says that the node's networks are this package's alone,
// plugins that can are told which attachments are recorded, so that they give back what they hold for others.
func (m *Manager) Tidy(ctx context.Context) error {
	err := m.sweep()
	if m.cfg.Exclusive {
		err = errors.Join(err, m.tellPlugins(ctx))
	}
	return err
}

// sweep removes namespaces of this package that have no record: those of a crash before CNI plugins were asked cannot be,
// but somebody may have emptied the directory.
func (m *Manager) sweep() error {
	entries, err := os.ReadDir(m.cfg.NetnsDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		uid, ours := strings.CutPrefix(e.Name(), m.own())
		if !ours || !uidForm.MatchString(uid) {
			continue
		}
		errs = append(errs, func() error {
			unlock, err := m.records.lock(uid)
			if err != nil {
				return err
			}
			defer unlock()
			if rec, err := m.records.read(uid); rec != nil || err != nil {
				return err
			}
			return removeNamespace(m.netns(uid))
		}())
	}
	return errors.Join(errs...)
}

// tellPlugins calls the plugins' GC for every network of the node.
func (m *Manager) tellPlugins(ctx context.Context) error {
	m.collecting.Lock()
	defer m.collecting.Unlock()
	ctx, cancel := context.WithTimeout(ctx, addLimit)
	defer cancel()
	known, err := m.records.list()
	if err != nil {
		return err
	}
	valid := []types.GCAttachment{}
	for _, uid := range known {
		rec, err := m.records.read(uid)
		if err != nil {
			return err // a record that cannot be read may be that of a running VM
		}
		for i := 0; rec != nil && i < len(rec.Networks); i++ {
			valid = append(valid, types.GCAttachment{ContainerID: uid, IfName: rec.Networks[i].Interface})
		}
	}
	all, err := definitions(m.cfg.ConfDir)
	errs := []error{err}
	for _, d := range all {
		if d.bad != nil {
			continue // Usable and Setup say so
		}
		if err := m.cni.GCNetworkList(ctx, d.list, &libcni.GCArgs{ValidAttachments: valid}); err != nil {
			errs = append(errs, fmt.Errorf("network %q: %w", d.list.Name, err))
		}
	}
	return errors.Join(errs...)
}

// netnsPrefix begins the names of the namespaces of this package. A hash of the records' directory follows, so that two
// nodes of one host leave each other's alone, and the pod's UID.
const netnsPrefix = "vmseed-"

func (m *Manager) netns(uid string) string { return filepath.Join(m.cfg.NetnsDir, m.own()+uid) }

// own begins the names of this manager's namespaces.
func (m *Manager) own() string {
	sum := sha256.Sum256([]byte(m.records))
	return netnsPrefix + hex.EncodeToString(sum[:4]) + "-"
}

package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

// recordVersion is that of the records' form. A record of another version is not touched.
const recordVersion = 1

// record is what a later process must know of a pod: what its VM's supervisor and the API server do not tell.
type record struct {
	Version int `json:"version"`
	// Pod is the object without what may be secret; see bare.
	Pod *corev1.Pod `json:"pod"`
	// Seen is when the pod came to this node, the startTime of its status.
	Seen time.Time `json:"seen"`
	// Booted means that the first boot of the guest is over and went well, so later starts leave its data out of sight.
	Booted bool `json:"booted,omitempty"`
	// FirstBoot is how the guest's first boot went.
	FirstBoot firstBoot `json:"firstBoot"`
	Restarts  int32     `json:"restarts,omitempty"`
	// Crashes counts the ends of the VM that its next pause is for.
	Crashes int `json:"crashes,omitempty"`
	// Tried is when the VM was last told to start; a run that began later and is not in Run has begun unseen.
	Tried time.Time `json:"tried,omitzero"`
	Run   run       `json:"run"`
	// Last is how the run before this one ended.
	Last *corev1.ContainerStateTerminated `json:"last,omitempty"`
	// Over is the end of the pod: nothing is started any more.
	Over *over `json:"over,omitempty"`
	// Released means that what the VM needs no longer, after that end, was given back.
	Released bool `json:"released,omitempty"`
	// Leaving means that the VM is to be removed, and the object of the API after it.
	Leaving bool `json:"leaving,omitempty"`
	// Parting is how long the guest may take to shut down then.
	Parting time.Duration `json:"parting,omitempty"`
}

// firstBoot is what the guest said of its first boot.
type firstBoot struct {
	// Stage is how far it has come, in the guest's own words, and then one of the ends below.
	Stage   string    `json:"stage,omitempty"`
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// The ends of a first boot.
const (
	bootDone   = "done"
	bootFailed = "failed"
	// bootSilent is for guests that said nothing in time, or have nothing to speak with.
	bootSilent = "silent"
)

// ended reports whether the first boot is waited for no longer.
func (f firstBoot) ended() bool {
	return f.Stage == bootDone || f.Stage == bootFailed || f.Stage == bootSilent
}

// run is one life of the VM, from one start of its guest to its end.
type run struct {
	// Since is when the guest began to run; zero while it is being started.
	Since time.Time `json:"since,omitzero"`
	// Sequence is the number of the last event of the supervisor that was told to users.
	Sequence int      `json:"sequence,omitempty"`
	IPs      []string `json:"ips,omitempty"`
	ImageID  string   `json:"imageID,omitempty"`
	// Up means that the guest has said in this run that it has booted, or is not waited for.
	Up bool `json:"up,omitempty"`
	// Purpose is why the guest was asked to end, if it was.
	Purpose purpose `json:"purpose,omitempty"`
	// Asked is when that was, and Grace how long it got.
	Asked time.Time     `json:"asked,omitzero"`
	Grace time.Duration `json:"grace,omitempty"`
	// Message says more about the purpose.
	Message string `json:"message,omitempty"`
	// Ended is how it ended.
	Ended *corev1.ContainerStateTerminated `json:"ended,omitempty"`
}

// purpose is why a guest is asked to end.
type purpose string

// The purposes. Without one the guest ended by itself.
const (
	forDeletion  purpose = "deletion"
	forDeadline  purpose = "deadline"
	forProbe     purpose = "probe"
	forFirstBoot purpose = "first-boot"
)

// over is the end of a pod.
type over struct {
	Phase   corev1.PodPhase `json:"phase"`
	Reason  string          `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
}

// bare copies of a pod what a record may hold: the names, and how the container is watched, restarted and stopped.
// Annotations, environment and volumes may hold secrets, and the API server has them.
func bare(pod *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Generation: pod.Generation,
			Labels: pod.Labels, OwnerReferences: pod.OwnerReferences},
		Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName, RestartPolicy: pod.Spec.RestartPolicy, ReadinessGates: pod.Spec.ReadinessGates,
			TerminationGracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds, ActiveDeadlineSeconds: pod.Spec.ActiveDeadlineSeconds},
	}
	for _, key := range []string{FailureAnnotation, TimeoutAnnotation, FailOnAnnotation} {
		if v, ok := pod.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&out.ObjectMeta, key, v)
		}
	}
	for _, c := range pod.Spec.Containers {
		out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Name: c.Name, Image: c.Image, Ports: c.Ports,
			StartupProbe: bareProbe(c.StartupProbe), ReadinessProbe: bareProbe(c.ReadinessProbe), LivenessProbe: bareProbe(c.LivenessProbe)})
	}
	return out
}

// bareProbe is a probe without the values of its headers, of which one may be a token.
func bareProbe(p *corev1.Probe) *corev1.Probe {
	if !hasHeaders(p) {
		return p
	}
	p = p.DeepCopy()
	for i := range p.HTTPGet.HTTPHeaders {
		p.HTTPGet.HTTPHeaders[i].Value = ""
	}
	return p
}

// path is where the record of a pod is kept.
func (p *Provider) path(r Ref) string {
	return filepath.Join(p.options.Dir, string(r.UID)+recordSuffix)
}

const recordSuffix = ".json"

// save writes a record.
func (p *Provider) save(rec *record) error {
	text, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(p.path(RefOf(rec.Pod)), append(text, '\n'))
}

// forget removes the record of a VM for good.
func (v *vm) forget() error {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.forgotten = true
	err := os.Remove(v.p.path(v.ref))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// records reads those that there are. An unreadable one is an error: to pass over it would be to lose sight of a VM.
func (p *Provider) records() ([]*record, error) {
	if err := atomicfile.Sweep(p.options.Dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(p.options.Dir)
	if err != nil {
		return nil, err
	}
	var out []*record
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), recordSuffix) || atomicfile.IsTemporary(e.Name()) {
			continue
		}
		path := filepath.Join(p.options.Dir, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		rec := new(record)
		if err := json.Unmarshal(text, rec); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if rec.Version != recordVersion || rec.Pod == nil || p.path(RefOf(rec.Pod)) != path {
			return nil, fmt.Errorf("%s is no record of this version (%d); if no VM of this host is its pod's, remove it", path, rec.Version)
		}
		out = append(out, rec)
	}
	slices.SortFunc(out, func(a, b *record) int { return a.Seen.Compare(b.Seen) })
	return out, nil
}

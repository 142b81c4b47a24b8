package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/frontend/kubevirt"
	"github.com/vmseed/vmseed/frontend/virtlet"
	"github.com/vmseed/vmseed/hypervisor/qemu"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/kube/launch"
	"github.com/vmseed/vmseed/kube/provider"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
)

// Start starts the VM of a pod, for the first time or again.
func (h *Host) Start(ctx context.Context, s provider.Start) (provider.Started, diag.List, error) {
	started, list, err := h.start(ctx, s)
	return started, advised(list), err
}

// advised leaves out what of the advice is for users of the command: its flags are not at hand for a pod.
func advised(l diag.List) diag.List {
	var out diag.List
	for _, d := range l {
		if d.Code >= provider.CodeAnnotation { // the node's own advice names the node's flags
			out = append(out, d)
			continue
		}
		if d.Severity == diag.Note && strings.Contains(d.Summary, "--volume") {
			continue // a claim, which the node looks for itself
		}
		if launch.OfPullSecret(d) {
			continue
		}
		if d.Severity == diag.Note && d.Code == netconfig.CodePartly {
			continue // the words of its network are no choice of the pod's author
		}
		if strings.Contains(d.Remedy, "--") {
			d.Remedy, _, _ = strings.Cut(d.Remedy, "; or ")
		}
		if strings.Contains(d.Remedy, "--") {
			d.Remedy = ""
		}
		out = append(out, d)
	}
	return out
}

// start is Start with all that there is to say.
func (h *Host) start(ctx context.Context, s provider.Start) (provider.Started, diag.List, error) {
	r := provider.RefOf(s.Pod)
	if found, err := h.Find(ctx, r); err == nil {
		if now, err := found.Guest.State(ctx); err != nil || now.Status.Alive() {
			return provider.Started{}, nil, errors.Join(err, supervisor.ErrRunning)
		}
	}
	attachment, list, err := h.connect(ctx, s)
	if err != nil || list.HasErrors() {
		return provider.Started{}, list, err
	}
	resolver := newLocal(h.options.Client, s.Pod.Namespace, s.Pod.Spec.NodeName)
	m, source, problems, err := h.machine(ctx, h.completed(s.Pod, attachment), resolver)
	list = append(list, problems...)
	if err != nil || list.HasErrors() {
		return provider.Started{}, list, passing(list, err)
	}
	o := boot.Options{ID: string(r.UID), Render: vmseed.RenderOptions{DataSource: source}, VM: h.options.Hypervisor}
	o.VM.Detach, o.VM.Booted, o.VM.Console = true, s.Booted, false
	m, problems, err = h.place(m, attachment, &o)
	list = append(list, problems...)
	if err == nil && !list.HasErrors() {
		o.Volumes, problems, err = h.volumes(ctx, s.Pod, m, resolver)
		list = append(list, problems...)
	}
	if err != nil || list.HasErrors() {
		return provider.Started{}, list, passing(list, err)
	}
	p, problems, err := h.prepare(ctx, m, o, s)
	list = append(list, problems...)
	if err != nil || list.HasErrors() {
		return provider.Started{}, list, passing(list, err)
	}
	return h.boot(ctx, p, m, note{IPs: attachment.IPs, Silent: m.DataSource == machine.NoDataSource && source == "", ImageID: imageID(p)}, list)
}

// machine reads the machine that a pod stands for, and the data source that the pod asks for.
func (h *Host) machine(ctx context.Context, pod *corev1.Pod, resolver *local) (machine.Machine, string, diag.List, error) {
	doc, err := h.document(ctx, pod)
	if err != nil {
		return machine.Machine{}, "", nil, err
	}
	var list diag.List
	source := doc.Placement.DataSource
	if source != "" && source != "nocloud-net" && !slices.Contains(vmseed.Names(h.engine.DataSources), source) {
		list.Add(diag.Diagnostic{Code: provider.CodeAnnotation, Severity: diag.Error, Field: "metadata.annotations[" + launch.DataSourceAnnotation + "]",
			Summary: fmt.Sprintf("there is no data source %q", source), Remedy: "write one of " + strings.Join(vmseed.Names(h.engine.DataSources), ", ")})
		return machine.Machine{}, "", list, nil
	}
	list = append(list, annotations(pod)...)
	machines, problems := h.engine.Load(ctx, doc.Inputs, vmseed.LoadOptions{Options: doc.Options, Resolver: resolver})
	list = append(list, problems...)
	if list.HasErrors() {
		return machine.Machine{}, "", list, ctx.Err()
	}
	if len(machines) != 1 {
		return machine.Machine{}, "", list, fmt.Errorf("the pod holds %d machines", len(machines))
	}
	m := machines[0]
	// The directory is found by the pod's namespace; that of a document is the same, as the API server sees to.
	m.Namespace = pod.Namespace
	list = append(list, h.judge(&m, resolver)...)
	return m, source, list, nil
}

// annotations warns of the provider's annotations that say nothing it knows, and of probes that it does not ask.
func annotations(pod *corev1.Pod) (l diag.List) {
	warn := func(code diag.Code, field, summary, remedy string) {
		l.Add(diag.Diagnostic{Code: code, Severity: diag.Warning, Field: field, Summary: summary, Remedy: remedy})
	}
	if v := pod.Annotations[provider.FailureAnnotation]; v != "" && v != "Fail" && v != "Keep" {
		warn(provider.CodeAnnotation, "metadata.annotations["+provider.FailureAnnotation+"]", "this is neither Fail nor Keep, so it is ignored", "write one of them")
	}
	if _, err := report.ParseFailOn(pod.Annotations[provider.FailOnAnnotation]); err != nil {
		warn(provider.CodeAnnotation, "metadata.annotations["+provider.FailOnAnnotation+"]", "this is neither error, warning nor deprecated, so it is ignored", "write one of them")
	}
	if v, ok := pod.Annotations[provider.TimeoutAnnotation]; ok {
		if d, err := time.ParseDuration(v); err != nil || d < 0 {
			warn(provider.CodeAnnotation, "metadata.annotations["+provider.TimeoutAnnotation+"]", "this is no time, so it is ignored", "write one such as 90s or 15m")
		}
	}
	for i, c := range pod.Spec.Containers {
		for name, p := range map[string]*corev1.Probe{"startupProbe": c.StartupProbe, "readinessProbe": c.ReadinessProbe, "livenessProbe": c.LivenessProbe} {
			if p != nil && p.GRPC != nil {
				warn(provider.CodeProbe, fmt.Sprintf("spec.containers[%d].%s.grpc", i, name), "this node asks no gRPC probes, so the probe always fails", "use exec, httpGet or tcpSocket")
			}
		}
	}
	slices.SortFunc(l, func(a, b diag.Diagnostic) int { return strings.Compare(a.Field, b.Field) })
	return l
}

// prepare prepares the start of a VM in a directory of its own, or in the one that it has.
func (h *Host) prepare(ctx context.Context, m machine.Machine, o boot.Options, s provider.Start) (*boot.Prepared, diag.List, error) {
	launcher, keys, err := h.launcherOf(ctx, s.Pod)
	if err != nil {
		return nil, nil, err
	}
	launcher.Pulling = func(ref image.Reference) (func(image.Progress), func()) {
		// What is at hand is not fetched, and brings no word of progress.
		told := sync.OnceFunc(func() { s.Progress("PullingImage: " + ref.String()) })
		return func(image.Progress) { told() }, func() {}
	}
	if c, err := supervisor.Open(launcher.Dir(m, o), h.options.Supervisor...); err == nil && !s.Fresh {
		return launcher.Again(ctx, m, o)
	} else if err == nil {
		if err := c.Remove(ctx); err != nil {
			return nil, nil, err
		}
	}
	p, list, err := launcher.New(ctx, m, o)
	return p, append(list, keys.problems...), err
}

// boot starts a prepared VM.
func (h *Host) boot(ctx context.Context, p *boot.Prepared, m machine.Machine, n note, list diag.List) (provider.Started, diag.List, error) {
	if err := n.save(p.VM.StateDir); err != nil {
		return provider.Started{}, list, errors.Join(err, p.Discard())
	}
	client, err := p.Start(ctx)
	if err != nil {
		return provider.Started{}, list, locked(err)
	}
	client.Command = h.options.Supervisor
	h.log.Info("a VM was started", "pod", m.Namespace+"/"+m.Name, "dir", client.Dir, "seed", p.Seed)
	return provider.Started{Guest: guest{client}, IPs: n.IPs, Silent: n.Silent, ImageID: n.ImageID}, list, nil
}

// lock is how QEMU says that another process has an image open (block/file-posix.c).
var lock = regexp.MustCompile(`(?i)failed to get (?:"?(?:shared )?"?[a-z]+"? )?lock`)

// locked says what QEMU's complaint about a lock means here.
func locked(err error) error {
	if lock.MatchString(err.Error()) {
		return waitFor(provider.ReasonCreateError, fmt.Errorf("a disk of the VM is in use by another VM, so it is not started a second time: %w", err))
	}
	return err
}

// later are diagnostics of what may come to be: an object or a key of it, a claim's volume, an image, a directory.
var later = map[diag.Code]string{
	virtlet.CodeMissingObject: provider.ReasonConfigError, virtlet.CodeMissingKey: provider.ReasonConfigError,
	kubevirt.CodeMissingObject: provider.ReasonConfigError, kubevirt.CodeMissingKey: provider.ReasonConfigError,
	provider.CodeClaim: provider.ReasonConfigError, provider.CodeHostPath: provider.ReasonConfigError, boot.CodeNoShare: provider.ReasonConfigError,
	qemu.CodeUnresolvedVolume: provider.ReasonConfigError, image.CodeBadImage: provider.ReasonImagePull,
}

// passing makes an error of diagnostics about what may come to be, and of trouble with images. With such an error the
// diagnostics are no verdict on the definition: what is missing may be what the others are about.
func passing(l diag.List, err error) error {
	if err != nil {
		var e *image.Error
		if errors.As(err, &e) {
			return waitFor(provider.ReasonImagePull, forNode(*e))
		}
		return unflagged(err)
	}
	reason, text := "", []string{}
	for _, d := range l {
		if r := later[d.Code]; d.Severity == diag.Error && r != "" {
			reason = cmp.Or(reason, r)
			text = append(text, d.Code.String()+": "+strings.TrimPrefix(d.Field+": "+d.Summary, ": "))
		}
	}
	if reason == "" {
		return nil
	}
	return waitFor(reason, errors.New(strings.Join(text, "; ")))
}

// forNode is what is wrong with an image, with advice about the node's flags in the place of the command's.
func forNode(e image.Error) error {
	if strings.Contains(e.Remedy, "--") && !strings.Contains(e.Remedy, "--image-") {
		e.Remedy = ""
	}
	if e.Remedy == "" && e.Fault == image.Unavailable {
		e.Remedy = "the node's administrator can put the image into the directory of --image-dir"
	}
	return &e
}

// advice is how the launcher ends an error about an image with the flags of the command.
var advice = regexp.MustCompile(`; or give it with --(?:image|volume)\b.*`)

// flagless is an error without the command's advice.
type flagless struct{ error }

// Error leaves the advice out.
func (e flagless) Error() string { return advice.ReplaceAllString(e.error.Error(), "") }

// Unwrap returns the error.
func (e flagless) Unwrap() error { return e.error }

// unflagged takes the command's advice out of an error.
func unflagged(err error) error {
	if advice.MatchString(err.Error()) {
		return flagless{err}
	}
	return err
}

// blobName is the name of an image in a store: its hash.
var blobName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// imageID is the hash of the root disk's image, where it is from a store.
func imageID(p *boot.Prepared) string {
	for _, d := range p.VM.Machine.Disks {
		if base := filepath.Base(p.VM.Volumes[d.Name].Path); d.Root && blobName.MatchString(base) {
			return "sha256:" + base
		}
	}
	return ""
}

// place gives a machine the NICs that its networks have, and the taps to plug them in.
func (h *Host) place(m machine.Machine, a connection, o *boot.Options) (machine.Machine, diag.List, error) {
	if !a.plugged {
		m, l := h.engine.Place(m, machine.Facts{})
		return m, l, nil
	}
	m, taps, l, err := a.plug(h.engine, m)
	if err != nil || l.HasErrors() {
		return m, l, err
	}
	answer := m.Network.Mode != "" || !h.networked(m, o.Render)
	for i := range taps {
		taps[i].Answer = answer
	}
	o.VM.Taps = taps
	o.Render.Extra = append(o.Render.Extra, machine.Layer{Name: "vmseed's setting for changing networks", Data: secret.New(renewal)})
	return m, l, nil
}

// networked reports whether the seed tells the guest of its addresses. A guest that fetches its seed needs one for that.
func (h *Host) networked(m machine.Machine, o vmseed.RenderOptions) bool {
	name := cmp.Or(o.DataSource, m.DataSource, "nocloud")
	if o.HTTP || slices.Contains([]string{"ec2", "openstack", "nocloud-net"}, name) {
		return false
	}
	for _, ds := range h.engine.DataSources {
		if ds.Name() == name {
			return datasource.Expresses(ds, m, o.Options).Has("network.nics.addresses")
		}
	}
	return false
}

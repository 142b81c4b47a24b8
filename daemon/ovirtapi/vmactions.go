package ovirtapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
)

// done is the answer to an action that was done: the action, with its status.
func done(q *request) reply {
	e := element.New("action")
	if async := q.body.Child("async"); async.Exists() {
		e = e.Append(element.Element{Name: "async", Text: strings.TrimSpace(async.Text), Kind: element.Boolean})
	}
	return ok(e.Append(element.Text("status", "complete")))
}

// simple makes the handler of an action that needs nothing but the VM.
func (a *API) simple(act func(*request, vm) error) handler {
	return func(q *request) (reply, error) {
		v, err := a.vm(q.id(0))
		if err != nil {
			return reply{}, err
		}
		if err := act(q, v); err != nil {
			return reply{}, err
		}
		return done(q), nil
	}
}

func (a *API) stopVM(q *request, v vm) error {
	if !v.Status.Running() {
		return failed("Cannot stop VM. VM is not running.")
	}
	return a.d.Stop(q.ctx, v.ID)
}

// shutdownVM asks the guest. An engine never cuts it off either: the VM stays powering_down, and "stop" is there for it.
func (a *API) shutdownVM(q *request, v vm) error {
	if !v.Status.Running() {
		return failed("Cannot shutdown VM. VM is not running.")
	}
	if err := a.d.Shutdown(q.ctx, v.ID, 0); err != nil || !q.waits() {
		return err
	}
	_, err := a.await(q.ctx, v.ID, func(s daemon.Status) bool { return s == daemon.Down })
	return err
}

func (a *API) rebootVM(q *request, v vm) error {
	if !v.Status.Running() {
		return failed("Cannot reboot VM. VM is not running.")
	}
	return a.d.Reboot(q.ctx, v.ID, 0)
}

func (a *API) resetVM(q *request, v vm) error {
	if !v.Status.Running() {
		return failed("Cannot reset VM. VM is not running.")
	}
	return a.d.Reset(q.ctx, v.ID)
}

// initFlags are the members of a start that say how the guest is set up.
func initFlags() []string { return []string{"use_cloud_init", "use_ignition", "use_sysprep"} }

// startVM runs a VM, with what the action says about this run.
func (a *API) startVM(q *request, v vm) error {
	var o daemon.StartOptions
	var asked []string
	given := 0
	for _, name := range initFlags() {
		value, bad := flagMember(q.body, name, false)
		if bad != nil {
			return bad
		}
		if value {
			asked = append(asked, name)
		}
		if q.body.Child(name).Exists() {
			given++
		}
	}
	if len(asked) > 1 {
		return &fault{status: http.StatusConflict, reason: "Only one of use_sysprep, use_cloud_init and use_ignition can be true",
			detail: "true are " + strings.Join(asked, ", "), code: CodeState}
	}
	var bad *fault
	if o.Paused, bad = flagMember(q.body, "pause", false); bad != nil {
		return bad
	}
	if o.Volatile, bad = flagMember(q.body, "volatile", false); bad != nil {
		return bad
	}
	again, bad := flagMember(q.body, "use_initialization", false)
	if bad != nil {
		return bad
	}
	if v.Status.Running() {
		return failed("Cannot run VM. VM is running.")
	}
	if v.Status == daemon.ImageLocked {
		return failed("Cannot run VM. Its disks are locked.")
	}
	over := q.body.Child("vm")
	over = element.New("vm", over.Without(append(serverMembers(), "cluster", "template", "name")...).Children...)
	key := q.body.Child("authorized_key")
	initialization := len(over.Child("initialization").Children) > 0 || key.Exists()
	// Flags of which none is true mean: not this time. A request with first-boot data of its own and no flag asks for them.
	o.NoSeed = given > 0 && len(asked) == 0 && !again
	o.Initialize = len(asked) > 0 || again || initialization && !o.NoSeed
	if q.body.Child("vm").Exists() || key.Exists() || (given > 0 || again) && !v.foreign {
		var err error
		if o.Documents, err = a.runOnce(q, v, over, key); err != nil {
			return err
		}
	}
	if err := a.d.Start(q.ctx, v.ID, o); err != nil {
		return a.placed(q, err)
	}
	return nil
}

// runOnce is the definition for one run: the VM's own with the action's VM laid over it, inside an action whose flags say how
// the guest is set up.
func (a *API) runOnce(q *request, v vm, over, key element.Element) ([]daemon.Document, error) {
	if v.foreign {
		return nil, failed("Cannot run VM. Its definition did not come through this API, so that nothing can be laid over it for one run; start it without a vm and flags.")
	}
	whole := v.doc
	if clear := a.parsed.of(v.ID+"/first", v.FirstBootDocuments, "vm"); clear.Exists() {
		whole = clear
	}
	over, err := a.resolved(over)
	if err != nil {
		return nil, err
	}
	doc, err := overlaid(whole, over)
	if err != nil {
		return nil, err
	}
	if key.Exists() {
		doc = withKey(doc, strings.TrimSpace(key.Child("key").Text))
	}
	action := element.New("action")
	for _, c := range q.body.Children {
		if slices.Contains(initFlags(), c.Name) || c.Name == "use_initialization" {
			action = action.Append(c)
		}
	}
	action = action.Append(doc)
	if ovirt.KindOf(action) != ovirt.Sysprep {
		if action, err = a.hashed(v.ID, action); err != nil {
			return nil, err
		}
	}
	return document(action)
}

// withKey adds a public key to those of a definition.
func withKey(doc element.Element, key string) element.Element {
	init := doc.Child("initialization")
	if !init.Exists() {
		init = element.New("initialization")
	}
	keys := strings.TrimRight(init.Child("authorized_ssh_keys").Text, "\r\n")
	if keys != "" {
		keys += "\n"
	}
	return doc.With(init.With(element.Text("authorized_ssh_keys", keys+key)))
}

package ovirt

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// Kind is how a guest is set up at its first boot.
type Kind string

// The kinds of first boot.
const (
	CloudInit Kind = "cloud_init"
	Ignition  Kind = "ignition"
	Sysprep   Kind = "sysprep"
	// NoInit is for machines that ask for nothing, or whose flags are all false.
	NoInit Kind = ""
)

// flags are the members of an action that choose the kind.
var flags = []string{"use_cloud_init", "use_ignition", "use_sysprep", "use_initialization"}

// KindOf says how a vm, template or action wants its guest to be set up: by content first, then by the flags of the action,
// then by the type of its operating system. A document whose parts contradict each other has the kind that its content has;
// Read reports it.
func KindOf(e element.Element) Kind {
	roots, _ := rootsOf(e.Document(""))
	if len(roots) == 0 {
		return NoInit
	}
	r := reader{root: roots[0], m: &machine.Machine{}, places: machine.Places{}}
	r.choose()
	return r.kind
}

// words for kinds in messages.
func (k Kind) words() string {
	return map[Kind]string{CloudInit: "cloud-init", Ignition: "Ignition", Sysprep: "sysprep", NoInit: "no initialization"}[k]
}

// wish is a kind with what asks for it.
type wish struct {
	kind Kind
	at   tree.Value
}

// choose decides the kind: the content of the custom script, else the flag that is true, else the type of the operating
// system. A contradiction is an error, because an engine then starts the guest without what was asked for.
func (r *reader) choose() {
	content, flag, system := r.content(), r.flagged(), r.system()
	stated := r.init.Exists() && !isEmpty(r.init)
	switch {
	case flag.kind == NoInit && flag.at.Exists():
		if stated {
			r.warn(r.init, CodeNotRequested, "set a flag to true, or remove it", "the flags ask for no initialization, so the guest gets none of this")
		}
		return
	case !stated && !flag.at.Exists():
		return
	}
	asked := flag.kind
	switch {
	case content.kind == Ignition:
		r.kind = Ignition
		if asked == Sysprep {
			r.clash(flag.at, content.at, "the flag asks for sysprep, and the custom script is an Ignition config")
		} else if asked == NoInit && system.kind == Sysprep {
			r.clash(system.at, content.at, "this operating system is set up by sysprep, and the custom script is an Ignition config")
		}
	case asked != NoInit:
		r.kind = asked
		r.checkFlag(flag, system)
	default:
		r.kind = system.kind
	}
	if r.kind == Ignition && content.at.Exists() && content.kind != Ignition {
		r.fail(content.at, CodeKindConflict, "give an Ignition config (JSON with the member ignition), or ask for cloud-init",
			"the guest is set up by Ignition, and the custom script is no Ignition config")
	}
}

// checkFlag holds the flag against the type of the operating system.
func (r *reader) checkFlag(flag, system wish) {
	switch {
	case !system.at.Exists() || system.kind == flag.kind:
	case system.kind == Ignition && flag.kind == CloudInit, flag.kind == Sysprep, flag.kind == Ignition && system.kind == Sysprep:
		r.clash(flag.at, system.at, "the flag asks for "+flag.kind.words()+", and this type of operating system is set up by "+system.kind.words())
	case system.kind == Sysprep:
		r.warn(flag.at, CodeKindConflict, "", "Windows reads this only if cloudbase-init is installed in it")
	}
}

func (r *reader) clash(v, other tree.Value, summary string) {
	r.list.Add(diag.Diagnostic{Code: CodeKindConflict, Severity: diag.Error, Range: v.Range(), Field: v.Path(), Summary: summary,
		Remedy: "change one of the two"}.With(other.Range(), "the other one is here"))
}

// content returns Ignition for a custom script that is an Ignition config. at is the script, absent when there is none.
func (r *reader) content() wish {
	v := r.init.Get("custom_script")
	if v.Kind() != tree.Scalar || blank(v) {
		return wish{}
	}
	var unheard diag.List
	if isIgnition([]byte(v.Loose(&unheard))) {
		return wish{Ignition, v}
	}
	return wish{CloudInit, v}
}

// isIgnition reports whether a text is a JSON object with the member ignition, or Butane, from which one is made.
func isIgnition(text []byte) bool {
	if ignconfig.IsButane(text) {
		return true
	}
	text = bytes.TrimSpace(text)
	if !bytes.HasPrefix(text, []byte("{")) {
		return false
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err == nil {
		_, ok := members["ignition"]
		return ok
	}
	// Its errors are for the reader of Ignition configs to tell.
	return ignconfig.Recognise(text) == ignconfig.Ignition
}

// flagged returns the kind that a flag of the action asks for. at is absent when there is no flag, and the kind is NoInit
// when all are false or the flag leaves the kind to the operating system.
func (r *reader) flagged() wish {
	kinds := map[string]Kind{"use_cloud_init": CloudInit, "use_ignition": Ignition, "use_sysprep": Sysprep}
	var out, refused wish
	var open bool
	for _, name := range flags {
		v := r.action.Get(name)
		switch b := r.flag(v); {
		case b == nil:
		case !*b:
			refused = wish{NoInit, v}
		case name == "use_initialization":
			open = true
		case out.kind != NoInit:
			r.clash(v, out.at, "two flags ask for first boots of different kinds")
		default:
			out = wish{kinds[name], v}
		}
	}
	switch {
	case out.kind != NoInit:
		return out
	case open:
		return wish{kind: r.system().kind, at: r.action.Get("use_initialization")}
	}
	return refused
}

// system returns the kind of the type of the operating system: osinfo's vmInitType.
func (r *reader) system() wish {
	v := r.vm.At("os", "type")
	var unheard diag.List
	name := ""
	if v.Kind() == tree.Scalar {
		name = strings.ToLower(strings.TrimSpace(v.Loose(&unheard)))
	}
	switch {
	case name == "":
		return wish{kind: CloudInit}
	case strings.HasPrefix(name, "windows"):
		return wish{Sysprep, v}
	case strings.HasPrefix(name, "rhcos"):
		return wish{Ignition, v}
	case strings.HasPrefix(name, "other"):
		// An image that was imported has this type, whatever is in it.
		return wish{kind: CloudInit}
	}
	return wish{CloudInit, v}
}

// isEmpty reports whether no member of a mapping says anything.
func isEmpty(v tree.Value) bool {
	for _, e := range v.Entries() {
		if e.Value.Kind() != tree.Null && !blank(e.Value) {
			return false
		}
	}
	return true
}

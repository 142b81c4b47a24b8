package cli

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/vmseed/vmseed/diag"
	core "github.com/vmseed/vmseed/internal/cli"
	"github.com/vmseed/vmseed/kube/controller"
	"github.com/vmseed/vmseed/kube/launch"
	"github.com/vmseed/vmseed/kube/podnet"
	"github.com/vmseed/vmseed/kube/provider"
)

var update = flag.Bool("update", false, "write the generated part of docs/reference/kube.md")

// marks of the generated part of the page.
const (
	begin = "<!-- generated: go test ./internal/cli -update, in kube/ -->\n"
	end   = "<!-- end -->\n"
	page  = "../../../docs/reference/kube.md"
)

// names are what objects of a cluster carry for vmseed, with what each is for.
func names() string {
	var b strings.Builder
	table := func(title, head string, rows [][2]string) {
		fmt.Fprintf(&b, "\n## %s\n\n| %s | meaning |\n|---|---|\n", title, head)
		for _, r := range rows {
			fmt.Fprintf(&b, "| `%s` | %s |\n", r[0], r[1])
		}
	}
	table("Annotations and labels that users set", "key", [][2]string{
		{provider.RuntimeAnnotation + ": " + provider.Runtime, "on a pod: it is a VM. The annotations of [Virtlet](../compat/virtlet.md) say more about it"},
		{launch.DataSourceAnnotation, "on a pod or a VirtualMachineInstance: the data source that its guest reads: nocloud, configdrive, ignition, ec2, openstack or nocloud-net"},
		{launch.IgnitionAnnotation, "on a VirtualMachineInstance: its Ignition config. It needs the feature gate " + launch.IgnitionGate},
		{provider.FailureAnnotation, "on a pod: what a failed first boot means. `Fail` ends the container, `Keep` leaves the guest running and the pod not Ready. Default: Fail with the restart policy Never, else Keep"},
		{provider.FailOnAnnotation, "on a pod or a VirtualMachineInstance: what makes its first boot a failed one: `error`, `warning` or `deprecated`. Default: the node's `--fail-on`"},
		{provider.TimeoutAnnotation, "on a pod: how long a silent guest is waited for, such as `10m`; `0s` does not wait"},
		{controller.ManagedKey + ": true", "label or annotation on a VirtualMachine or VirtualMachineInstance: it is vmseed's, where the controller runs with `--beside-kubevirt`"},
		{podnet.NetworksAnnotation, "on a pod: further CNI networks, by the names of the configurations on the node"},
		{podnet.IngressAnnotation, "on a pod: limit of what it receives, in bits a second, where a CNI plugin holds it"},
		{podnet.EgressAnnotation, "on a pod: limit of what it sends"},
	})
	table("Annotations and labels that vmseed sets", "key", [][2]string{
		{launch.NodeLabel + ": " + launch.NodeValue, "on a Node: it runs VMs. Pods choose it by affinity or nodeSelector"},
		{launch.SecretAnnotation, "on a launcher pod: the Secret with what is launched, which only the pod's node may read"},
		{launch.RoleLabel + ": " + launch.Role, "on a launcher pod"},
		{launch.UIDLabel, "on a launcher pod: the UID of its VirtualMachineInstance"},
		{launch.NameLabel, "on a launcher pod: the name of the VirtualMachine, or of the instance that has none"},
		{launch.InstanceAnnotation, "on a launcher pod: the name of the instance"},
	})
	table("Conditions of pods", "type", [][2]string{
		{string(provider.FirstBootCondition), "True: the guest has reported that its first boot is done. False: it goes on, and the message tells how far it is, or it failed, which the reason says. Unknown: the guest said nothing"},
		{string(provider.GuestAgentCondition), "True: the guest agent answers; the message is what it says of the operating system, in JSON with the names of KubeVirt's guestOSInfo"},
		{"Ready", "the first boot is done, or silent for --first-boot-timeout, and the readiness probe succeeds"},
	})
	table("Reasons of containers", "reason", [][2]string{
		{provider.ReasonCreating, "waiting: the VM is made"},
		{provider.ReasonConfigError, "waiting: an object that the pod names is missing or may not be read; tried again"},
		{provider.ReasonImagePull, "waiting: the image cannot be had; tried again"},
		{provider.ReasonCreateError, "waiting: the host cannot start it now; tried again"},
		{provider.ReasonCrashLoop, "waiting: it ended and is started again after a pause"},
		{provider.ReasonDefinition, "ended: no VM can be made of the definition"},
		{provider.ReasonRuntime, "ended: the pod is none for this node, because it lacks `" + provider.RuntimeAnnotation + ": " + provider.Runtime + "`"},
		{provider.ReasonFirstBoot, "ended: the guest's first boot failed"},
		{provider.ReasonCompleted, "ended: the guest shut down"},
		{provider.ReasonError, "ended: QEMU failed"},
		{provider.ReasonDeadline, "ended: the pod's activeDeadlineSeconds are over"},
		{provider.ReasonHostLost, "ended: the host was restarted"},
	})
	table("Commands of exec for the VM itself", "command", [][2]string{
		{provider.ConsoleCommand, "`kubectl exec -it POD -- console` is the serial console, as `kubectl attach -it POD`"},
		{provider.PauseCommand, "the guest's processors stop. The pod is not Ready, with the reason PausedByUser, and no probe is asked"},
		{provider.UnpauseCommand, "they go on"},
		{provider.ResetCommand, "the guest restarts at once, in the same VM, as by a reset button"},
	})
	return b.String()
}

// flags are the rows of a table of flags.
func flags(set *pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString("\n| flag | default | meaning |\n|---|---|---|\n")
	set.VisitAll(func(f *pflag.Flag) {
		value := f.DefValue
		if slices.Contains([]string{"", "[]", "false", "0s"}, value) || f.Name == "help" || f.Name == "workers" {
			value = ""
		} else {
			value = "`" + value + "`"
		}
		if f.Name != "help" && !f.Hidden {
			fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", f.Name, value, strings.ReplaceAll(f.Usage, "|", `\|`))
		}
	})
	return b.String()
}

func TestPage(t *testing.T) {
	p := program(io.Discard)
	root := p.Root(core.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	var b strings.Builder
	b.WriteString("\n## Commands\n\n| command | what it does |\n|---|---|\n")
	for _, c := range root.Commands() {
		if !c.Hidden {
			fmt.Fprintf(&b, "| `vmseed-kube %s` | %s |\n", c.Use, c.Short)
		}
	}
	for _, c := range p.Commands {
		fmt.Fprintf(&b, "\n## vmseed-kube %s\n\n%s\n%s", c.Name(), c.Long, flags(c.LocalFlags()))
	}
	b.WriteString(names())
	b.WriteString("\n## Diagnostics\n\nA pod's or an instance's diagnostics are events on it, with the code as the reason. Those of definitions are in\n" +
		"[diagnostics.md](diagnostics.md); `vmseed-kube explain` knows all.\n")
	list := codes()
	slices.SortFunc(list, func(a, b diag.Explanation) int { return int(a.Code) - int(b.Code) })
	for _, e := range list {
		fmt.Fprintf(&b, "\n### %s: %s\n\n%s\n", e.Code, e.Title, strings.TrimSpace(e.Text))
	}
	want := b.String() + "\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(data), begin)
	old, tail, foundEnd := strings.Cut(rest, end)
	switch {
	case !found || !foundEnd:
		t.Fatalf("%s has no marks %q and %q", page, begin, end)
	case old == want:
	case !*update:
		t.Errorf("%s is out of date; run go test ./internal/cli -update: %s", page, cmp.Diff(old, want))
	default:
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

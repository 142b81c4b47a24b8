package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/datasource/credentials"
	"github.com/vmseed/vmseed/datasource/ignition"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/metadataservice"
	"github.com/vmseed/vmseed/internal/supervisor"
)

// accels and networks are the values of run's --accel and --net.
func accels() []string   { return []string{"auto", "kvm", "hvf", "tcg"} }
func networks() []string { return []string{"stack", "user", "none"} }

// guests are the names of guests whose cloud-init, Ignition or systemd is known.
func guests() []string {
	known := slices.Concat(lint.Guests(), ignconfig.Guests(), credentials.Guests())
	slices.Sort(known)
	return slices.Compact(known)
}

// words are the values of flags that take one of a few, by the name of the flag and, where commands differ, of the
// command before it.
func (a *app) words() map[string][]string {
	var policies, forms []string
	for _, p := range image.Policies() {
		policies = append(policies, string(p))
	}
	for _, f := range diag.Formats() {
		forms = append(forms, string(f))
	}
	return map[string][]string{
		"accel": accels(), "arch": {"amd64", "arm64"}, "datasource": a.dataSources(), "delivery": boot.Ways(), "diagnostics": forms,
		"dsmode": {"local", "net", "disabled"}, "fail-on": {"error", "warning", "deprecated"}, "firmware": {"bios", "uefi"}, "guest": guests(),
		"ignition-platform": ignition.Platforms(), "net": networks(), "pull": policies, "to": a.engine.Forms(),
		"metadata datasource": metadataservice.DataSources(), "metadata log-format": {"text", "json"}, "metadata list": {"table", "json"}, "serve log-format": {"text", "json"},
		"render format": names(a.engine.Deliveries), "list output": {"json"}, "inspect output": {"json"}, "ls output": {"json"},
	}
}

// complete tells the shells which words a command and those below it take where that is no file. Words of a command go before
// those of all.
func complete(cmd *cobra.Command, words map[string][]string) {
	for flag, values := range words {
		command, name, ok := strings.Cut(flag, " ")
		if !ok {
			command, name = cmd.Name(), flag
			if _, own := words[command+" "+name]; own {
				continue
			}
		}
		if command == cmd.Name() && cmd.LocalFlags().Lookup(name) != nil {
			// The only error is that the flag is completed already.
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	if cmd.Flags().Lookup("state-dir") != nil {
		_ = cmd.MarkFlagDirname("state-dir")
	}
	for _, sub := range cmd.Commands() {
		complete(sub, words)
	}
}

// completeVM offers the names of this host's VMs for the first argument, or for each where a command takes several. A
// name that several namespaces have is offered with its namespace.
func (a *app) completeVM(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	several := strings.HasSuffix(cmd.Use, "...")
	if cmd.Flags().Lookup("host") != nil && (cmd.Flags().Changed("host") || os.Getenv(envHost) != "") {
		return nil, cobra.ShellCompDirectiveNoFileComp // a daemon is not asked for the sake of a word
	}
	root, err := a.vmRoot()
	if err != nil || len(args) > 0 && !several {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	dirs, err := supervisor.List(root)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	full := map[string][]string{}
	for _, dir := range dirs {
		if plan, err := supervisor.LoadPlan(dir); err == nil {
			full[plan.Name] = append(full[plan.Name], plan.Namespace+"/"+plan.Name)
		}
	}
	var out []string
	for name, all := range full {
		for _, x := range all {
			if len(all) == 1 && !slices.Contains(args, x) {
				x = name
			}
			if !slices.Contains(args, x) {
				out = append(out, x)
			}
		}
	}
	slices.Sort(out)
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeCode offers the codes of diagnostics with their titles.
func (a *app) completeCode(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, e := range a.explanations() {
		if len(args) == 0 {
			out = append(out, cobra.CompletionWithDesc(e.Code.String(), e.Title))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

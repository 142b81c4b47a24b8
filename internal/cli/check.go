package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

func (a *app) check() *cobra.Command {
	var in inputFlags
	var strict bool
	cmd := &cobra.Command{
		Use: "check FILE...", Short: "Say what is wrong with definitions, or would be lost",
		Long: `Check reads definitions and plain cloud-init files, renders them and prints all
diagnostics. It writes nothing. With --guest it also says what that release of
cloud-init or Ignition would reject, ignore or crash on. An Ignition config is made
for the distribution as well, so give render the same --guest. The known guests:

` + indent(wrap(strings.Join(guests(), ", "), 76)),
		Example: `  vmseed check pod.yaml objects.yaml
  vmseed check --guest debian-12 --user-data user-data
  vmseed check --guest ocp-4.18 worker.ign`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.adjust = func(m *machine.Machine, l *diag.List) { *l = append(*l, unchecked(*m, in.dataSource, in.guest)...) }
			l, err := a.checked(cmd.Context(), &in, args)
			if err != nil {
				return errors.Join(err, a.report(l, true))
			}
			if err := a.failed(l, true); err != nil {
				return err
			}
			if strict && l.Max() >= diag.Warning {
				return silent(exitInput)
			}
			return nil
		},
	}
	in.register(cmd)
	in.httpFlag(cmd)
	a.renderFlags(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "fail on warnings as well")
	return cmd
}

// checked returns what is wrong with the definitions of the command line.
func (a *app) checked(ctx context.Context, in *inputFlags, args []string) (diag.List, error) {
	if a.renderer() != "" {
		return a.checkThere(ctx, in, args)
	}
	_, l, err := a.seeds(ctx, in, args)
	return l, err
}

func (a *app) explain() *cobra.Command {
	return &cobra.Command{
		Use: "explain CODE", Short: "Say what a diagnostic means and how to mend it", Example: "  vmseed explain VS1205",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("explain takes one code, such as VS1205")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			number, err := strconv.Atoi(strings.TrimPrefix(strings.ToUpper(args[0]), "VS"))
			if err != nil {
				return usagef("%q is no code; codes look like VS1205", args[0])
			}
			for _, e := range a.explanations() {
				if e.Code == diag.Code(number) {
					_, err := fmt.Fprintf(a.Out, "%s: %s\n\n%s\n", e.Code, e.Title, wrap(e.Text, 80))
					return err
				}
			}
			return usagef("there is no diagnostic %s", diag.Code(number))
		},
		ValidArgsFunction: a.completeCode,
	}
}

// indent sets each line of a text off.
func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

// wrap breaks text into lines of at most width characters at its spaces.
func wrap(text string, width int) string {
	var out []string
	for _, paragraph := range strings.Split(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && len(line)+1+len(word) > width {
				out = append(out, line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

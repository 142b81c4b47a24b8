package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/format/kubeobject"
)

// separator stands between the documents of one file.
const separator = "---\n"

func (a *app) convert() *cobra.Command {
	var in inputFlags
	var to string
	cmd := &cobra.Command{
		Use: "convert FILE... --to FORM", Short: "Write the same machine in another form",
		Long: "Convert prints the machine in another form on standard output. The output holds the machine's secrets.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if forms := a.engine.Forms(); !slices.Contains(forms, to) {
				return usagef("--to takes %s, not %q", strings.Join(forms, ", "), to)
			}
			for _, name := range []string{"cni-result", "no-multipart"} {
				if cmd.Flags().Changed(name) {
					return usagef("--%s is about the seed, which convert does not write", name)
				}
			}
			machines, l, err := a.machines(cmd.Context(), &in, args)
			if err != nil {
				return errors.Join(err, a.report(l, false))
			}
			if len(machines) > 1 && !a.engine.SeveralIn(to) {
				return errors.Join(usagef("a file of the form %s holds one machine, the input has %d; pick one with --name", to, len(machines)), a.report(l, false))
			}
			var out []string
			for _, m := range machines {
				text, problems := a.engine.Convert(m, to, in.options())
				l = append(l, problems...)
				out = append(out, string(text))
			}
			if err := a.failed(l, true); err != nil { // check does not convert, so it has not all of the notes
				return err
			}
			if err := a.namesakes(cmd.Context(), out, to); err != nil {
				return err
			}
			_, err = fmt.Fprint(a.Out, strings.Join(out, separator))
			return err
		},
	}
	in.register(cmd)
	cmd.Flags().StringVar(&to, "to", "native", "the form to write")
	return cmd
}

// namesakes refuses machines that have one name in the form and had several before: whoever applied the file would get one.
func (a *app) namesakes(ctx context.Context, texts []string, form string) error {
	if len(texts) < 2 {
		return nil
	}
	_, l := a.engine.Load(ctx, []vmseed.Input{{File: form, Data: []byte(strings.Join(texts, separator))}}, vmseed.LoadOptions{})
	for _, d := range l {
		if d.Code == vmseed.CodeDuplicateMachine || d.Code == kubeobject.CodeDuplicate {
			return &exitError{exitInput, fmt.Errorf("%s in the form %s; convert them one by one with --name, and rename one", d.Summary, form)}
		}
	}
	return nil
}

package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// generated replaces what stands between the marks of a page below docs/reference by what a test made, or complains when
// it is something else.
func generated(t *testing.T, page, want string) {
	t.Helper()
	const begin, end = "<!-- generated: go test ./internal/cli -update -->\n", "<!-- end -->\n"
	file := "../../docs/reference/" + page
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(data), begin)
	old, tail, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		t.Fatalf("%s has no marks %q and %q", file, begin, end)
	}
	if old == want {
		return
	}
	if !*update {
		t.Errorf("%s is out of date; run make golden: %s", file, cmp.Diff(old, want))
		return
	}
	if err := os.WriteFile(file, []byte(head+begin+want+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// cell makes text fit into a cell of a Markdown table.
func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "\n", " ")
}

func TestDiagnosticsPage(t *testing.T) {
	list := explanations()
	slices.SortFunc(list, func(a, b diag.Explanation) int { return int(a.Code) - int(b.Code) })
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "\n### %s: %s\n\n%s\n", e.Code, e.Title, strings.TrimSpace(e.Text))
	}
	generated(t, "diagnostics.md", b.String()+"\n")
}

// TestFieldsPage writes the matrix of what each plug-in can express. The conformance suites make sure that it is true.
func TestFieldsPage(t *testing.T) {
	e := newEngine()
	mark := func(s machine.FieldSet, f machine.Field) string {
		if s.Has(f) {
			return "yes"
		}
		return "no"
	}
	var guest, hardware, control strings.Builder
	head := func(b *strings.Builder, names []string) {
		fmt.Fprintf(b, "| field | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	}
	var sources, hypervisors []string
	for _, d := range e.DataSources {
		sources = append(sources, d.Name())
	}
	for _, h := range e.Hypervisors {
		hypervisors = append(hypervisors, h.Name())
	}
	head(&guest, sources)
	head(&hardware, hypervisors)
	for _, f := range machine.Fields() {
		switch {
		case machine.ControlFields().Has(f):
			fmt.Fprintf(&control, "- `%s`\n", f)
		case machine.HardwareFields().Has(f):
			fmt.Fprintf(&hardware, "| `%s` |", f)
			for _, h := range e.Hypervisors {
				fmt.Fprintf(&hardware, " %s |", mark(h.Expresses(), f))
			}
			hardware.WriteByte('\n')
		default:
			fmt.Fprintf(&guest, "| `%s` |", f)
			for _, d := range e.DataSources {
				fmt.Fprintf(&guest, " %s |", mark(d.Expresses(), f))
			}
			guest.WriteByte('\n')
		}
	}
	generated(t, "fields.md", fmt.Sprintf("\n## What the guest reads\n\n%s\n## What the hypervisor builds\n\n%s\n## What vmseed itself acts on\n\n%s\n",
		guest.String(), hardware.String(), control.String()))
}

// flagRows writes the rows of a flag table.
func flagRows(flags *pflag.FlagSet, skip *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || skip != nil && skip.Lookup(f.Name) != nil && skip.Lookup(f.Name).Usage == f.Usage {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value := f.DefValue
		if value == "" || value == "[]" || value == "false" || value == "0" || value == "0s" {
			value = ""
		} else {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, value, cell(f.Usage))
	})
	if b.Len() == 0 {
		return ""
	}
	return "\n| flag | default | meaning |\n|---|---|---|\n" + b.String()
}

// TestCommandPage writes the part of the contract that the command tree itself knows.
func TestCommandPage(t *testing.T) {
	a := &app{Streams: Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, engine: newEngine()}
	root := a.root()
	find := func(name string) *cobra.Command {
		c, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	find("check").LocalFlags().VisitAll(func(f *pflag.Flag) {
		if other := find("convert").LocalFlags().Lookup(f.Name); other != nil && other.Usage == f.Usage && f.Name != "diagnostics" {
			shared.AddFlag(f)
		}
	})
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Flags of every command\n%s", flagRows(root.PersistentFlags(), nil))
	fmt.Fprintf(&b, "\n## Flags for definitions\n\nEvery command that takes FILE takes these as well.\n%s", flagRows(shared, nil))
	var commands []*cobra.Command
	var below func(*cobra.Command)
	below = func(parent *cobra.Command) {
		for _, c := range parent.Commands() {
			if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
				commands = append(commands, c)
				below(c)
			}
		}
	}
	below(root)
	for _, c := range commands {
		path := c.Parent().CommandPath() + " "
		fmt.Fprintf(&b, "\n## %s%s\n\n    %s%s\n\n%s.\n", strings.TrimPrefix(path, "vmseed "), c.Name(), path, c.Use, c.Short)
		if len(c.Aliases) > 0 {
			fmt.Fprintf(&b, "Also: `%s`.\n", strings.Join(c.Aliases, "`, `"))
		}
		if c.Long != "" {
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(c.Long))
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", strings.Trim(c.Example, "\n"))
		}
		b.WriteString(flagRows(c.LocalNonPersistentFlags(), shared))
		if c.LocalFlags().Lookup("user-data") != nil {
			b.WriteString("\nTakes the [flags for definitions](#flags-for-definitions).\n")
		}
	}
	generated(t, "command.md", b.String()+"\n")
}

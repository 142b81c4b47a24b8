package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
)

// ClusterFunc returns what finds objects in a cluster: that of a kubeconfig file and of one of its contexts, either of which
// may be empty.
type ClusterFunc func(kubeconfig, context string) (frontend.Resolver, error)

// Program is another program with vmseed's commands for definitions: render, show, check, convert and explain, and supervise,
// by which the VMs that it starts find their supervisors.
type Program struct {
	// Name, Short and Long describe the program.
	Name, Short, Long string
	// Cluster is what --kubeconfig and --context stand for.
	Cluster ClusterFunc
	// Codes are the diagnostics that vmseed itself does not have.
	Codes []diag.Explanation
	// Commands are the program's own. Errors that they return are about the command line, unless Trouble says otherwise.
	Commands []*cobra.Command
}

// Main runs the command line args, whose first element is the name of the program, and returns the exit status.
func (p Program) Main(args []string, std Streams) int {
	a, root := p.build(std)
	return a.main(root, args)
}

// Root returns the tree of commands, for documentation.
func (p Program) Root(std Streams) *cobra.Command {
	_, root := p.build(std)
	return root
}

func (p Program) build(std Streams) (*app, *cobra.Command) {
	a := newApp(std)
	a.program, a.cluster, a.codes = p.Name, p.Cluster, p.Codes
	root := a.bare(p.Name, p.Short, p.Long)
	shared := []*cobra.Command{a.render(), a.show(), a.check(), a.convert()}
	for _, c := range shared {
		for _, name := range []string{"kubeconfig", "context"} {
			c.Flags().Lookup(name).Hidden = p.Cluster == nil
		}
		c.Example = strings.ReplaceAll(c.Example, "  vmseed ", "  "+p.Name+" ")
	}
	root.AddCommand(p.Commands...)
	root.AddCommand(append(shared, a.explain(), a.supervise(), a.versionCommand())...)
	complete(root, a.words())
	return a, root
}

// Trouble makes an error one of this machine or of what it reaches, for the exit status. Nil stays nil.
func Trouble(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitEnvironment, err}
}

// Version is that of this program.
func Version() string { return version() }

// explanations are those of vmseed's own diagnostics and of the program's further ones.
func (a *app) explanations() []diag.Explanation {
	out := slices.Concat(explanations(), a.codes)
	slices.SortFunc(out, func(x, y diag.Explanation) int { return cmp.Compare(x.Code, y.Code) })
	return out
}

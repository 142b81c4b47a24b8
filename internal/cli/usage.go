package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// flagError says in the command's own words what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	see := "see " + cmd.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		var have []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				have = append(have, f.Name)
			}
		})
		if best, ok := tree.Closest(unknown.GetSpecifiedName(), have); ok && len(unknown.GetSpecifiedName()) > 1 {
			return usagef("there is no flag --%s; did you mean --%s?", unknown.GetSpecifiedName(), best)
		}
	case errors.As(err, &invalid):
		if wants := takes(invalid.GetFlag().Value.Type(), invalid); wants != "" {
			return usagef("--%s takes %s, not %q; %s", invalid.GetFlag().Name, wants, invalid.GetValue(), see)
		}
	}
	return usagef("%w; %s", err, see)
}

// takes says what the values of a type of flags look like.
func takes(kind string, err error) string {
	switch kind {
	case "int":
		if errors.Is(err, strconv.ErrRange) {
			return "a smaller number"
		}
		return "a whole number"
	case "duration":
		return "a time with its unit, such as 90s or 15m"
	case "bool":
		return "true or false"
	}
	return ""
}

// noCommand is the error for a command that there is not.
func noCommand(root *cobra.Command, name string) error {
	var have []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			have = append(append(have, c.Name()), c.Aliases...)
		}
	}
	if best, ok := tree.Closest(name, have); ok {
		return usagef("there is no command %q; did you mean %q?", name, best)
	}
	return usagef("there is no command %q; see vmseed --help", name)
}

// checkPlain refuses plain files beside definitions that they are no part of: they would be a machine of their own.
func (in *inputFlags) checkPlain(machines []machine.Machine, args []string) error {
	if len(machines) < 2 || in.name != "" || len(args)+len(in.files) == 0 {
		return nil
	}
	for _, f := range []struct{ name, value string }{
		{"user-data", in.userData}, {"meta-data", in.metaData}, {"vendor-data", in.vendorData}, {"network-config", in.networkConfig}} {
		if f.value != "" {
			have := make([]string, len(machines))
			for i, m := range machines {
				have[i] = m.Namespace + "/" + m.Name
			}
			return usagef("--%s is for plain files instead of a definition, and makes a machine of its own here: %s; leave it away, or pick one machine with --name",
				f.name, strings.Join(have, ", "))
		}
	}
	return nil
}

// unknownGuest is the error for a guest of which nothing is known.
func unknownGuest(name string) error {
	known := guests()
	if best, ok := tree.Closest(name, known); ok {
		return usagef("--guest: unknown guest %q; did you mean %q?", name, best)
	}
	return usagef("--guest: unknown guest %q; known are %s", name, strings.Join(known, ", "))
}

// isDirectory is the error for a directory where a file should be.
func isDirectory(file string) error {
	return &exitError{exitUsage, fmt.Errorf("%s is a directory; name the files in it", file)}
}

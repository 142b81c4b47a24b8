package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

func (a *app) diff() *cobra.Command {
	var in inputFlags
	cmd := &cobra.Command{
		Use: "diff OLD NEW", Short: "Say what changes for the guest, and whether its first boot runs again",
		Long: `Diff compares two seeds or definitions file by file. It prints the lines that change,
and with them secrets that change. A guest of cloud-init runs its first boot again when
its instance id changes; one of Ignition never does.

Exit status: 0 the guest reads the same, 1 something differs, 2 or more trouble.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("diff takes two seeds or definitions, OLD and NEW")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var pair [2]seed.Seed
			for i, arg := range args {
				seeds, l, err := a.open(cmd.Context(), &in, []string{arg})
				if err != nil {
					return errors.Join(atLeastUsage(err), a.report(l, false))
				}
				if err := a.failed(l, false); err != nil {
					return &exitError{exitUsage, nil}
				}
				if len(seeds) != 1 {
					return usagef("%s holds %d machines; pick one with --name", arg, len(seeds))
				}
				pair[i] = seeds[0]
			}
			text, same := compare(pair[0], pair[1])
			if _, err := io.WriteString(a.Out, text); err != nil || same {
				return err
			}
			return silent(1)
		},
	}
	in.register(cmd)
	in.httpFlag(cmd)
	return cmd
}

// atLeastUsage keeps status 1 for "something differs".
func atLeastUsage(err error) error {
	if statusOf(err) == exitInput {
		return &exitError{exitUsage, err}
	}
	return err
}

// compare describes the differences and reports whether there are none.
func compare(before, after seed.Seed) (text string, same bool) {
	same = true
	var b strings.Builder
	say := func(format string, args ...any) {
		same = false
		fmt.Fprintf(&b, format+"\n", args...)
	}
	if bareTree(before) || bareTree(after) {
		before, after = withoutWay(before), withoutWay(after)
	}
	old, now := files(before), files(after)
	for _, path := range keys(old, now) {
		was, had := old[path]
		is, has := now[path]
		switch {
		case !had:
			say("added    %s (%d bytes)", path, len(is))
		case !has:
			say("removed  %s (%d bytes)", path, len(was))
		case was != is:
			say("changed  %s", path)
			for _, line := range lineDiff(indented(was), indented(is)) {
				fmt.Fprintln(&b, "    "+line)
			}
		}
	}
	if was, is := readAs(before), readAs(after); was != is {
		say("the data source changes from %s to %s", cmp.Or(was, machine.NoDataSource), cmp.Or(is, machine.NoDataSource))
	}
	_, wasItem, wasIgnition := before.Ignition()
	_, isItem, isIgnition := after.Ignition()
	if wasItem != isItem && wasItem != "" && isItem != "" {
		say("the guest finds its config in %s instead of %s", isItem, wasItem)
	}
	first, second := instanceID(before), instanceID(after)
	switch {
	case wasIgnition && isIgnition && same:
	case wasIgnition && isIgnition:
		fmt.Fprintln(&b, "a guest that has booted does not see this: Ignition runs once, and no instance id makes it run again; make the VM anew")
	case first == "" && second != "":
		say("first boot runs with the instance id %s; there was none", second)
	case second == "" && first != "":
		say("there is no instance id any more; it was %s", first)
	case first != second:
		say("first boot runs again: the instance id changes from %s to %s%s", first, second, unlessCached(before, first))
	case !same:
		fmt.Fprintf(&b, "first boot does not run again: the instance id stays %s; --instance-revision makes it run%s\n", first, unlessCached(before, first))
	}
	return b.String(), same
}

// systemUUID is a UUID as firmware shows it.
var systemUUID = regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// bareTree reports whether a seed is the root of a web server, which does not say how its guest finds it.
func bareTree(s seed.Seed) bool {
	return len(s.Trees) > 0 && len(s.Firmware.SMBIOS)+len(s.KernelArgs) == 0
}

// withoutWay is a seed without what leads its guest to a server, and without the listings that are the server's to make.
func withoutWay(s seed.Seed) seed.Seed {
	if len(s.Trees) > 0 {
		s.Firmware.SMBIOS, s.KernelArgs = nil, nil
	}
	s.Trees = slices.Clone(s.Trees)
	for i, t := range s.Trees {
		s.Trees[i].Blobs = slices.DeleteFunc(slices.Clone(t.Blobs), func(b seed.Blob) bool { return strings.HasSuffix(b.Path, "/") })
	}
	return s
}

// unlessCached is about guests of OpenStack whose instance id is the UUID of their firmware.
func unlessCached(s seed.Seed, id string) string {
	asked := map[string]string{"configdrive": "look at another drive", "openstack": "ask the service"}[readAs(s)]
	if asked == "" || !systemUUID.MatchString(id) {
		return ""
	}
	return ", unless the guest's firmware has the UUID " + id + ": cloud-init then goes on with its cache and does not " + asked
}

// readAs is the data source that a seed looks like. That of Ignition on some platforms is a volume of another one, or what
// another one's guests fetch.
func readAs(s seed.Seed) string {
	switch {
	case s.DataSource == "ignition" && hasVolume(s):
		return seed.Layout(s.Volumes[0])
	case len(s.Trees) > 0 && s.Trees[0].Name == "nocloud":
		return "nocloud-net"
	case s.DataSource == "ignition" && len(s.Trees) > 0:
		return s.Trees[0].Name
	}
	return s.DataSource
}

// files are the contents of a seed by path; a prepared image counts by its name.
func files(s seed.Seed) map[string]string {
	out := map[string]string{}
	for _, f := range s.Firmware.FwCfg {
		name := "fw_cfg " + f.Name
		if seed.IgnitionVersion(f.Content) != "" {
			name = seed.IgnitionFile
		}
		out[name] = f.Content.Reveal()
	}
	for _, r := range s.Firmware.SMBIOS {
		out[fmt.Sprintf("SMBIOS type %d %s", r.Type, r.Field)] = at(r.Value) + "\n"
	}
	for _, c := range s.Firmware.Credentials {
		out["credential "+c.Name] = c.Content.Reveal()
	}
	if len(s.KernelArgs) > 0 && len(s.Trees) > 0 {
		out["kernel arguments"] = at(strings.Join(s.KernelArgs, " ")) + "\n"
	}
	for _, t := range s.Trees {
		for _, b := range t.Blobs {
			out[t.Place(b)] = b.Content.Reveal()
		}
	}
	for _, v := range s.Volumes {
		if v.Path != "" {
			out[v.Name] = "prepared image " + v.Path + "\n"
		}
		for _, f := range v.Files {
			path := f.Path
			if v.Name != "" {
				path = v.Name + ":" + path
			}
			out[path] = f.Content.Reveal()
		}
	}
	return out
}

// at puts the usual URL of a service into what leads to it, for seeds that were not brought anywhere yet.
func at(text string) string { return strings.ReplaceAll(text, seed.Base, metadata.DefaultBase) }

func keys(maps ...map[string]string) []string {
	var out []string
	for _, m := range maps {
		for k := range m {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// instanceID reads the instance id out of a seed's meta-data, as the guest will.
func instanceID(s seed.Seed) string {
	path, key := "meta-data", "instance-id"
	switch readAs(s) {
	case "configdrive", "openstack":
		path, key = "openstack/latest/meta_data.json", "uuid"
	case "nocloud-net":
		path = "nocloud/meta-data"
	case "ec2":
		path = "latest/meta-data/instance-id"
	}
	text, ok := files(s)[path]
	switch {
	case !ok:
		return s.Identity.InstanceID
	case readAs(s) == "ec2":
		return text
	}
	var meta map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&meta) != nil && yaml.Unmarshal([]byte(text), &meta) != nil || meta[key] == nil {
		return s.Identity.InstanceID
	}
	return fmt.Sprint(meta[key])
}

// lineDiff shows removed and added lines by their longest common subsequence. Texts that are large or binary are only
// counted.
func lineDiff(was, is string) []string {
	if !printable(was) || !printable(is) || len(was)+len(is) > 200_000 {
		return []string{fmt.Sprintf("%d bytes become %d bytes", len(was), len(is))}
	}
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	if len(a)*len(b) > 4_000_000 {
		return []string{fmt.Sprintf("%d lines become %d lines", len(a), len(b))}
	}
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}

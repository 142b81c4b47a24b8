package plain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/frontend"
)

// LocaldsOptions is a command line of cloud-localds, the tool of Ubuntu's cloud-utils that vmseed stands in for.
type LocaldsOptions struct {
	// Output is a file, or - for standard output. UserData is a file, or - for standard input.
	Output, UserData string
	// MetaData, NetworkConfig, VendorData and Interfaces are files, or empty.
	MetaData, NetworkConfig, VendorData, Interfaces string
	// Hostname and DSMode go into the meta-data that is written when none is given.
	Hostname, DSMode string
	// Filesystem is iso9660, vfat, or tar, tar-seed-local or tar-seed-net for an archive.
	Filesystem string
	// DiskFormat is raw, or a format of qemu-img that the image is converted to. It is raw for archives.
	DiskFormat string
	// Verbose counts the times that more output was asked for.
	Verbose int
	// Help is set when the usage was asked for; nothing else is then.
	Help bool
}

// LocaldsUsage returns the usage text under the name that the command was called by.
func LocaldsUsage(command string) string {
	return "Usage: " + command + ` [ options ] output user-data [meta-data]

   Create a disk that cloud-init reads as a NoCloud seed.

   options:
     -h | --help             show usage
     -d | --disk-format D    format of the disk: raw (default), another that
                             qemu-img writes, or tar, tar-seed-local, tar-seed-net
     -f | --filesystem F     file system: iso (default) or vfat
     -H | --hostname H       host name for the meta-data
     -i | --interfaces F     file of network interfaces (ENI) for the meta-data
     -m | --dsmode M         dsmode for the meta-data: local or net
     -N | --network-config F network-config file
     -V | --vendor-data F    vendor-data file
     -v | --verbose          say more

   The output may be - for standard output, and user-data - for standard input.
   --dsmode, --hostname and --interfaces cannot be used with a meta-data file.
`
}

// ErrLocaldsUsage is wrapped by the errors about a command line that does not fit the usage.
var ErrLocaldsUsage = errors.New("usage")

func usageError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrLocaldsUsage, fmt.Sprintf(format, args...))
}

// localdsFlag is an option with the letter and word that it is known by.
type localdsFlag struct {
	short byte
	long  string
	value bool
}

func localdsFlags() []localdsFlag {
	return []localdsFlag{
		{'d', "disk-format", true}, {'f', "filesystem", true}, {'h', "help", false}, {'H', "hostname", true},
		{'i', "interfaces", true}, {'m', "dsmode", true}, {'N', "network-config", true}, {'o', "output", true},
		{'V', "vendor-data", true}, {'v', "verbose", false},
	}
}

// ParseLocalds reads the arguments of cloud-localds, without the command's name. As with that tool, options may stand
// behind arguments, long options may be cut short and take their value behind = or as the next argument, and short
// ones may be joined. Errors wrap ErrLocaldsUsage where the tool would print its usage.
func ParseLocalds(args []string) (LocaldsOptions, error) {
	o := LocaldsOptions{DiskFormat: "raw"}
	var rest []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		var err error
		switch {
		case arg == "--":
			rest, args = append(rest, args...), nil
		case strings.HasPrefix(arg, "--"):
			args, err = o.long(arg[2:], args)
		case len(arg) > 1 && arg[0] == '-':
			args, err = o.short(arg[1:], args)
		default:
			rest = append(rest, arg)
		}
		if err != nil {
			return LocaldsOptions{}, err
		}
		if o.Help {
			return LocaldsOptions{Help: true}, nil
		}
	}
	return o.complete(rest)
}

// long reads --name, --name=value or --name value and returns the arguments that are left.
func (o *LocaldsOptions) long(text string, args []string) ([]string, error) {
	name, value, given := strings.Cut(text, "=")
	var found []localdsFlag
	for _, f := range localdsFlags() {
		if f.long == name {
			found = []localdsFlag{f}
			break
		}
		if strings.HasPrefix(f.long, name) {
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 0:
		return nil, usageError("there is no option --%s", name)
	case len(found) > 1:
		return nil, usageError("the option --%s is ambiguous: --%s or --%s", name, found[0].long, found[1].long)
	case !found[0].value && given:
		return nil, usageError("the option --%s takes no value", found[0].long)
	case found[0].value && !given:
		if len(args) == 0 {
			return nil, usageError("the option --%s needs a value", found[0].long)
		}
		value, args = args[0], args[1:]
	}
	return args, o.set(found[0].short, value)
}

// short reads a group of letters. The value of one that takes a value is what follows it, or the next argument.
func (o *LocaldsOptions) short(letters string, args []string) ([]string, error) {
	for i := range len(letters) {
		at := slices.IndexFunc(localdsFlags(), func(f localdsFlag) bool { return f.short == letters[i] })
		if at < 0 {
			return nil, usageError("there is no option -%c", letters[i])
		}
		if !localdsFlags()[at].value {
			if err := o.set(letters[i], ""); err != nil {
				return nil, err
			}
			continue
		}
		value := letters[i+1:]
		if value == "" {
			if len(args) == 0 {
				return nil, usageError("the option -%c needs a value", letters[i])
			}
			value, args = args[0], args[1:]
		}
		return args, o.set(letters[i], value)
	}
	return args, nil
}

func (o *LocaldsOptions) set(letter byte, value string) error {
	switch letter {
	case 'd':
		o.DiskFormat = value
	case 'f':
		o.Filesystem = value
	case 'h':
		o.Help = true
	case 'H':
		o.Hostname = value
	case 'i':
		o.Interfaces = value
	case 'm':
		o.DSMode = value
	case 'N':
		o.NetworkConfig = value
	case 'V':
		o.VendorData = value
	case 'v':
		o.Verbose++
	case 'o':
		// cloud-localds accepts this option and takes the output from its arguments all the same.
		return usageError("the output is the first argument; the option --output has no effect")
	}
	return nil
}

// complete takes the arguments that are no options and checks that everything fits together.
func (o LocaldsOptions) complete(rest []string) (LocaldsOptions, error) {
	switch {
	case len(rest) < 2:
		return LocaldsOptions{}, usageError("an output and a user-data file are needed")
	case len(rest) > 3:
		return LocaldsOptions{}, usageError("there are %d arguments, and 3 at most are understood", len(rest))
	}
	o.Output, o.UserData = rest[0], rest[1]
	if len(rest) == 3 {
		o.MetaData = rest[2]
	}
	if o.MetaData != "" && (o.Interfaces != "" || o.DSMode != "" || o.Hostname != "") {
		return LocaldsOptions{}, errors.New("a meta-data file cannot be used with --interfaces, --hostname and --dsmode")
	}
	archives := []string{"tar", "tar-seed-local", "tar-seed-net"}
	if slices.Contains(archives, o.DiskFormat) {
		if o.Filesystem != "" && o.Filesystem != "tar" {
			return LocaldsOptions{}, fmt.Errorf("an archive (%s) has no file system", o.DiskFormat)
		}
		o.Filesystem, o.DiskFormat = o.DiskFormat, "raw"
	}
	switch o.Filesystem {
	case "", "iso":
		o.Filesystem = "iso9660"
	case "iso9660", "vfat":
	default:
		if !slices.Contains(archives, o.Filesystem) {
			return LocaldsOptions{}, fmt.Errorf("unknown file system %q; it is iso or vfat", o.Filesystem)
		}
	}
	if o.DiskFormat == "" || strings.HasPrefix(o.DiskFormat, "tar") {
		return LocaldsOptions{}, fmt.Errorf("unknown disk format %q; archives are %s", o.DiskFormat, strings.Join(archives, ", "))
	}
	return o, nil
}

// Documents reads the files of the command line and returns them with their roles, in the order of the tool: user-data,
// meta-data, network-config, vendor-data. The meta-data is written as the tool does when no file of it is given. read
// gets the names as they stand on the command line.
func (o LocaldsOptions) Documents(read func(name string) ([]byte, error)) ([]frontend.Document, error) {
	var docs []frontend.Document
	for _, f := range []struct {
		role frontend.Role
		name string
	}{
		{frontend.UserData, o.UserData}, {frontend.MetaData, o.MetaData},
		{frontend.NetworkConfig, o.NetworkConfig}, {frontend.VendorData, o.VendorData},
	} {
		if f.name == "" && f.role != frontend.MetaData {
			continue
		}
		doc := frontend.Document{File: f.name, Role: f.role}
		var err error
		if f.name == "" {
			doc.File = "meta-data"
			doc.Data, err = o.metaData(read)
		} else {
			doc.Data, err = read(f.name)
		}
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// Path returns where the file of a role stands in the seed.
func (o LocaldsOptions) Path(role frontend.Role) string {
	switch o.Filesystem {
	case "tar-seed-local":
		return "var/lib/cloud/seed/nocloud/" + string(role)
	case "tar-seed-net":
		return "var/lib/cloud/seed/nocloud-net/" + string(role)
	}
	return string(role)
}

// metaData writes meta-data with the members, order and line breaks of the tool. The tool puts interfaces under a name
// that cloud-init does not read, so they stand under the right one as well.
func (o LocaldsOptions) metaData(read func(string) ([]byte, error)) ([]byte, error) {
	interfaces := ""
	if o.Interfaces != "" {
		data, err := read(o.Interfaces)
		if err != nil {
			return nil, err
		}
		interfaces = strings.TrimSuffix(string(data), "\n")
	}
	var b bytes.Buffer
	b.WriteString("{\n")
	separator := ""
	for _, member := range [][2]string{
		{"instance-id", "iid-local01"}, {"local-hostname", o.Hostname}, {"interfaces", interfaces}, {"dsmode", o.DSMode},
		{"network-interfaces", interfaces},
	} {
		if member[1] == "" {
			continue
		}
		var value bytes.Buffer
		e := json.NewEncoder(&value)
		e.SetEscapeHTML(false)
		if err := e.Encode(member[1]); err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s%q: %s", separator, member[0], bytes.TrimSpace(value.Bytes()))
		separator = ",\n"
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

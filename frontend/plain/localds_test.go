package plain_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/plain"
)

func TestParseLocalds(t *testing.T) {
	base := plain.LocaldsOptions{Output: "my-seed.img", UserData: "my-user-data", Filesystem: "iso9660", DiskFormat: "raw"}
	with := func(change func(*plain.LocaldsOptions)) plain.LocaldsOptions {
		o := base
		change(&o)
		return o
	}
	tests := []struct {
		args string
		want plain.LocaldsOptions
	}{
		// The examples of the tool's help text and manual page.
		{"my-seed.img my-user-data my-meta-data", with(func(o *plain.LocaldsOptions) { o.MetaData = "my-meta-data" })},
		{"my-seed.img my-user-data", base},
		// Every option, in every spelling that getopt takes.
		{"-d qcow2 -f vfat my-seed.img my-user-data", with(func(o *plain.LocaldsOptions) { o.DiskFormat, o.Filesystem = "qcow2", "vfat" })},
		{"--disk-format=qcow2 --filesystem vfat my-seed.img my-user-data", with(func(o *plain.LocaldsOptions) { o.DiskFormat, o.Filesystem = "qcow2", "vfat" })},
		{"-dqcow2 my-seed.img -fvfat my-user-data", with(func(o *plain.LocaldsOptions) { o.DiskFormat, o.Filesystem = "qcow2", "vfat" })},
		{"-f iso my-seed.img my-user-data", base},
		{"-f iso9660 -d raw my-seed.img my-user-data", base},
		{"-d tar my-seed.img my-user-data", with(func(o *plain.LocaldsOptions) { o.Filesystem = "tar" })},
		{"-d tar-seed-local my-seed.img my-user-data", with(func(o *plain.LocaldsOptions) { o.Filesystem = "tar-seed-local" })},
		{"-d tar-seed-net -f tar my-seed.img my-user-data", with(func(o *plain.LocaldsOptions) { o.Filesystem = "tar-seed-net" })},
		{"-f tar my-seed.img my-user-data", with(func(o *plain.LocaldsOptions) { o.Filesystem = "tar" })},
		{"-H web -m local -i eni my-seed.img my-user-data", with(func(o *plain.LocaldsOptions) { o.Hostname, o.DSMode, o.Interfaces = "web", "local", "eni" })},
		{"--host web --ds=net --int eni my-seed.img my-user-data", with(func(o *plain.LocaldsOptions) { o.Hostname, o.DSMode, o.Interfaces = "web", "net", "eni" })},
		{"-N net -V vendor my-seed.img my-user-data my-meta-data", with(func(o *plain.LocaldsOptions) {
			o.NetworkConfig, o.VendorData, o.MetaData = "net", "vendor", "my-meta-data"
		})},
		{"my-seed.img my-user-data --network-config net --vendor-data vendor -vv --verbose", with(func(o *plain.LocaldsOptions) {
			o.NetworkConfig, o.VendorData, o.Verbose = "net", "vendor", 3
		})},
		{"-vdqcow2 my-seed.img my-user-data", with(func(o *plain.LocaldsOptions) { o.Verbose, o.DiskFormat = 1, "qcow2" })},
		{"- -", with(func(o *plain.LocaldsOptions) { o.Output, o.UserData = "-", "-" })},
		{"-v -- -out -user", with(func(o *plain.LocaldsOptions) { o.Verbose, o.Output, o.UserData = 1, "-out", "-user" })},
		{"--help", plain.LocaldsOptions{Help: true}},
		{"-vh whatever", plain.LocaldsOptions{Help: true}},
	}
	for _, tt := range tests {
		got, err := plain.ParseLocalds(strings.Fields(tt.args))
		if err != nil || got != tt.want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", tt.args, got, err, tt.want)
		}
	}
}

func TestParseLocaldsRefuses(t *testing.T) {
	for args, usage := range map[string]bool{
		"":                          true,
		"out":                       true,
		"out user meta more":        true,
		"--nothing out user":        true,
		"-x out user":               true,
		"out user -d":               true,
		"out user --dsmode":         true,
		"--d=raw out user":          true,
		"--verbose=1 out user":      true,
		"-o other out user":         true,
		"-H web out user meta":      false,
		"-m net out user meta":      false,
		"-i eni out user meta":      false,
		"-d tar -f vfat out user":   false,
		"-d tarball out user":       false,
		"-f ext4 out user":          false,
		"-d tar -f tarred out user": false,
	} {
		o, err := plain.ParseLocalds(strings.Fields(args))
		if err == nil || errors.Is(err, plain.ErrLocaldsUsage) != usage || o != (plain.LocaldsOptions{}) {
			t.Errorf("%q: got %+v and %v, want an error, of usage: %v", args, o, err, usage)
		}
	}
}

// files answers for the files of a command line.
func files(name string) ([]byte, error) {
	switch name {
	case "eni":
		return []byte("auto lo\niface lo inet loopback \"<&>\"\n"), nil
	case "missing":
		return nil, os.ErrNotExist
	}
	return []byte("data of " + name), nil
}

func TestLocaldsDocuments(t *testing.T) {
	tests := []struct{ args, want string }{
		{"out -", "user-data=-:data of - meta-data=meta-data:{\n\"instance-id\": \"iid-local01\"\n}\n"},
		{"-H web -m local out u", "user-data=u:data of u meta-data=meta-data:{\n\"instance-id\": \"iid-local01\",\n\"local-hostname\": \"web\",\n\"dsmode\": \"local\"\n}\n"},
		{"-i eni out u", "user-data=u:data of u meta-data=meta-data:{\n\"instance-id\": \"iid-local01\",\n" +
			"\"interfaces\": \"auto lo\\niface lo inet loopback \\\"<&>\\\"\",\n\"network-interfaces\": \"auto lo\\niface lo inet loopback \\\"<&>\\\"\"\n}\n"},
		{"-V v -N n out u m", "user-data=u:data of u meta-data=m:data of m network-config=n:data of n vendor-data=v:data of v"},
	}
	for _, tt := range tests {
		o, err := plain.ParseLocalds(strings.Fields(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		docs, err := o.Documents(files)
		var got []string
		for _, d := range docs {
			got = append(got, fmt.Sprintf("%s=%s:%s", d.Role, d.File, d.Data))
		}
		if text := strings.Join(got, " "); err != nil || text != tt.want {
			t.Errorf("%s:\ngot  %q, %v\nwant %q", tt.args, text, err, tt.want)
		}
	}
	for _, args := range []string{"out missing", "out u missing", "-i missing out u", "-N missing out u"} {
		o, _ := plain.ParseLocalds(strings.Fields(args))
		if _, err := o.Documents(files); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: got %v", args, err)
		}
	}
}

func TestLocaldsPath(t *testing.T) {
	for filesystem, want := range map[string]string{
		"iso9660": "user-data", "tar": "user-data",
		"tar-seed-local": "var/lib/cloud/seed/nocloud/user-data", "tar-seed-net": "var/lib/cloud/seed/nocloud-net/user-data",
	} {
		if got := (plain.LocaldsOptions{Filesystem: filesystem}).Path(frontend.UserData); got != want {
			t.Errorf("%s: got %s", filesystem, got)
		}
	}
}

func TestLocaldsUsage(t *testing.T) {
	usage := plain.LocaldsUsage("vmseed cloud-localds")
	if !strings.HasPrefix(usage, "Usage: vmseed cloud-localds [") {
		t.Errorf("got %s", usage)
	}
	for _, option := range []string{"disk-format", "filesystem", "hostname", "interfaces", "network-config", "dsmode", "vendor-data", "verbose", "help"} {
		if !strings.Contains(usage, "--"+option) {
			t.Errorf("the usage does not name --%s", option)
		}
	}
}

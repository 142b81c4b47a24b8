package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMetadataUsage tells a wrong command line from a host that lacks something.
func TestMetadataUsage(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	for name, text := range map[string]string{"m.yaml": "apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: web}\n", "file": ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"metadata m.yaml --listen foo":                                                     `--listen takes HOST:PORT, not "foo"`,
		"metadata m.yaml --listen 127.0.0.1:99999":                                         `--listen takes HOST:PORT, not "127.0.0.1:99999"`,
		"metadata m.yaml --listen 127.0.0.1:0 --metrics 9155":                              `--metrics takes [HOST]:PORT, not "9155"`,
		"metadata m.yaml --listen 127.0.0.1:0 --metrics :x":                                `--metrics takes [HOST]:PORT, not ":x"`,
		"metadata m.yaml --listen 127.0.0.1:0 --proxy-listen :99999 --proxy-secret-file f": `--proxy-listen takes HOST:PORT, not ":99999"`,
		"metadata m.yaml --datasource configdrive":                                         `--datasource takes ec2, openstack, nocloud or ignition, not "configdrive"`,
		"metadata m.yaml --address web=there":                                              `--address takes [NAMESPACE/]NAME=IP, not "web=there"`,
		"metadata m.yaml --url ftp://x/":                                                   "--url: bad URL of the metadata service",
		"metadata none.yaml --list":                                                        "none.yaml",
		"serve --metadata-listen 127.0.0.1:99999":                                          `--metadata-listen takes HOST:PORT, not "127.0.0.1:99999"`,
		"serve --metrics 9155":                                                             `--metrics takes [HOST]:PORT, not "9155"`,
		"serve --listen 127.0.0.1:99999":                                                   `--listen takes HOST:PORT, not "127.0.0.1:99999"`,
	} {
		ends(t, exitUsage, want, strings.Fields(line)...)
	}
	for line, want := range map[string]string{
		"metadata m.yaml --list --state-dir file/state":   "the state directory of the metadata service: ",
		"metadata m.yaml --list --state-dir /proc/vmseed": "the state directory of the metadata service: ",
	} {
		ends(t, exitEnvironment, want, strings.Fields(line)...)
	}
	if got := strings.Join(slices.Sorted(slices.Values(completed(t, "metadata", "--datasource", ""))), " "); got != "ec2 ignition nocloud openstack" {
		t.Errorf("completion offers %s", got)
	}
}

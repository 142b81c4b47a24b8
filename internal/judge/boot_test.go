//go:build conformance

package judge_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/judge"
)

type tree map[string]string

// seed is a complete NoCloud seed that a test can add to or take from.
func seed(changes tree) tree {
	files := tree{
		"meta-data": "instance-id: i-1\nlocal-hostname: vm.example.org\npublic-keys: [ssh-ed25519 AAAA]\n",
		"user-data": "#cloud-config\nhostname: a\n",
	}
	maps.Copy(files, changes)
	maps.DeleteFunc(files, func(_, content string) bool { return content == "absent" })
	return files
}

// write lays out a tree in a directory.
func (files tree) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// iso makes an image with the reference tool; by default with Rock Ridge and
// Joliet names.
func (files tree) iso(t *testing.T, label string, options ...string) string {
	t.Helper()
	if options == nil {
		options = []string{"-R", "-J"}
	}
	image := filepath.Join(t.TempDir(), "seed.iso")
	args := append([]string{"-quiet", "-o", image, "-V", label}, options...)
	tool(t, "xorrisofs", append(args, files.write(t))...)
	return image
}

// vfat makes an image with the reference tools.
func (files tree) vfat(t *testing.T, label string) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "seed.img")
	tool(t, "mkfs.vfat", "-C", "-n", label, image, "1024")
	entries, err := filepath.Glob(filepath.Join(files.write(t), "*"))
	if err != nil {
		t.Fatal(err)
	}
	tool(t, "mcopy", append(append([]string{"-s", "-i", image}, entries...), "::")...)
	return image
}

// tool runs a program that packages.txt brings.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIP-MISSING: %s", name)
	}
	if output, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, output)
	}
}

func disk(image string) []judge.Disk {
	return []judge.Disk{{Path: image, Device: "/dev/vdb"}}
}

// each runs a test with every release.
func each(t *testing.T, test func(t *testing.T, r *judge.Release)) {
	for _, r := range judge.Releases(t) {
		t.Run(r.Name, func(t *testing.T) { test(t, r) })
	}
}

func TestBootNoCloud(t *testing.T) {
	files := seed(tree{
		"vendor-data":    "#!/bin/sh\nls\n",
		"network-config": "version: 1\nconfig: [{type: physical, name: eth0, mac_address: '52:54:00:12:34:56', subnets: [{type: static, address: 10.0.0.2/24, gateway: 10.0.0.1}]}]\n",
	})
	images := map[string]string{
		"iso cidata": files.iso(t, "cidata"), "iso CIDATA": files.iso(t, "CIDATA"),
		"vfat CIDATA": files.vfat(t, "CIDATA"),
	}
	each(t, func(t *testing.T, r *judge.Release) {
		for name, image := range images {
			got := r.Boot(t, judge.BootRequest{
				Disks: disk(image), Consume: true, Render: judge.Renderers(),
				NICs: []judge.NIC{{MAC: "52:54:00:12:34:56", Name: "eth0"}},
			})
			if got.DataSource != "DataSourceNoCloud" || got.InstanceID != "i-1" || got.Hostname != "vm" ||
				got.FQDN != "vm.example.org" || !slices.Equal(got.PublicKeys, []string{"ssh-ed25519 AAAA"}) {
				t.Errorf("%s: %+v", name, got)
			}
			if string(got.UserData) != files["user-data"] || len(got.VendorData) != 1 || string(got.VendorData[0]) != files["vendor-data"] {
				t.Errorf("%s: user-data %q, vendor-data %q", name, got.UserData, got.VendorData)
			}
			if got.NetworkSource != "ds" || got.MissingNICs != "" || got.NetworkError != "" {
				t.Errorf("%s: network from %s, %q %q", name, got.NetworkSource, got.MissingNICs, got.NetworkError)
			}
			for _, renderer := range judge.Renderers() {
				rendering := got.Rendered[renderer]
				all := strings.Join(slices.Collect(maps.Values(rendering.Files)), "")
				if rendering.Err != "" || !strings.Contains(all, "10.0.0.2") {
					t.Errorf("%s: %s: %+v", name, renderer, rendering)
				}
			}
			if got.Consumed == nil || got.Consumed.Config.Get("hostname").Text != "a" {
				t.Errorf("%s: consumed %+v", name, got.Consumed)
			}
			if problems := judge.Problems(got.Log); len(problems) > 0 {
				t.Errorf("%s: %v", name, problems)
			}
		}
	})
}

// Seeds that a guest does not find, and what systemd's generator decides.
func TestBootNotFound(t *testing.T) {
	ext4 := filepath.Join(t.TempDir(), "ext4")
	tool(t, "mke2fs", "-q", "-t", "ext4", "-L", "cidata", "-d", seed(nil).write(t), ext4, "2m")
	tests := []struct {
		name    string
		image   string
		enabled bool // cloud-init runs all the same
	}{
		{"label in mixed case", seed(nil).iso(t, "CiData"), false},
		{"no user-data", seed(tree{"user-data": "absent"}).iso(t, "cidata"), true},
		{"no meta-data", seed(tree{"meta-data": "absent"}).iso(t, "cidata"), true},
		{"plain ISO names", seed(nil).iso(t, "cidata", "-iso-level", "1", "--norock"), true},
		{"ext4", ext4, true},
	}
	each(t, func(t *testing.T, r *judge.Release) {
		for _, tt := range tests {
			request := judge.BootRequest{Disks: disk(tt.image), Consume: true}
			if got := r.Boot(t, request); got.DataSource != "DataSourceNone" || len(got.UserData) != 0 {
				t.Errorf("%s: found %s", tt.name, got.Text)
			}
			if got := r.DSIdentify(t, request); got.Enabled != tt.enabled {
				t.Errorf("%s: ds-identify enables: %v\n%s", tt.name, got.Enabled, got.Log)
			}
		}
	})
}

func TestBootMetaData(t *testing.T) {
	tests := []struct{ name, meta, id, hostname, keys string }{
		{"not a mapping", "- a\n", "nocloud", "", ""},
		{"not YAML", "a: [\n", "nocloud", "", ""},
		{"hostname is not local-hostname", "instance-id: i\nhostname: a\n", "i", "", ""},
		{"a number for an id", "instance-id: 7\n", "7", "", ""},
		{"keys of EC2's shape", "instance-id: i\npublic-keys: {0: {openssh-key: k}}\n", "i", "", ""},
		{"keys by name", "instance-id: i\npublic-keys: {a: k}\n", "i", "", "k"},
		{"JSON", `{"instance-id": "i", "local-hostname": "a"}`, "i", "a", ""},
	}
	images := make([]string, len(tests))
	for i, tt := range tests {
		images[i] = seed(tree{"meta-data": tt.meta}).iso(t, "cidata")
	}
	each(t, func(t *testing.T, r *judge.Release) {
		for i, tt := range tests {
			got := r.Boot(t, judge.BootRequest{Disks: disk(images[i])})
			if got.InstanceID != tt.id || got.Hostname != tt.hostname || strings.Join(got.PublicKeys, ",") != tt.keys {
				t.Errorf("%s: id %q, host name %q, keys %q", tt.name, got.InstanceID, got.Hostname, got.PublicKeys)
			}
		}
	})
}

// Of several seeds the last device wins, and virtual disks come after CD drives.
func TestBootDeviceOrder(t *testing.T) {
	one := seed(tree{"meta-data": "instance-id: one\n"}).iso(t, "cidata")
	two := seed(tree{"meta-data": "instance-id: two\n"}).vfat(t, "CIDATA")
	each(t, func(t *testing.T, r *judge.Release) {
		for _, tt := range []struct{ one, two, want string }{
			{"/dev/sr0", "/dev/sr1", "two"}, {"/dev/vdb", "/dev/vda", "one"}, {"/dev/vda", "/dev/sr0", "one"},
		} {
			got := r.Boot(t, judge.BootRequest{Disks: []judge.Disk{{Path: one, Device: tt.one}, {Path: two, Device: tt.two}}})
			if got.InstanceID != tt.want {
				t.Errorf("one at %s, two at %s: %s", tt.one, tt.two, got.InstanceID)
			}
		}
	})
}

func TestBootMACAddresses(t *testing.T) {
	config := func(mac string) string {
		return "version: 1\nconfig: [{type: physical, name: eth0, mac_address: " + mac + ", subnets: [{type: dhcp4}]}]\n"
	}
	tests := []struct {
		name, mac string
		fatal     bool
	}{
		{"lower case", `"52:54:00:aa:00:01"`, false},
		{"upper case", `"52:54:00:AA:00:01"`, true},
		{"of no NIC", `"52:54:00:aa:00:02"`, true},
	}
	images := make([]string, len(tests))
	for i, tt := range tests {
		images[i] = seed(tree{"network-config": config(tt.mac)}).iso(t, "cidata")
	}
	each(t, func(t *testing.T, r *judge.Release) {
		for i, tt := range tests {
			got := r.Boot(t, judge.BootRequest{Disks: disk(images[i]), NICs: []judge.NIC{{MAC: "52:54:00:AA:00:01", Name: "enp1s0"}}})
			if fatal := got.MissingNICs != ""; fatal != tt.fatal {
				t.Errorf("%s: %q %s", tt.name, got.MissingNICs, got.NetworkConfig.JSON())
			}
		}
	})
}

// Without a network configuration the guest asks for an address on the first NIC
// of the machine in the request, not of this one.
func TestBootFallbackNetwork(t *testing.T) {
	image := seed(nil).iso(t, "cidata")
	each(t, func(t *testing.T, r *judge.Release) {
		got := r.Boot(t, judge.BootRequest{Disks: disk(image), NICs: []judge.NIC{{MAC: "52:54:00:aa:00:01", Name: "enp1s0"}}})
		if got.NetworkSource != "fallback" || got.NetworkConfig.Get("ethernets").Keys()[0] != "enp1s0" {
			t.Errorf("network from %s: %s", got.NetworkSource, got.NetworkConfig.JSON())
		}
	})
}

func TestBootConfigDrive(t *testing.T) {
	full := tree{
		"openstack/latest/meta_data.json": `{"uuid": "11111111-2222-3333-4444-555555555555", "hostname": "vm.example.org",
			"public_keys": {"k": "ssh-ed25519 AAAA"}, "files": [{"path": "/etc/injected", "content_path": "/content/0000"}]}`,
		"openstack/latest/user_data":         "#cloud-config\nhostname: a\n",
		"openstack/latest/vendor_data.json":  `{"cloud-init": ["#!/bin/sh\n", "#cloud-config\npackages: [p]\n"]}`,
		"openstack/latest/network_data.json": `{"links": [{"id": "n", "type": "phy", "ethernet_mac_address": "52:54:00:AA:00:01"}], "networks": [{"id": "x", "link": "n", "type": "ipv4_dhcp"}], "services": []}`,
		"openstack/content/0000":             "injected\n",
	}
	request := func(files tree) judge.BootRequest {
		return judge.BootRequest{Disks: disk(files.iso(t, "config-2")), Consume: true,
			NICs: []judge.NIC{{MAC: "52:54:00:aa:00:01", Name: "enp1s0"}}}
	}
	good := request(full)

	dated := maps.Clone(full)
	dated["openstack/2015-10-15/meta_data.json"] = `{"uuid": "dated"}`
	poor := request(dated)

	broken := maps.Clone(full)
	broken["openstack/latest/meta_data.json"] = `{"hostname": "vm"}`
	anonymous := request(broken)

	each(t, func(t *testing.T, r *judge.Release) {
		got := r.Boot(t, good)
		if got.DataSource != "DataSourceConfigDrive" || got.InstanceID != "11111111-2222-3333-4444-555555555555" ||
			got.FQDN != "vm.example.org" || !slices.Equal(got.PublicKeys, []string{"ssh-ed25519 AAAA"}) || len(got.VendorData) != 2 {
			t.Errorf("%+v", got)
		}
		if f := got.Consumed.Files["/etc/injected"]; f.Mode != "0660" || string(f.Content) != "injected\n" {
			t.Errorf("injected file %+v of %v", f, got.Consumed.Files)
		}
		if got.MissingNICs != "" || !strings.Contains(got.NetworkConfig.JSON(), `"name":"enp1s0"`) {
			t.Errorf("network %s %s", got.NetworkConfig.JSON(), got.MissingNICs)
		}
		if got := r.DSIdentify(t, good); !got.Enabled || !slices.Equal(got.DataSources, []string{"ConfigDrive", "None"}) {
			t.Errorf("ds-identify: %v", got.DataSources)
		}
		if got := r.Boot(t, poor); got.InstanceID != "dated" || len(got.UserData) != 0 {
			t.Errorf("dated directory: id %s, user-data %q", got.InstanceID, got.UserData)
		}
		if got := r.Boot(t, anonymous); got.DataSource != "DataSourceNone" {
			t.Errorf("without uuid: %s", got.Text)
		}
	})
}

// A seed over HTTP: the releases read the address of the seed, its dsmode and
// network-config differently.
func TestBootHTTP(t *testing.T) {
	files := seed(tree{"vendor-data": "", "network-config": "version: 2\nethernets: {eth9: {dhcp4: true}}\n"})
	server := httptest.NewServer(http.FileServer(http.Dir(files.write(t))))
	defer server.Close()
	url := server.URL + "/"
	tests := []struct {
		name           string
		request        judge.BootRequest
		found, process map[string]bool
	}{
		{
			"SMBIOS", judge.BootRequest{DMI: map[string]string{"system-serial-number": "ds=nocloud;s=" + url}},
			map[string]bool{"22.4": true, "25.1": true}, map[string]bool{"25.1": true},
		},
		{
			"SMBIOS with dsmode", judge.BootRequest{DMI: map[string]string{"system-serial-number": "ds=nocloud;dsmode=net;s=" + url}},
			map[string]bool{"22.4": true, "25.1": true}, map[string]bool{"22.4": true, "25.1": true},
		},
		{
			"command line", judge.BootRequest{Cmdline: "ro ds=nocloud;dsmode=net;s=" + url},
			map[string]bool{"22.4": true, "25.1": true}, map[string]bool{"22.4": true, "25.1": true},
		},
		{
			"command line, with the list that ds-identify of 25.1 makes of it",
			judge.BootRequest{Cmdline: "ro ds=nocloud;dsmode=net;s=" + url, DataSources: []string{"nocloud", "None"}},
			map[string]bool{"25.1": true}, map[string]bool{"25.1": true},
		},
		{
			"seedfrom in an image", judge.BootRequest{Disks: disk(seed(tree{"meta-data": "seedfrom: " + url + "\n"}).iso(t, "cidata"))},
			map[string]bool{"22.4": true}, map[string]bool{"22.4": true},
		},
	}
	each(t, func(t *testing.T, r *judge.Release) {
		for _, tt := range tests {
			got := r.Boot(t, tt.request)
			found := strings.HasPrefix(got.DataSource, "DataSourceNoCloud") && got.InstanceID == "i-1"
			if found != tt.found[r.Name] || found && got.UserDataProcessed != tt.process[r.Name] {
				t.Errorf("%s: %s, user-data processed: %v, %v", tt.name, got.Text, got.UserDataProcessed, judge.Problems(got.Log))
			}
			if network := strings.Contains(got.NetworkConfig.JSON(), "eth9"); found && network != (r.Name == "25.1") {
				t.Errorf("%s: network from %s: %s", tt.name, got.NetworkSource, got.NetworkConfig.JSON())
			}
		}
	})
}

// A seed directory inside the image, as a delivery to a directory makes it.
func TestBootSeedDirectory(t *testing.T) {
	files := make(map[string][]byte)
	for name, content := range seed(nil) {
		files["/var/lib/cloud/seed/nocloud/"+name] = []byte(content)
	}
	each(t, func(t *testing.T, r *judge.Release) {
		if got := r.Boot(t, judge.BootRequest{Files: files}); got.InstanceID != "i-1" {
			t.Errorf("%+v", got)
		}
		if got := r.DSIdentify(t, judge.BootRequest{Files: files}); !got.Enabled {
			t.Errorf("ds-identify: %s", got.Log)
		}
	})
}

func TestDSIdentify(t *testing.T) {
	nocloud, configDrive := disk(seed(nil).iso(t, "cidata")), disk(seed(nil).iso(t, "config-2"))
	both := append(slices.Clone(nocloud), judge.Disk{Path: configDrive[0].Path, Device: "/dev/vdc"})
	const uuid = "ec2e1916-9099-7caf-fd21-012345abcdef"
	ec2 := map[string]string{"system-uuid": uuid, "system-serial-number": uuid}
	tests := []struct {
		name    string
		request judge.BootRequest
		want    string // the data sources, or nothing if cloud-init does not run
	}{
		{"nothing", judge.BootRequest{}, ""},
		{"cidata", judge.BootRequest{Disks: nocloud}, "NoCloud None"},
		{"both labels", judge.BootRequest{Disks: both}, "ConfigDrive NoCloud None"},
		{"both labels, own order", judge.BootRequest{Disks: both, DataSources: []string{"NoCloud", "ConfigDrive", "None"}}, "NoCloud ConfigDrive None"},
		{"OpenStack with a drive", judge.BootRequest{Disks: configDrive, DMI: map[string]string{"system-product-name": "OpenStack Nova"}}, "ConfigDrive None"},
		{"EC2", judge.BootRequest{DMI: ec2}, "Ec2 None"},
		{"EC2 with a seed", judge.BootRequest{DMI: ec2, Disks: nocloud}, "NoCloud Ec2 None"},
		{"serial number", judge.BootRequest{DMI: map[string]string{"system-serial-number": "ds=nocloud;s=http://127.0.0.1/"}}, "NoCloud None"},
		{"command line", judge.BootRequest{Cmdline: "ro ds=nocloud"}, "NoCloud None"},
		{"fixed list", judge.BootRequest{DataSources: []string{"NoCloud", "None"}}, "NoCloud None"},
	}
	each(t, func(t *testing.T, r *judge.Release) {
		for _, tt := range tests {
			got := r.DSIdentify(t, tt.request)
			// 25.1 copies a name from the command line as it is spelled there.
			if list := strings.Join(got.DataSources, " "); !strings.EqualFold(list, tt.want) || got.Enabled != (tt.want != "") {
				t.Errorf("%s: enabled %v, %q, want %q", tt.name, got.Enabled, list, tt.want)
			}
		}
	})
}

// Nothing of this machine's firmware or command line may shine through.
func TestBootBareMachine(t *testing.T) {
	each(t, func(t *testing.T, r *judge.Release) {
		got := r.Boot(t, judge.BootRequest{DataSources: []string{"NoCloud"}})
		if got.DataSource != "" || got.Err == "" {
			t.Errorf("%s found something: %+v", fmt.Sprint(r), got)
		}
	})
}

//go:build conformance

package vmseed_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/datasource"
	datasources "github.com/vmseed/vmseed/datasource/all"
	"github.com/vmseed/vmseed/delivery"
	deliveries "github.com/vmseed/vmseed/delivery/all"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
)

func engine() *vmseed.Engine {
	return &vmseed.Engine{DataSources: datasources.DataSources(), Deliveries: deliveries.Deliveries()}
}

// boot asks a release of cloud-init what it makes of a machine's seed.
func boot(t *testing.T, r *judge.Release, m machine.Machine, source, format string, o datasource.Options) judge.BootResult {
	t.Helper()
	return r.Boot(t, request(t, m, source, format, o))
}

// request renders a machine and writes its seed as an image for a boot.
func request(t *testing.T, m machine.Machine, source, format string, o datasource.Options) judge.BootRequest {
	t.Helper()
	e := engine()
	m, l := e.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	m.Media = nil
	s, l := e.Render(m, vmseed.RenderOptions{DataSource: source, Options: o})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	path := filepath.Join(t.TempDir(), "seed")
	if _, err := e.Deliver(t.Context(), s, format, delivery.Target{Path: path}); err != nil {
		t.Fatal(err)
	}
	req := judge.BootRequest{
		Disks:   []judge.Disk{{Path: path, Device: "/dev/vdb"}},
		Consume: true, Modules: []string{"write_files", "write_files_deferred", "runcmd"},
		DMI: map[string]string{"system-uuid": m.Identity.UUID},
	}
	for i, n := range m.Network.NICs {
		if n.Physical() {
			req.NICs = append(req.NICs, judge.NIC{MAC: n.MAC, Name: fmt.Sprintf("eth%d", i)})
		}
	}
	return req
}

// each runs a test for every release, data source and image format.
func each(t *testing.T, run func(t *testing.T, r *judge.Release, source, format string)) {
	for _, r := range judge.Releases(t) {
		for _, source := range []string{"nocloud", "configdrive"} {
			for _, format := range []string{"iso", "vfat"} {
				t.Run(fmt.Sprintf("%s/%s/%s", r.Name, source, format), func(t *testing.T) { run(t, r, source, format) })
			}
		}
	}
}

// everything is the machine with every field set, without what the fake boot cannot follow.
func everything() machine.Machine {
	m := machinetest.Generated()
	m.DSMode, m.Compat = "", ""
	for i := range m.Network.NICs {
		m.Network.NICs[i].Rename = ""
	}
	m.Network.NICs = m.Network.NICs[:2]
	m.PhoneHome, m.PowerState = machine.PhoneHome{}, machine.PowerState{}
	m.Ignition = nil // goes by the firmware, which is no disk
	return m
}

func TestCloudInitReadsEverything(t *testing.T) {
	each(t, func(t *testing.T, r *judge.Release, source, format string) {
		m := everything()
		b := boot(t, r, m, source, format, datasource.Options{})
		readsEverything(t, m, b)
		if b.NetworkError != "" || b.MissingNICs != "" || b.NetworkSource != "ds" {
			t.Errorf("network from %q: %s %s", b.NetworkSource, b.NetworkError, b.MissingNICs)
		}
	})
}

// readsEverything holds what a guest made of its seed against the machine, but for the network.
func readsEverything(t *testing.T, m machine.Machine, b judge.BootResult) {
	t.Helper()
	if b.Err != "" || b.Consumed == nil {
		t.Fatalf("no data source: %q, consumed %v", b.Err, b.Consumed)
	}
	if want := m.Identity.InstanceID + "-r23"; b.InstanceID != want {
		t.Errorf("instance id %q, want %q", b.InstanceID, want)
	}
	if want := m.Identity.FQDN(); b.FQDN != want || b.Hostname != m.Identity.Hostname && b.Hostname != want {
		t.Errorf("host %q, FQDN %q, want %q", b.Hostname, b.FQDN, want)
	}
	if got := strings.Join(b.PublicKeys, "\n"); len(b.PublicKeys) != len(m.SSH.AuthorizedKeys) || !strings.Contains(got, m.SSH.AuthorizedKeys[0]) {
		t.Errorf("public keys %q", got)
	}
	for _, p := range judge.Problems(b.Log) {
		// The sample's scripts, keys and includes are no real ones; what counts is that the seed is read whole.
		t.Logf("log: %+v", p)
	}
	files := b.Consumed.Files
	for _, f := range m.Files {
		got, ok := files[f.Path]
		if !ok || string(got.Content) != f.Content.Reveal() || got.Mode != fmt.Sprintf("%04o", f.Mode.Bits()) {
			t.Errorf("%s: written %v, mode %s, want %04o", f.Path, ok, got.Mode, f.Mode.Bits())
		}
	}
	if env := string(files["/etc/cloud/environment"].Content); !strings.Contains(env, "ENVIRONMENT_NAME=environment-value-canary\n") {
		t.Errorf("environment %q", env)
	}
	config := b.Consumed.Config
	for path, want := range map[string]string{"timezone": m.Guest.Timezone, "locale": m.Guest.Locale} {
		if got := config.Get(path).Text; got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	// The user's own layers survive beside what was generated.
	if config.Get("final_message").Text == "" || config.Get("manage_etc_hosts").Text != "true" {
		t.Errorf("the user's own keys are lost: %s", config.JSON())
	}
	if len(config.Get("users").Items) != 2 || config.Get("users").Items[0].Get("name").Text != "users-name" {
		t.Errorf("users: %s", config.Get("users").JSON())
	}
	if got := b.Consumed.Vendor.Get("package_reboot_if_required").Text; got != "true" {
		t.Errorf("vendor-data: %s", b.Consumed.Vendor.JSON())
	}
	script := false
	for path, f := range files {
		script = script || strings.Contains(path, "scripts-name") && strings.Contains(string(f.Content), "scripts-content-canary")
	}
	if !script {
		t.Error("the script is not among the files of the guest")
	}
}

// TestOneDocumentAndMultipartMeanTheSame holds the merge on the host and the merge in the guest against each other: a
// script beside the cloud-config must change nothing about the lists.
func TestOneDocumentAndMultipartMeanTheSame(t *testing.T) {
	user := "#cloud-config\nwrite_files:\n- {path: /user, content: u, permissions: '0600'}\nruncmd: [[echo, user]]\ntimezone: Europe/Rome\nusers: [default, {name: u}]\n"
	base := machine.Machine{Name: "vm", Guest: machine.Guest{Timezone: "Asia/Tokyo"},
		Users:    []machine.User{{Name: "generated"}},
		Files:    []machine.File{{Path: "/generated", Content: secret.New("g"), Mode: 0o400}},
		RunCmd:   []machine.Command{{Args: []string{"echo", "generated"}}},
		UserData: machine.UserData{Layers: []machine.Layer{{Data: secret.New(user)}}}}
	withScript := base
	withScript.Scripts = []machine.Script{{Name: "s.sh", Content: secret.New("#!/bin/sh\ntrue\n")}}
	each(t, func(t *testing.T, r *judge.Release, source, format string) {
		one := boot(t, r, base, source, format, datasource.Options{}).Consumed.Config
		several := boot(t, r, withScript, source, format, datasource.Options{}).Consumed.Config
		if one.JSON() != several.JSON() {
			t.Errorf("one document: %s\nmultipart:    %s", one.JSON(), several.JSON())
		}
		if got := one.Get("timezone").Text; got != "Europe/Rome" {
			t.Errorf("timezone %q: the user's own does not win", got)
		}
		if n := len(one.Get("write_files").Items); n != 2 || one.Get("write_files").Items[1].Get("path").Text != "/generated" {
			t.Errorf("write_files %s", one.Get("write_files").JSON())
		}
		if n := len(one.Get("runcmd").Items); n != 2 {
			t.Errorf("runcmd %s", one.Get("runcmd").JSON())
		}
	})
}

// TestEveryKindOfUserDataSurvives sends each kind of user-data beside generated parts, and demands that both arrive.
func TestEveryKindOfUserDataSurvives(t *testing.T) {
	kinds := map[string]string{
		"script":  "#!/bin/sh\necho user\n",
		"jinja":   "## template: jinja\n#cloud-config\nfinal_message: \"{{ v1.instance_id }} user\"\n",
		"archive": "#cloud-config-archive\n- type: text/cloud-config\n  content: |\n    #cloud-config\n    final_message: user\n",
		"MIME": "Content-Type: multipart/mixed; boundary=\"b\"\nMIME-Version: 1.0\n\n--b\nContent-Type: text/cloud-config\n\n" +
			"#cloud-config\nfinal_message: user\nwrite_files:\n- {path: /user, content: u}\n\n--b--\n",
		"cloud-config with merge_how": "#cloud-config\nmerge_how: dict(replace)+list()+str()\nfinal_message: user\n",
	}
	m := machine.Machine{Name: "vm", Files: []machine.File{{Path: "/generated", Content: secret.New("g\x00\xff"), Mode: 0o600}}}
	each(t, func(t *testing.T, r *judge.Release, source, format string) {
		for name, text := range kinds {
			m.UserData.Layers = []machine.Layer{{Data: secret.New(text)}}
			b := boot(t, r, m, source, format, datasource.Options{})
			if got := b.Consumed.Files["/generated"]; string(got.Content) != "g\x00\xff" || got.Mode != "0600" {
				t.Errorf("%s: the generated file is %q, mode %s", name, got.Content, got.Mode)
			}
			found := strings.Contains(b.Consumed.Config.Get("final_message").Text, "user")
			for path, f := range b.Consumed.Files {
				found = found || strings.Contains(path, "/scripts/") && strings.Contains(string(f.Content), "echo user")
			}
			if !found {
				t.Errorf("%s: what the user wrote is lost: %s", name, b.Consumed.Config.JSON())
			}
		}
	})
}

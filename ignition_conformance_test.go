//go:build conformance

package vmseed_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/datasource"
	frontends "github.com/vmseed/vmseed/frontend/all"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
)

// ovirt is the config of oVirt's page on Ignition.
const ovirt = `{
  "ignition": { "version": "3.0.0" },
  "passwd": {
    "users": [
      {
        "name": "core",
        "passwordHash": "$y$j9T$skCa2x5kFis7p58gYjz3C1$ykelHfCckRToZKAVYK7GDdLOCi3pcF2WMioI.vmYkj5"
      }
    ]
  }
}
`

// both is a KubeVirt VM whose config drive has an Ignition config as its user-data.
const both = `apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: coreos, namespace: lab}
spec:
  runStrategy: Always
  template:
    spec:
      hostname: coreos-1
      domain:
        resources: {requests: {memory: 1Gi}}
        devices: {disks: [{name: root, disk: {bus: virtio}}, {name: seed, disk: {bus: virtio}}]}
      volumes:
      - name: root
        containerDisk: {image: quay.io/containerdisks/fedora-coreos:stable}
      - name: seed
        cloudInitConfigDrive:
          userData: |
            {"ignition": {"version": "3.3.0"}, "storage": {"files": [{"path": "/etc/from-user-data", "contents": {"source": "data:,here"}}]}}
`

const cloudConfig = `#cloud-config
hostname: translated
timezone: Asia/Tokyo
users:
- name: amy
  uid: "1600"
  gecos: Amy
  groups: [adm]
  ssh_authorized_keys: [ssh-ed25519 AAAA amy]
write_files:
- path: /etc/app.conf
  permissions: '0640'
  content: |
    [app]
runcmd:
- touch /run/done
`

const butaneDocument = `variant: fcos
version: 1.4.0
passwd:
  users:
  - name: core
    ssh_authorized_keys: [ssh-ed25519 AAAA butane]
storage:
  files:
  - path: /etc/app.conf
    mode: 0600
    contents:
      inline: |
        out of Butane
systemd:
  units:
  - name: app.service
    enabled: true
    contents: |
      [Service]
      ExecStart=/usr/bin/true
      [Install]
      WantedBy=multi-user.target
`

// TestIgnitionReadsDocuments has the real Ignition apply what becomes of the forms in which people write definitions, on
// every platform: the guest must be the same, however it gets the config.
func TestIgnitionReadsDocuments(t *testing.T) {
	program := judge.NewIgnition(t)
	const hostname = "file 0644 root:root\n"
	for _, c := range []struct {
		name string
		// inputs are files of examples/, or texts when they have an end of line.
		inputs []string
		source string
		// want are contents of the guest, as judge.IgnitionResult shows them; a name after "user:" is an account.
		want    map[string]string
		presets []string
	}{
		{"seed 000", []string{"kubevirt/myvm1-mended.yml", "kubevirt/kubevirt-config.yaml"}, "ignition", map[string]string{
			"user:core": "1000:core::/home/core:/bin/bash:*:", "/etc/hostname": hostname + "myvm1\n"}, nil},
		{"seed 001", []string{ovirt}, "ignition", map[string]string{
			"user:core": "1000:core::/home/core:/bin/bash:$y$j9T$skCa2x5kFis7p58gYjz3C1$ykelHfCckRToZKAVYK7GDdLOCi3pcF2WMioI.vmYkj5:"}, nil},
		{"KubeVirt's config drive", []string{both}, "configdrive", map[string]string{"/etc/from-user-data": "file 0644 root:root\nhere"}, nil},
		{"KubeVirt's config drive, over the firmware", []string{both}, "ignition", map[string]string{
			"/etc/from-user-data": "file 0644 root:root\nhere", "/etc/hostname": hostname + "coreos-1\n"}, nil},
		{"cloud-config", []string{cloudConfig}, "ignition", map[string]string{
			"user:amy": "1600:amy:Amy:/home/amy:/bin/bash:*:adm", "/home/amy/.ssh/authorized_keys": "file 0600 amy:amy\nssh-ed25519 AAAA amy\n",
			"/etc/app.conf": "file 0640 root:root\n[app]\n", "/etc/localtime": "link ../usr/share/zoneinfo/Asia/Tokyo"},
			[]string{"enable vmseed-runcmd.service"}},
		{"Butane", []string{butaneDocument}, "ignition", map[string]string{
			"/home/core/.ssh/authorized_keys": "file 0600 core:core\nssh-ed25519 AAAA butane\n", "/etc/app.conf": "file 0600 root:root\nout of Butane\n"},
			[]string{"enable app.service"}},
		{"native", []string{"ignition/server.yaml"}, "ignition", map[string]string{
			"user:keeper": "1850:archive:Keeps the archive:/home/keeper:/bin/bash:*:", "/etc/archive/key": "file 0400 keeper:archive\n\x00\x01\x02\x03\x04\x05\xff",
			"/etc/motd.d/merged": "file 0644 root:root\nmerged\n", "/etc/archive/current": "link /var/archive", "/etc/hostname": hostname + "vault.lab.example.org\n"},
			[]string{"enable archive.service", "enable var-archive.mount", "enable vmseed-runcmd.service"}},
		{"native, for cloud-init guests", []string{"native/web.yaml"}, "ignition", map[string]string{
			"/etc/localtime": "link ../usr/share/zoneinfo/Europe/Zurich", "/etc/hostname": hostname + "web.shop.example.org\n"}, nil},
		{"seed 002", []string{"virtlet/pod.yaml", "virtlet/objects.yaml"}, "ignition", map[string]string{
			"/etc/hostname": hostname + "ubuntu-vm\n", "/etc/baz/a-file-taken-from-secrets.conf": "file 0644 root:root\n# some secret content\n"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := loadTexts(t, c.inputs...)
			for _, platform := range []string{"qemu", "flatcar", "openstack", "kubevirt", "proxmoxve"} {
				if c.source != "ignition" && platform != "kubevirt" {
					continue
				}
				config := ignitionOf(t, m, c.source, platform)
				r := program.Apply(t, config)
				if r.Failed != "" || len(r.Warnings) > 0 {
					t.Fatalf("%s: Ignition fails in %q of %s %q, warns of %q\n%s", platform, r.Failed, r.Reason, r.Errors, r.Warnings, config)
				}
				for name, want := range c.want {
					got := r.Show(name)
					if user, ok := strings.CutPrefix(name, "user:"); ok {
						got = r.Account(user)
					}
					if got != want {
						t.Errorf("%s: %s is %q, want %q", platform, name, got, want)
					}
				}
				for _, line := range append(c.presets, "enable vmseed-report.service") {
					if !slices.Contains(r.Presets(), line) {
						t.Errorf("%s: presets %q lack %q", platform, r.Presets(), line)
					}
				}
				if r.Show("/etc/systemd/system/multi-user.target.wants/vmseed-report.service") != "link ../vmseed-report.service" ||
					!strings.HasPrefix(r.Show("/etc/vmseed/report.sh"), "file 0755 root:root\n#!/bin/sh\n") {
					t.Errorf("%s: the reporter is not in the guest", platform)
				}
			}
		})
	}
}

// loadTexts loads one machine, placed, out of files of examples and of texts.
func loadTexts(t *testing.T, inputs ...string) machine.Machine {
	t.Helper()
	e := engine()
	e.Frontends = frontends.Frontends()
	var in []vmseed.Input
	for _, x := range inputs {
		if strings.Contains(x, "\n") {
			in = append(in, vmseed.Input{File: "text", Data: []byte(x)})
			continue
		}
		data, err := os.ReadFile("examples/" + x)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, vmseed.Input{File: x, Data: data})
	}
	machines, l := e.Load(t.Context(), in, vmseed.LoadOptions{})
	if l.HasErrors() || len(machines) != 1 {
		t.Fatalf("%d machines, %v", len(machines), l.Err())
	}
	m, l := e.Place(machines[0], machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return m
}

// ignitionOf renders a machine with the reporters that run adds, and returns what Ignition would read of its seed.
func ignitionOf(t *testing.T, m machine.Machine, source, platform string) []byte {
	t.Helper()
	s, l := engine().Render(m, vmseed.RenderOptions{DataSource: source, Options: datasource.Options{IgnitionPlatform: platform,
		Extra: []machine.Layer{report.Reporter(), report.IgnitionReporter()}}})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	for _, f := range s.Firmware.FwCfg {
		return []byte(f.Content.Reveal())
	}
	for _, v := range s.Volumes {
		for _, path := range []string{"openstack/latest/user_data", "user-data"} {
			if text, ok := v.File(path); ok {
				return []byte(text.Reveal())
			}
		}
	}
	t.Fatal("the seed has nothing for Ignition")
	return nil
}

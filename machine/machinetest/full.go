// Package machinetest has machines for tests: one in which every field is set, and the means to compare machines and to
// show them as text. Only tests import it, because it reveals secrets.
package machinetest

import (
	"net/netip"
	"time"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Full returns a valid machine in which every field of machine.Fields is set. It can be placed without diagnostics.
//
// Texts that nothing interprets begin with the field that they stand in, so that whoever finds one in a product knows
// where it came from; every secret contains the word canary. Numbers are distinctive as well. Where fields exclude
// each other they are set in different members of a list: each mount, command and disk has another kind of source. A
// few fields switch others off as long as they are set; see Generated.
func Full() machine.Machine {
	m := machine.Machine{
		Name:      "full-machine",
		Namespace: "full-namespace",
		Identity:  identity(),
		Guest: machine.Guest{OS: "linux", Release: "debian-12", Timezone: "Antarctica/Troll", Locale: "de_CH.UTF-8",
			IgnitionPlatform: "qemu"},
		Users:         users(),
		Groups:        []machine.Group{{Name: "groups-name", GID: of(4711), Members: []string{"users-name", "groups-member"}}},
		SSH:           ssh(),
		AdminPassword: secret.New("adminPassword-canary"),
		Files:         files(),
		Environment: []machine.Variable{
			{Name: "ENVIRONMENT_NAME", Value: secret.New("environment-value-canary")},
			{Name: "ENVIRONMENT_QUOTED", Value: secret.New(`a "b" 'c' $d \e canary`)},
		},
		Mounts:      mounts(),
		DeviceLinks: []machine.DeviceLink{{Path: "/dev/deviceLinks-path", Disk: "disk-path"}},
		Network:     network(),
		BootCmd: []machine.Command{
			{Shell: "echo bootcmd-shell"}, {Args: []string{"echo", "bootcmd-args", "two words"}},
		},
		RunCmd: []machine.Command{
			{Shell: "echo runcmd-shell > /run/runcmd-shell"}, {Args: []string{"touch", "/run/runcmd-args", "$HOME"}},
		},
		Scripts: []machine.Script{
			{Name: "scripts-name.sh", Content: secret.New("#!/bin/sh\necho scripts-content-canary\n"), Frequency: "boot"},
		},
		Packages:   machine.Packages{Update: true, Upgrade: true, Install: []string{"packages-install"}},
		NTP:        machine.NTP{Enabled: of(true), Servers: []string{"ntp-servers.example.org"}, Pools: []string{"ntp-pools.example.org"}},
		CACerts:    []secret.Text{secret.New("-----BEGIN CERTIFICATE-----\nY2FDZXJ0cy1jYW5hcnk=\n-----END CERTIFICATE-----\n")},
		PhoneHome:  machine.PhoneHome{URL: "http://phonehome-url.example.org/$INSTANCE_ID/", Post: []string{"pub_key_ed25519"}, Tries: of(17)},
		PowerState: powerState(),
		Keyboard:   machine.Keyboard{Layout: "ch", Model: "pc105", Variant: "keyboard-variant", Options: "compose:rwin"},
		MetaData:   []machine.Layer{layer("metaData-name", "metaData-data: metaData-canary\n", machine.MergeReplace)},
		UserData: machine.UserData{
			Layers: []machine.Layer{
				layer("userData-layers-name", "#cloud-config\nfinal_message: userData-layers-data-canary\n", machine.MergeReplace),
				layer("userData-layers-second", "#cloud-config\nmanage_etc_hosts: true # canary\n", machine.MergeVirtlet),
			},
			Raw:             true,
			MountScriptMark: "@userData-mountScriptMark@",
			MountScripts:    true,
		},
		VendorData: []machine.Layer{layer("vendorData-name", "#cloud-config\npackage_reboot_if_required: true # canary\n", machine.MergeVirtlet)},
		Ignition: []machine.Layer{layer("ignition-name", `{"ignition": {"version": "3.0.0"}, "storage": {"files": [`+
			`{"path": "/etc/ignition-data", "contents": {"source": "data:,ignition-data-canary"}}]}}`, machine.MergeReplace)},
		Units: []machine.Unit{
			{Name: "units-name.service", Content: secret.New("[Service]\nExecStart=/bin/echo units-content-canary\n[Install]\nWantedBy=multi-user.target\n"),
				Enabled: of(true), DropIns: []machine.DropIn{{Name: "units-dropIns-name.conf", Content: secret.New("[Unit]\n# units-dropIns-content-canary\n")}}},
			{Name: "units-masked.service", Mask: true},
		},
		Storage: storage(),
		AgentUsers: []machine.AgentUser{{Name: "agentUsers-name", Password: secret.New("agentUsers-password-canary"),
			SSHAuthorizedKeys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGFnZW50VXNlcnMta2V5cy0wMTIzNDU2Nzg5MDEy agentUsers@sshAuthorizedKeys"}}},
		Compat:          "kubevirt",
		MetadataOptions: machine.MetadataOptions{HTTPTokens: "optional", HTTPPutResponseHopLimit: 13, Seal: true},
		DataSource:      "nocloud", DSMode: "net",
		Running: of(true), RestartPolicy: "OnFailure", StopGrace: 97 * time.Second,
		Labels:      map[string]string{"example.org/labels": "labels-value", "app": "labels-app"},
		Annotations: map[string]string{"example.org/annotations": "annotations-value, yes: 0644"},
	}
	equip(&m)
	return m
}

// Generated returns Full without the fields that switch off what vmseed generates from the others: userData.raw,
// userData.mountScriptMark, network.mode, network.format and network.document, and the layers of user-data replace nothing.
func Generated() machine.Machine {
	m := Full()
	for _, f := range []machine.Field{"userData.raw", "userData.mountScriptMark", "userData.layers.merge",
		"network.mode", "network.format", "network.document", "metaData.merge", "vendorData.merge"} {
		machine.Clear(&m, f)
	}
	return m
}

func of[T any](v T) *T { return &v }

func layer(name, data string, merge machine.Merge) machine.Layer {
	return machine.Layer{Name: name, Data: secret.New(data), Merge: merge}
}

func identity() machine.Identity {
	return machine.Identity{
		UUID: "3c2a9c1e-5f0b-4d7e-9a51-0f6e2b7d8c41", Serial: "identity-serial", InstanceID: "identity-instanceID",
		Revision: 23, UID: "identity-uid", Hostname: "identity-hostname", Domain: "identity-domain.example.org",
		Region: "identity-region", AvailabilityZone: "identity-availabilityZone",
		InstanceType: "identity-instanceType", CloudName: "identity-cloudName", LaunchIndex: of(31),
		Tags: map[string]string{"identity-tag": "identity-tag-value"},
	}
}

func users() []machine.User {
	return []machine.User{
		{
			Name: "users-name", Gecos: "users-gecos", UID: of(5123), PrimaryGroup: "users-primarygroup",
			Groups: []string{"users-group", "groups-name"}, Home: "/home/users-home", NoCreateHome: true,
			Shell: "/bin/users-shell", System: true,
			PasswordHash: secret.New("$6$usersSalt$users.passwordHash.canary"), LockPassword: of(false),
			ExpirePassword: true, Inactive: "37", Expires: "2038-01-19",
			SSHAuthorizedKeys: []string{
				"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHVzZXJzLXNzaEF1dGhvcml6ZWRLZXlzLTAxMjM0NTY3 users@sshAuthorizedKeys",
			},
			SSHImportID: []string{"gh:users-sshImportID"},
			Sudo:        []string{"ALL=(ALL) NOPASSWD:ALL # users-sudo"},
		},
		{Default: true, Password: secret.New("users-password-canary"), LockPassword: of(false)},
	}
}

func ssh() machine.SSH {
	return machine.SSH{
		AuthorizedKeys: []string{
			"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHNzaC1hdXRob3JpemVkS2V5cy0wMTIzNDU2Nzg5MDEy ssh@authorizedKeys",
			`no-pty,command="echo hi" ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAQQDaGVsbG8= ssh@authorizedKeys2`,
		},
		HostKeys: []machine.HostKey{{
			Type:        "ed25519",
			Private:     secret.New("-----BEGIN OPENSSH PRIVATE KEY-----\nc3NoLWhvc3RLZXlzLWNhbmFyeQ==\n-----END OPENSSH PRIVATE KEY-----\n"),
			Public:      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHNzaC1ob3N0S2V5cy1wdWJsaWMtMDEyMzQ1Njc4OTAx ssh@hostKeys",
			Certificate: "ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1ob3N0S2V5cy1jZXJ0 ssh@certificate",
		}},
		GenKeyTypes:    []string{"ed25519", "rsa"},
		DeleteHostKeys: of(false), PasswordAuth: of(true), DisableRoot: of(false),
	}
}

func files() []machine.File {
	return []machine.File{
		{Path: "/etc/files-path", Content: secret.New("files-content-canary\n"), Mode: 0o4751, Owner: "users-name:groups-name",
			Append: true, Defer: true},
		{Path: "/etc/files-binary", Content: secret.New("\x00\x01\xfe\xffcanary"), Mode: machine.NoAccess},
	}
}

func mounts() []machine.Mount {
	return []machine.Mount{
		{Disk: "disk-blank", Partition: 1, Path: "/mounts-disk", Type: "ext4", Options: []string{"noatime", "x-mounts-options"}},
		{Share: "shares-name", Path: "/mounts-share", Type: "9p"},
		{Device: "LABEL=mounts-device", Path: "/mounts-device"},
	}
}

func storage() machine.Storage {
	return machine.Storage{
		Disks: []machine.DiskLayout{{Disk: "disk-path", Table: "gpt", Wipe: true, Partitions: []machine.Partition{
			{Number: 1, Label: "partitions-label", Start: 3 << 20, Size: 101 << 20, Type: "linux"},
			{Number: 2, Type: "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F"},
		}}, {Device: "/dev/storage-disks-device", Table: "mbr", Partitions: []machine.Partition{{Type: "linux"}}}},
		Filesystems: []machine.Filesystem{
			{Disk: "disk-path", Partition: 1, Type: "ext4", Label: "fs-label", Wipe: true, Options: []string{"-m", "1"}},
			{Device: "/dev/storage-filesystems-device", Type: "swap"},
		},
	}
}

func powerState() machine.PowerState {
	return machine.PowerState{
		Mode: "reboot", Delay: 5 * time.Minute, Message: "powerState-message",
		Timeout: 41 * time.Second, Condition: "test -e /run/powerState-condition",
	}
}

func network() machine.Network {
	dns := func(host byte, name string) machine.DNS {
		return machine.DNS{
			Servers: []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, host}), netip.MustParseAddr("2001:db8::53")},
			Search:  []string{name + "-search.example.org"},
			Options: []string{"rotate", "ndots:7"},
		}
	}
	return machine.Network{
		Mode: "disabled", Format: "eni",
		DNS: dns(53, "network-dns"),
		Document: layer("network-document-name",
			"version: 2\nethernets: {canary0: {dhcp4: true}}\n", machine.MergeReplace),
		NICs: []machine.NIC{
			{
				Name: "nics-name", Kind: "physical", Rename: "nicsrename0", MAC: "52:54:00:aa:bb:01", Match: "mac", MTU: 1437,
				DHCP6: "stateless", SLAAC: true, AcceptRA: of(true),
				Addrs:    []netip.Prefix{netip.MustParsePrefix("198.51.100.17/24"), netip.MustParsePrefix("2001:db8:1::17/64")},
				Gateway4: netip.MustParseAddr("198.51.100.1"), Gateway6: netip.MustParseAddr("2001:db8:1::1"),
				Routes: []machine.Route{
					{To: netip.MustParsePrefix("203.0.113.0/25"), Via: netip.MustParseAddr("198.51.100.9"), Metric: of(271), OnLink: true},
					{To: netip.MustParsePrefix("2001:db8:2::/48"), Via: netip.MustParseAddr("2001:db8:1::9")},
				},
				DNS: dns(54, "nics-dns"), OnBoot: of(true),
				Model: "virtio", Network: "nics-network", PCI: "0000:00:07.0", BootOrder: 2, Tag: "nics-tag", LinkDown: true,
			},
			{Name: "nics-second", MAC: "52:54:00:aa:bb:02", DHCP4: true},
			{Name: "nics-third", MAC: "52:54:00:aa:bb:03"},
			{Name: "bond0", Kind: "bond", Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.129/28")},
				Bond: machine.Bond{Links: []string{"nics-third"}, Mode: "active-backup", Params: map[string]string{"mii-monitor-interval": "113"}}},
			{Name: "vlan42", Kind: "vlan", VLAN: machine.VLAN{Link: "nics-name", ID: 42}},
			{Name: "br0", Kind: "bridge", Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.193/28")},
				Bridge: machine.Bridge{Links: []string{"vlan42"}, Params: map[string]string{"stp": "false"}}},
		},
	}
}

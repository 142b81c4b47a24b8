package native

import (
	"math"

	"github.com/vmseed/vmseed/machine"
)

// rule is what a field takes beyond its type.
type rule struct {
	form *form
	// enum lists the words that the field takes.
	enum []string
	// low and high bound a number.
	low, high int64
	// needed means that whoever states the group of the field states the field.
	needed bool
}

// must returns the rule for a field that cannot be left out.
func (r rule) must() rule {
	r.needed = true
	return r
}

func is(f *form) rule              { return rule{form: f} }
func oneOf(words ...string) rule   { return rule{enum: words} }
func between(low, high int64) rule { return rule{low: low, high: high} }
func atLeast(low int64) rule       { return rule{low: low, high: math.MaxInt64} }

// ruleSet maps fields to their rules. Every field that is a text or a number has one.
type ruleSet map[machine.Field]rule

// maxID is the highest user and group id; 2^32-1 means "no id" to the kernel.
const maxID = 1<<32 - 2

var buses = []string{"virtio", "scsi", "sata", "usb"}

var rules = ruleSet{
	"name": is(objectName).must(), "namespace": is(objectName),

	"identity.uuid": is(uuid), "identity.serial": is(line), "identity.instanceID": is(line),
	"identity.revision": between(0, math.MaxInt32), "identity.uid": is(line), "identity.hostname": is(hostName),
	"identity.domain": is(hostName), "identity.region": is(line), "identity.availabilityZone": is(line),
	"identity.instanceType": is(line), "identity.cloudName": is(line), "identity.launchIndex": between(0, math.MaxInt32),

	"guest.os": oneOf("linux", "coreos", "windows"), "guest.release": is(simpleName), "guest.timezone": is(zone), "guest.locale": is(locale),
	"guest.ignitionPlatform": oneOf("qemu", "openstack", "kubevirt", "proxmoxve", "flatcar"),

	"users.name": is(userName), "users.gecos": is(gecos), "users.uid": between(0, maxID), "users.primaryGroup": is(userName),
	"users.groups": is(userName), "users.home": is(absolute), "users.shell": is(absolute), "users.inactive": is(days),
	"users.expires": is(date), "users.sshAuthorizedKeys": is(publicKey), "users.sshImportID": is(importID), "users.sudo": is(line),
	"groups.name": is(userName).must(), "groups.gid": between(0, maxID), "groups.members": is(userName),

	"ssh.authorizedKeys": is(publicKey), "ssh.hostKeys.type": oneOf("rsa", "ecdsa", "ed25519").must(),
	"ssh.genKeyTypes":      oneOf("rsa", "ecdsa", "ed25519"),
	"ssh.hostKeys.private": is(anyText).must(), "ssh.hostKeys.public": is(publicKey), "ssh.hostKeys.certificate": is(publicKey),

	"files.path": is(absolute).must(), "files.owner": is(owner),
	"environment.name": is(variable).must(),
	"mounts.disk":      is(line), "mounts.share": is(line), "mounts.device": is(line), "mounts.partition": between(0, 128),
	"mounts.path": is(mountPoint).must(), "mounts.type": is(simpleName), "mounts.options": is(option),
	"deviceLinks.path": is(absolute).must(), "deviceLinks.disk": is(line).must(),

	"network.mode": oneOf("dhcp", "disabled"), "network.dns.servers": is(address), "network.dns.search": is(hostName), "network.dns.options": is(option),
	"network.nics.name": is(simpleName), "network.nics.kind": oneOf("physical", "bond", "bridge", "vlan"),
	"network.nics.rename": is(interFace), "network.nics.mac": is(macAddress), "network.nics.mtu": between(68, 65535),
	"network.nics.match": oneOf("mac", "name"), "network.format": oneOf("eni"),
	"network.nics.dhcp6": oneOf("stateful", "stateless"), "network.nics.addresses": is(prefix),
	"network.nics.gateway4": is(address4), "network.nics.gateway6": is(address6),
	"network.nics.routes.to": is(subnet).must(), "network.nics.routes.via": is(address), "network.nics.routes.metric": between(0, math.MaxUint32),
	"network.nics.dns.servers": is(address), "network.nics.dns.search": is(hostName), "network.nics.dns.options": is(option),
	"network.nics.bond.links":   is(simpleName),
	"network.nics.bond.mode":    oneOf("balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"),
	"network.nics.bridge.links": is(simpleName), "network.nics.vlan.link": is(simpleName), "network.nics.vlan.id": between(1, 4094),
	"network.nics.model": is(simpleName), "network.nics.network": is(line), "network.nics.pciAddress": is(pciAddress),
	"network.nics.bootOrder": between(1, math.MaxInt32), "network.nics.tag": is(line),
	"network.document.name": is(line), "network.document.data": is(anyText).must(), "network.document.merge": oneOf("virtlet", "replace"),

	"bootcmd.shell": is(anyText), "bootcmd.args": is(anyText), "runcmd.shell": is(anyText), "runcmd.args": is(anyText),
	"scripts.name": is(fileName).must(), "scripts.content": is(anyText).must(), "scripts.frequency": oneOf("instance", "boot", "once"),
	"packages.install": is(line), "ntp.servers": is(host), "ntp.pools": is(host), "caCerts": is(pemText),
	"phoneHome.url": is(webURL).must(), "phoneHome.tries": between(1, math.MaxInt32),
	"phoneHome.post":  oneOf("all", "pub_key_rsa", "pub_key_ecdsa", "pub_key_ed25519", "instance_id", "hostname", "fqdn"),
	"powerState.mode": oneOf("poweroff", "reboot", "halt").must(), "powerState.message": is(line), "powerState.condition": is(anyText),
	"keyboard.layout": is(layoutName), "keyboard.model": is(layoutName), "keyboard.variant": is(layoutName), "keyboard.options": is(layoutName),

	"metaData.name": is(line), "metaData.data": is(anyText).must(), "metaData.merge": oneOf("virtlet", "replace"),
	"userData.layers.name": is(line), "userData.layers.data": is(anyText).must(), "userData.layers.merge": oneOf("virtlet", "replace"),
	"userData.mountScriptMark": is(line),
	"vendorData.name":          is(line), "vendorData.data": is(anyText).must(), "vendorData.merge": oneOf("virtlet", "replace"),

	"ignition.name": is(line), "ignition.data": is(anyText).must(), "ignition.merge": oneOf("replace"),

	"units.name": is(unitName).must(), "units.content": is(anyText), "units.dropIns.name": is(dropInName).must(), "units.dropIns.content": is(anyText).must(),
	"storage.disks.disk": is(line), "storage.disks.device": is(absolute), "storage.disks.table": oneOf("gpt", "mbr"),
	"storage.disks.partitions.number": between(0, 128), "storage.disks.partitions.label": is(partitionLabel), "storage.disks.partitions.type": is(partitionType),
	"storage.filesystems.disk": is(line), "storage.filesystems.device": is(absolute), "storage.filesystems.partition": between(0, 128),
	"storage.filesystems.type":  oneOf("ext4", "xfs", "btrfs", "vfat", "swap").must(),
	"storage.filesystems.label": is(line), "storage.filesystems.options": is(line),
	"agentUsers.name": is(userName).must(), "agentUsers.sshAuthorizedKeys": is(publicKey),

	"disks.name": is(simpleName).must(), "disks.device": oneOf("disk", "cdrom", "lun", "floppy"), "disks.source.image": is(line),
	"disks.source.path": is(absolute), "disks.source.format": oneOf("raw", "qcow2"), "disks.source.claim": is(objectName),
	"disks.source.ceph.monitors": is(host), "disks.source.ceph.pool": is(line), "disks.source.ceph.volume": is(line),
	"disks.source.ceph.user": is(line), "disks.source.filesystem": is(simpleName), "disks.bus": oneOf(buses...),
	"disks.serial": is(serialNo), "disks.pciAddress": is(pciAddress), "disks.unit": between(0, 16383),
	"disks.bootOrder": between(1, math.MaxInt32), "disks.tag": is(line),
	"disks.cache": oneOf("none", "writeback", "writethrough", "directsync", "unsafe"),

	"shares.name": is(simpleName).must(), "shares.tag": is(shareTag), "shares.driver": oneOf("9p", "virtiofs"), "shares.hostPath": is(absolute).must(),
	"media.name": is(simpleName).must(), "media.label": is(diskLabel), "media.format": oneOf("iso", "vfat", "floppy"),
	"media.kind":       oneOf("sysprep", "secret", "configMap", "serviceAccount", "downwardAPI", "payload", "prepared").must(),
	"media.files.path": is(absolute).must(), "media.files.owner": is(owner), "media.path": is(absolute),
	"media.serial": is(serialNo), "media.bus": oneOf(buses...),

	"hardware.arch":        oneOf("amd64", "arm64", "386", "arm", "loong64", "ppc64le", "riscv64", "s390x"),
	"hardware.machineType": is(simpleName), "hardware.cpus": between(1, 4096), "hardware.sockets": between(1, 4096),
	"hardware.cores": between(1, 4096), "hardware.threads": between(1, 4096), "hardware.cpuModel": is(simpleName),
	"hardware.cpuFeatures.name":   is(simpleName).must(),
	"hardware.cpuFeatures.policy": oneOf("force", "require", "optional", "disable", "forbid"),
	"hardware.diskBus":            oneOf(buses...), "hardware.firmware": oneOf("bios", "uefi"), "hardware.watchdog": is(simpleName),
	"hardware.smbios.manufacturer": is(line), "hardware.smbios.product": is(line), "hardware.smbios.version": is(line),
	"hardware.smbios.sku": is(line), "hardware.smbios.family": is(line), "hardware.smbios.assetTag": is(line),
	"hardware.hostDevices.name": is(simpleName).must(), "hardware.hostDevices.kind": oneOf("gpu", "pci").must(),
	"hardware.hostDevices.deviceName": is(line), "hardware.hostDevices.pciAddress": is(pciAddress), "hardware.hostDevices.tag": is(line),
	"hardware.cpuShares": between(2, 262144), "hardware.cpuQuota": atLeast(1000), "hardware.cpuPeriod": between(1000, 1000000),

	"boot.kernel": is(absolute), "boot.initrd": is(absolute), "boot.append": is(line),
	"compat":                     oneOf("kubevirt", "ovirt"),
	"metadataOptions.httpTokens": oneOf("required", "optional"), "metadataOptions.httpPutResponseHopLimit": between(1, 64),
	"dataSource": is(simpleName), "dsmode": oneOf("local", "net", "disabled"), "restartPolicy": oneOf("Always", "OnFailure", "Never"),
}

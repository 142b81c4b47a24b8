package kubevirt

import (
	"fmt"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
)

// Short names for the classes of the tables below.
const (
	used    = kubedoc.Used
	cluster = kubedoc.Cluster
	tuning  = kubedoc.Tuning
	lost    = kubedoc.Lost
)

// The fields of the API group kubevirt.io, versions v1alpha2 to v1 as of KubeVirt 1.9, and what becomes of each. Fields
// that are spelled alike in all versions stand together, because a version never gave a name a second meaning.
var (
	objectFields = kubedoc.Table{"apiVersion": used, "kind": used, "metadata": used, "spec": used, "status": cluster}

	vmFields = kubedoc.Table{"running": used, "runStrategy": used, "template": used, "instancetype": used, "preference": used,
		"dataVolumeTemplates": used, "updateVolumesStrategy": cluster}

	templateFields = kubedoc.Table{"metadata": used, "spec": used, "apiVersion": cluster, "kind": cluster}

	specFields = kubedoc.Table{"domain": used, "cloudInit": used, "volumes": used, "networks": used, "accessCredentials": used, "hostname": used,
		"subdomain": used, "architecture": used, "terminationGracePeriodSeconds": used, "dnsConfig": lost, "dnsPolicy": cluster,
		"priorityClassName": cluster, "nodeSelector": cluster, "affinity": cluster, "schedulerName": cluster,
		"serviceAccountName": cluster, "tolerations": cluster, "topologySpreadConstraints": cluster, "evictionStrategy": cluster,
		"startStrategy": lost, "livenessProbe": cluster, "readinessProbe": cluster, "resourceClaims": cluster, "utilityVolumes": cluster}

	domainFields = kubedoc.Table{"resources": used, "cpu": used, "memory": used, "machine": used, "firmware": used, "clock": used,
		"features": used, "devices": used, "ioThreadsPolicy": tuning, "ioThreads": tuning, "chassis": used,
		"launchSecurity": lost, "rebootPolicy": tuning}

	deviceFields = kubedoc.Table{"disks": used, "interfaces": used, "hostDevices": used, "gpus": used, "rng": used, "tpm": used,
		"watchdog": used, "filesystems": used, "autoattachPodInterface": used, "useVirtioTransitional": lost,
		"disableHotplug": tuning, "inputs": tuning, "autoattachGraphicsDevice": tuning, "autoattachSerialConsole": tuning,
		"logSerialConsole": tuning, "autoattachMemBalloon": tuning, "autoattachInputDevice": tuning, "autoattachVSOCK": lost,
		"blockMultiQueue": tuning, "networkInterfaceMultiqueue": tuning, "downwardMetrics": lost, "panicDevices": tuning,
		"clientPassthrough": tuning, "sound": lost, "video": tuning}

	cpuFields = kubedoc.Table{"cores": used, "sockets": used, "threads": used, "model": used, "features": used,
		"maxSockets": tuning, "dedicatedCpuPlacement": cluster, "numa": lost, "isolateEmulatorThread": cluster, "realtime": cluster}

	memoryFields = kubedoc.Table{"guest": used, "hugepages": used, "maxGuest": tuning, "reservedOverhead": cluster}

	resourceFields = kubedoc.Table{"requests": used, "limits": used, "overcommitGuestOverhead": cluster}

	firmwareFields = kubedoc.Table{"uuid": used, "serial": used, "bootloader": used, "kernelBoot": used, "acpi": lost}

	featureFields = kubedoc.Table{"smm": used, "acpi": tuning, "apic": tuning, "hyperv": tuning, "hypervPassthrough": tuning,
		"kvm": tuning, "pvspinlock": tuning}

	kernelImageFields = kubedoc.Table{"image": used, "kernelPath": used, "initrdPath": used, "imagePullSecret": cluster, "imagePullPolicy": cluster}

	clockFields = kubedoc.Table{"utc": tuning, "timer": tuning, "timezone": used}

	chassisFields = kubedoc.Table{"asset": used, "manufacturer": lost, "version": lost, "serial": lost, "sku": lost}

	diskFields = kubedoc.Table{"name": used, "volumeName": used, "disk": used, "cdrom": used, "lun": used, "floppy": used,
		"bootOrder": used, "serial": used, "cache": used, "tag": used, "shareable": used, "io": tuning, "dedicatedIOThread": tuning,
		"blockSize": lost, "errorPolicy": tuning, "changedBlockTracking": cluster}

	targetFields = map[string]kubedoc.Table{
		"disk":   {"bus": used, "readonly": used, "pciAddress": used},
		"cdrom":  {"bus": used, "readonly": used, "tray": tuning},
		"lun":    {"bus": used, "readonly": used, "reservation": cluster},
		"floppy": {"readonly": used, "tray": tuning},
	}

	interfaceFields = kubedoc.Table{"name": used, "model": used, "macAddress": used, "bootOrder": used, "pciAddress": used,
		"tag": used, "state": used, "bridge": used, "masquerade": used, "sriov": used, "slirp": used, "macvtap": used, "passt": used,
		"passtBinding": used, "binding": used, "ports": cluster, "portRanges": cluster, "dhcpOptions": lost, "acpiIndex": lost}

	networkFields = kubedoc.Table{"name": used, "pod": used, "multus": used, "genie": used}

	podNetworkFields = kubedoc.Table{"vmNetworkCIDR": lost, "vmIPv6NetworkCIDR": lost}

	hostDeviceFields = kubedoc.Table{"name": used, "deviceName": used, "tag": used, "claimName": cluster, "requestName": cluster,
		"virtualGPUOptions": tuning}
)

// sort sorts out the fields of a mapping.
func (r *reader) sort(v tree.Value, t kubedoc.Table) {
	t.Sort(&r.list, v, func(c kubedoc.Class, e tree.Entry) { r.unused(c, e) })
}

// sortMeta is sort for metadata, of which a cluster's own copy has many fields that concern it: one note names them all.
func (r *reader) sortMeta(v tree.Value, t kubedoc.Table) {
	var found []tree.Entry
	var names []string
	t.Sort(&r.list, v, func(_ kubedoc.Class, e tree.Entry) { found, names = append(found, e), append(names, e.Key) })
	switch last := len(found) - 1; {
	case last == 0:
		r.unused(cluster, found[0])
	case last > 0:
		place := found[0].Span()
		place.End = found[last].Span().End
		r.list.Add(diag.Diagnostic{Code: CodeNoGuest, Severity: diag.Note, Range: place, Field: v.Path(),
			Summary: fmt.Sprintf("the fields %s and %s concern the cluster, not the guest", strings.Join(names[:last], ", "), names[last])})
	}
}

// unused reports a field that no code reads.
func (r *reader) unused(c kubedoc.Class, e tree.Entry) {
	switch c {
	case kubedoc.Cluster:
		r.remark(e, CodeNoGuest, "the field %s concerns the cluster, not the guest", e.Key)
	case kubedoc.Tuning:
		r.remark(e, CodeTuning, "the field %s is about how the machine is run, which vmseed decides itself", e.Key)
	default:
		r.warn(e, CodeNoEffect, "do it in the guest, or run the machine on KubeVirt", "vmseed does not do what the field %s asks for", e.Key)
	}
}

// empty demands that a mapping has no fields, as those whose presence says it all.
func (r *reader) empty(v tree.Value) {
	if v.Want(&r.list, tree.Map) {
		v.Only(&r.list)
	}
}

package manifests_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kubevirt "kubevirt.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/vmseed/vmseed/kube/manifests"
)

// wide is a machine that uses much of what KubeVirt 1.8 has, whether vmseed honours it or not: refusing it is up to the front
// end, which says why, and not up to the definition, which would say that there is no such field.
const wide = `
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: wide}
spec:
  runStrategy: RerunOnFailure
  instancetype: {kind: VirtualMachineClusterInstancetype, name: u1.small, revisionName: r}
  preference: {inferFromVolume: root, inferFromVolumeFailurePolicy: Ignore}
  updateVolumesStrategy: Replacement
  dataVolumeTemplates:
  - metadata: {name: root, creationTimestamp: null, annotations: {cdi.kubevirt.io/storage.bind.immediate.requested: ""}}
    spec:
      source: {registry: {url: "docker://quay.io/containerdisks/fedora:latest", pullMethod: node}}
      storage: {accessModes: [ReadWriteMany], volumeMode: Block, storageClassName: fast, resources: {requests: {storage: 30Gi}}}
  - metadata: {name: data}
    spec:
      sourceRef: {kind: DataSource, name: fedora, namespace: images}
      pvc: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "1.5e10"}}}
  template:
    metadata: {creationTimestamp: null, labels: {a: b}, annotations: {kubevirt.io/ignitiondata: "{}"}}
    spec:
      architecture: amd64
      schedulerName: other
      priorityClassName: high
      evictionStrategy: LiveMigrateIfPossible
      startStrategy: Paused
      terminationGracePeriodSeconds: 0
      nodeSelector: {a: b}
      tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]
      affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: z, labelSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}}]}}
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}}]
      hostname: wide
      subdomain: ""
      dnsPolicy: None
      dnsConfig: {nameservers: [10.0.0.10], searches: [a.b], options: [{name: ndots, value: "5"}]}
      livenessProbe: {initialDelaySeconds: 120, periodSeconds: 20, tcpSocket: {port: 1500}, timeoutSeconds: 10}
      readinessProbe: {httpGet: {port: http, path: /, httpHeaders: [{name: a, value: b}]}, successThreshold: 3, failureThreshold: 3}
      accessCredentials:
      - sshPublicKey: {source: {secret: {secretName: keys}}, propagationMethod: {qemuGuestAgent: {users: [fedora]}}}
      - userPassword: {source: {secret: {secretName: passwords}}, propagationMethod: {qemuGuestAgent: {}}}
      domain:
        machine: {type: q35}
        chassis: {manufacturer: m, asset: a, serial: s, sku: k, version: v}
        firmware: {uuid: 5d307ca9-b3ef-428c-8861-06e72d69f223, serial: s, bootloader: {efi: {secureBoot: false, persistent: true}}}
        clock: {timezone: America/New_York, timer: {hpet: {present: false}, pit: {tickPolicy: delay}, rtc: {tickPolicy: catchup, track: guest}, hyperv: {}, kvm: {present: true}}}
        features: {acpi: {}, apic: {endOfInterrupt: true}, smm: {enabled: true}, kvm: {hidden: true}, pvspinlock: {enabled: false},
          hyperv: {relaxed: {}, vapic: {}, spinlocks: {spinlocks: 8191}, synictimer: {direct: {}}, vendorid: {vendorid: x}, evmcs: {}}}
        cpu: {sockets: 1, cores: 2, threads: 1, maxSockets: 4, model: host-passthrough, features: [{name: vmx, policy: require}], dedicatedCpuPlacement: true,
          isolateEmulatorThread: true, numa: {guestMappingPassthrough: {}}, realtime: {mask: 0-1}}
        memory: {guest: 2Gi, maxGuest: 4Gi, hugepages: {pageSize: 2Mi}}
        resources: {overcommitGuestOverhead: true, requests: {memory: 2Gi, cpu: 500m}, limits: {memory: "2147483648", cpu: 2}}
        ioThreadsPolicy: supplementalPool
        ioThreads: {supplementalPoolThreadCount: 4}
        launchSecurity: {sev: {policy: {encryptedState: true}}}
        devices:
          tpm: {persistent: true}
          rng: {}
          sound: {name: s, model: ich9}
          watchdog: {name: w, i6300esb: {action: poweroff}}
          inputs: [{name: t, type: tablet, bus: virtio}]
          gpus: [{name: g, deviceName: nvidia.com/T4, virtualGPUOptions: {display: {enabled: true, ramFB: {enabled: false}}}}]
          hostDevices: [{name: h, deviceName: intel.com/qat, tag: q}]
          clientPassthrough: {}
          downwardMetrics: {}
          blockMultiQueue: true
          networkInterfaceMultiqueue: true
          autoattachGraphicsDevice: false
          autoattachMemBalloon: false
          autoattachSerialConsole: true
          autoattachVSOCK: true
          disableHotplug: true
          logSerialConsole: true
          useVirtioTransitional: false
          filesystems: [{name: share, virtiofs: {}}]
          disks:
          - {name: root, bootOrder: 1, serial: r, dedicatedIOThread: true, cache: none, io: native, errorPolicy: report, shareable: false, tag: t,
            blockSize: {custom: {logical: 512, physical: 4096}}, disk: {bus: virtio, pciAddress: "0000:81:01.0", readonly: false}}
          - {name: image, cdrom: {bus: sata, readonly: true, tray: closed}}
          - {name: lun, lun: {bus: scsi, reservation: true}}
          interfaces:
          - {name: default, masquerade: {}, model: virtio, macAddress: "de:ad:00:00:be:ef", acpiIndex: 101, ports: [{name: http, port: 80, protocol: TCP}], bootOrder: 2,
            dhcpOptions: {bootFileName: b, tftpServerName: t, ntpServers: [10.0.0.1], privateOptions: [{option: 240, value: x}]}}
          - {name: vf, sriov: {}, pciAddress: "0000:81:00.1", tag: t}
          - {name: plug, binding: {name: passt}, state: down}
          - {name: l2, bridge: {}}
      networks:
      - {name: default, pod: {vmNetworkCIDR: 10.11.12.0/24, vmIPv6NetworkCIDR: "fd10:0:2::/120"}}
      - {name: vf, multus: {networkName: ns/vf}}
      - {name: plug, multus: {networkName: p, default: false}}
      - {name: l2, multus: {networkName: l2}}
      volumes:
      - {name: root, dataVolume: {name: root, hotpluggable: true}}
      - {name: image, containerDisk: {image: "quay.io/x/y@sha256:00", imagePullSecret: s, path: /disk/a.qcow2, imagePullPolicy: IfNotPresent}}
      - {name: lun, persistentVolumeClaim: {claimName: lun, readOnly: false}}
      - {name: share, persistentVolumeClaim: {claimName: share}}
      - {name: eph, ephemeral: {persistentVolumeClaim: {claimName: e}}}
      - {name: empty, emptyDisk: {capacity: 2Gi}}
      - {name: host, hostDisk: {path: /data/disk.img, type: DiskOrCreate, capacity: 1Gi, shared: true}}
      - {name: seed, cloudInitNoCloud: {userData: "#cloud-config\n", networkDataSecretRef: {name: net}}}
      - {name: drive, cloudInitConfigDrive: {secretRef: {name: u}}}
      - {name: cm, configMap: {name: c, optional: true, volumeLabel: cfg}}
      - {name: sec, secret: {secretName: s, volumeLabel: cfg}}
      - {name: sa, serviceAccount: {serviceAccountName: default}}
      - {name: down, downwardAPI: {fields: [{path: labels, fieldRef: {fieldPath: metadata.labels}}, {path: m, mode: 420, resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}]}}
      - {name: metrics, downwardMetrics: {}}
      - {name: prep, sysprep: {configMap: {name: p}}}
      - {name: dump, memoryDump: {claimName: d, hotpluggable: true}}
`

// TestWide stores a machine that KubeVirt's own types take, whole: as a VirtualMachine, and its template as an instance.
func TestWide(t *testing.T) {
	crds, err := manifests.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.YAMLToJSON([]byte(wide))
	if err != nil {
		t.Fatal(err)
	}
	var machine kubevirt.VirtualMachine
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&machine); err != nil {
		t.Fatalf("KubeVirt's types do not take it: %v", err)
	}
	documents, err := manifests.Parse([]byte(wide))
	if err != nil {
		t.Fatal(err)
	}
	object := documents[0].Object
	spec, _ := object["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	objects := map[string]map[string]any{
		"VirtualMachine": object,
		"VirtualMachineInstance": {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": map[string]any{"name": "wide"},
			"spec": template["spec"]},
	}
	for _, crd := range crds {
		given, ok := objects[crd.Spec.Names.Kind]
		for _, version := range crd.Spec.Versions {
			if !ok {
				continue
			}
			kept := copied(t, given)
			s := newServer(t, crd, version.Name)
			if problem := s.problem(t, kept); problem != nil {
				t.Errorf("%s %s is refused: %v", version.Name, crd.Spec.Names.Kind, problem)
			}
			if diff := cmp.Diff(copied(t, given), kept); diff != "" {
				t.Errorf("%s %s loses fields (-given +kept):\n%s", version.Name, crd.Spec.Names.Kind, diff)
			}
		}
	}
}

// copied returns a deep copy of an object, with numbers as the API server has them.
func copied(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

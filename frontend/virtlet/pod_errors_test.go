package virtlet_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPodErrors reads broken pods.
func TestPodErrors(t *testing.T) {
	const tail = "spec: {containers: [{image: virtlet.cloud/x}]}\n"
	const runtime = "  annotations: {kubernetes.io/target-runtime: virtlet.cloud}\n"
	for _, c := range []struct{ name, in, want string }{
		{"no apiVersion", "kind: Pod\nmetadata:\n  name: p\n" + runtime + tail, "1:1: error[VS2200]\n"},
		{"other apiVersion", "apiVersion: v2\nkind: Pod\nmetadata:\n  name: p\n" + runtime + tail, "1:13: error[VS2200]\n"},
		{"a service", "apiVersion: v1\nkind: Service\n", "1:1: error[VS2200]\n"},
		{"a deployment", "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {}}\n", "2:7: error[VS2200]\n"},
		{"a list", "- a\n", "1:1: error[VS2200]\n"},
		{"no name", "apiVersion: v1\nkind: Pod\nmetadata:\n" + runtime + tail, "4:3: error[VS2201]\n"},
		{"no metadata", "apiVersion: v1\nkind: Pod\n" + tail, "1:1: error[VS2201]\n1:1: warning[VS2203]\n"},
		{"generated name", "apiVersion: v1\nkind: Pod\nmetadata:\n  generateName: p-\n" + runtime + tail, "4:17: error[VS2201]\n"},
		{"name with a slash", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: ../../etc\n" + runtime + tail, "4:9: error[VS2201]\n"},
		{"name is empty", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: \"\"\n" + runtime + tail, "4:9: error[VS2201]\n"},
		{"name is a number", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: 12\n" + runtime + tail, "4:9: error[VS1211]\n"},
		{"namespace with dots", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  namespace: a.b\n" + runtime + tail, "5:14: error[VS2201]\n"},
		{"no runtime", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n" + tail, "4:3: warning[VS2203]\n"},
		{"other runtime", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n    kubernetes.io/target-runtime: docker\n" + tail, "6:35: error[VS2203]\n"},
		{"misspelt field", podHead + "specs: {}\n" + tail, "7:1: error[VS1215]\n"},
		{"field of the cluster", podHead + "status: {phase: Running}\n" + tail, "7:1: note[VS2212]\n"},
		{"no spec", podHead, "1:1: error[VS2202]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, l := load([2]string{"in.yaml", c.in})
			if d := cmp.Diff(c.want, codes(l)); d != "" {
				t.Errorf("diagnostics (-want +got):\n%s%v", d, l)
			}
		})
	}
}

// TestSpecErrors puts a bad spec from line 8 on into a pod.
func TestSpecErrors(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"no container", `  containers: []`, "8:15: error[VS2202]\n"},
		{"containers missing", `  restartPolicy: Never`, "8:3: error[VS2202]\n"},
		{"two containers", "  containers:\n  - {image: virtlet.cloud/a}\n  - {image: virtlet.cloud/b, unknown: 1}", "10:5: error[VS2202]\n"},
		{"init container", "  containers: [{image: virtlet.cloud/a}]\n  initContainers: [{image: x}]", "9:19: error[VS2202]\n"},
		{"no image", "  containers: [{env: []}]", "8:16: error[VS2202]\n"},
		{"image of another runtime", "  containers: [{image: ubuntu}]", "8:24: warning[VS2203]\n"},
		{"restart policy", "  restartPolicy: never\n  containers: [{image: virtlet.cloud/a}]", "8:18: error[VS2205]\n"},
		{"grace", "  terminationGracePeriodSeconds: -1\n  containers: [{image: virtlet.cloud/a}]", "8:34: error[VS1213]\n"},
		{"host name", "  hostname: Web_1\n  containers: [{image: virtlet.cloud/a}]", "8:13: error[VS2228]\n"},
		{"full name without subdomain", "  setHostnameAsFQDN: true\n  containers: [{image: virtlet.cloud/a}]", "8:22: warning[VS2228]\n"},
		{"host network", "  hostNetwork: true\n  containers: [{image: virtlet.cloud/a}]", "8:3: warning[VS2213]\n"},
		{"DNS server", "  dnsConfig: {nameservers: [dns]}\n  containers: [{image: virtlet.cloud/a}]", "8:29: error[VS2205]\n"},
		{"host alias", "  hostAliases: [{ip: here, hostnames: [a]}]\n  containers: [{image: virtlet.cloud/a}]", "8:22: error[VS2205]\n"},
		{"memory", "  containers: [{image: virtlet.cloud/a, resources: {limits: {memory: 1 GB}}}]", "8:70: error[VS2224]\n"},
		{"negative CPU", "  containers: [{image: virtlet.cloud/a, resources: {requests: {cpu: -1}}}]", "8:69: error[VS2224]\n"},
	} {
		t.Run(c.name, func(t *testing.T) { checkSpec(t, c.in, c.want) })
	}
}

func checkSpec(t *testing.T, spec, want string) {
	t.Helper()
	_, l := load([2]string{"in.yaml", podHead + "spec:\n" + spec + "\n"}, [2]string{"objects.yaml", objects})
	if d := cmp.Diff(want, codes(l)); d != "" {
		t.Errorf("diagnostics (-want +got):\n%s%v", d, l)
	}
}

// TestContainerErrors gives the container, which begins in line 9, bad environment, volumes and mounts from line 10 on.
func TestContainerErrors(t *testing.T) {
	const head = "  containers:\n  - image: virtlet.cloud/a\n"
	for _, c := range []struct{ name, in, want string }{
		{"variable without a name", "    env: [{value: x}]", "10:11: error[VS2220]\n"},
		{"variable with a bad name", "    env: [{name: a=b}]", "10:11: error[VS2220]\n"},
		{"variable that no shell knows", "    env: [{name: a.b}]", "10:11: warning[VS2220]\n"},
		{"value and source", "    env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]", "10:42: error[VS2220]\n"},
		{"no source", "    env: [{name: A, valueFrom: {}}]", "10:32: error[VS2220]\n"},
		{"value is a number", "    env: [{name: A, value: 1}]", "10:28: error[VS1211]\n"},
		{"unknown reference", "    env: [{name: A, value: $(B)}]", "10:28: warning[VS2221]\n"},
		{"missing Secret", "    env: [{name: A, valueFrom: {secretKeyRef: {name: x, key: k}}}]", "10:54: error[VS2207]\n"},
		{"missing key", "    env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: x}}}]", "10:62: error[VS2208]\n"},
		{"missing key, optional", "    env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: x, optional: true}}}]", "10:62: note[VS2208]\n"},
		{"reference without a name", "    env: [{name: A, valueFrom: {configMapKeyRef: {key: x}}}]", "10:50: error[VS2207]\n"},
		{"field of the node", "    env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}]", "10:55: error[VS2222]\n"},
		{"no such field", "    env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.containers}}}]", "10:55: error[VS2220]\n"},
		{"UID that is not there", "    env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}]", "10:55: error[VS2222]\n"},
		{"limit of the node", "    env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]", "10:62: error[VS2222]\n"},
		{"no such resource", "    env: [{name: A, valueFrom: {resourceFieldRef: {resource: cpu}}}]", "10:62: error[VS2220]\n"},
		{"envFrom without a reference", "    envFrom: [{prefix: A_}]", "10:15: error[VS2220]\n"},
		{"envFrom a missing object", "    envFrom: [{configMapRef: {name: x}}]", "10:37: error[VS2207]\n"},
		{"envFrom two objects", "    envFrom: [{configMapRef: {name: c}, secretRef: {name: s}}]", "10:15: error[VS2220]\n"},

		{"mount of no volume", "    volumeMounts: [{name: vol, mountPath: /a}]", "10:27: error[VS2215]\n"},
		{"mount without a path", "    volumeMounts: [{name: v}]\n  volumes: [{name: v, configMap: {name: c}}]", "10:20: error[VS2215]\n"},
		{"relative path", "    volumeMounts: [{name: v, mountPath: etc}]\n  volumes: [{name: v, configMap: {name: c}}]", "10:41: error[VS2215]\n"},
		{"path with two dots", "    volumeMounts: [{name: v, mountPath: /etc/../root}]\n  volumes: [{name: v, configMap: {name: c}}]", "10:41: error[VS2215]\n"},
		{"path with a line break", "    volumeMounts: [{name: v, mountPath: \"/a\\nb\"}]\n  volumes: [{name: v, configMap: {name: c}}]", "10:41: error[VS2215]\n"},
		{"one path twice", "    volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a/}]\n  volumes: [{name: v, configMap: {name: c}}]", "10:67: error[VS2215]\n"},
		{"one file twice", "    volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a/k, subPath: k}]\n  volumes: [{name: v, secret: {secretName: s}}]", "10:67: warning[VS2219]\n"},
		{"subPath that is not there", "    volumeMounts: [{name: v, mountPath: /a, subPath: x}]\n  volumes: [{name: v, configMap: {name: c}}]", "10:54: error[VS2218]\n"},
		{"subPath with two dots", "    volumeMounts: [{name: v, mountPath: /a, subPath: ../x}]\n  volumes: [{name: v, configMap: {name: c}}]", "10:54: error[VS2218]\n"},
		{"subPathExpr of an unknown variable", "    volumeMounts: [{name: v, mountPath: /a, subPathExpr: $(X)}]\n  volumes: [{name: v, configMap: {name: c}}]", "10:58: error[VS2221]\n"},
		{"unused volume", "  volumes: [{name: v, configMap: {name: c}}]", "10:13: warning[VS2214]\n"},
		{"volume without a name", "  volumes: [{emptyDir: {}}]", "10:13: error[VS2214]\n"},
		{"volume without a source", "  volumes: [{name: v}]", "10:13: error[VS2214]\n"},
		{"volume with two sources", "  volumes: [{name: v, emptyDir: {}, configMap: {name: c}}]", "10:13: warning[VS2214]\n10:37: error[VS2214]\n"},
		{"two volumes of one name", "  volumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}]", "10:13: warning[VS2214]\n10:38: error[VS2214]\n"},
		{"unknown kind of volume", "  volumes: [{name: v, secrets: {}}]", "10:13: error[VS2214]\n10:23: error[VS1215]\n"},
		{"missing ConfigMap", "  volumes: [{name: v, configMap: {name: x}}]", "10:13: warning[VS2214]\n10:41: error[VS2207]\n"},
		{"missing key in items", "    volumeMounts: [{name: v, mountPath: /a}]\n  volumes: [{name: v, configMap: {name: c, items: [{key: x, path: y}]}}]", "11:58: error[VS2208]\n"},
		{"path of an item", "    volumeMounts: [{name: v, mountPath: /a}]\n  volumes: [{name: v, configMap: {name: c, items: [{key: k, path: /y}]}}]", "11:67: error[VS2218]\n"},
		{"two items of one path", "    volumeMounts: [{name: v, mountPath: /a}]\n  volumes: [{name: v, configMap: {name: c, items: [{key: k, path: y}, {key: bad, path: y}]}}]", "10:41: warning[VS2219]\n11:51: error[VS2219]\n"},
		{"mode too high", "    volumeMounts: [{name: v, mountPath: /a}]\n  volumes: [{name: v, configMap: {name: c, defaultMode: 644}}]", "11:57: error[VS2217]\n"},
		{"mode in quotes", "    volumeMounts: [{name: v, mountPath: /a}]\n  volumes: [{name: v, configMap: {name: c, defaultMode: \"0644\"}}]", "11:57: error[VS2217]\n"},
		{"mode that looks octal", "    volumeMounts: [{name: v, mountPath: /a}]\n  volumes: [{name: v, configMap: {name: c, defaultMode: 400}}]", "11:57: warning[VS2217]\n"},
		{"mode with an eight", "    volumeMounts: [{name: v, mountPath: /a}]\n  volumes: [{name: v, configMap: {name: c, defaultMode: 0800}}]", "11:57: error[VS2217]\n"},
		{"projected source", "    volumeMounts: [{name: v, mountPath: /a}]\n  volumes: [{name: v, projected: {sources: [{secrets: {}}]}}]", "11:46: error[VS1215]\n"},
	} {
		t.Run(c.name, func(t *testing.T) { checkSpec(t, head+c.in, c.want) })
	}
}

// TestVolumeErrors mounts the volume v, whose source stands from line 11, column 23 on, at a path.
func TestVolumeErrors(t *testing.T) {
	const flex = "flexVolume: {driver: virtlet/flexvolume_driver, options: {"
	mount := func(source string) string {
		return "  containers:\n  - image: virtlet.cloud/a\n    volumeMounts: [{name: v, mountPath: /a}]\n  volumes: [{name: v, " + source + "}]"
	}
	device := func(source string) string {
		return strings.Replace(mount(source), "volumeMounts: [{name: v, mountPath", "volumeDevices: [{name: v, devicePath", 1)
	}
	for _, c := range []struct{ name, in, want string }{
		{"no options", mount("flexVolume: {driver: virtlet/flexvolume_driver}"), "11:35: error[VS2216]\n"},
		{"no type", mount(flex + "}}"), "11:80: error[VS2216]\n"},
		{"unknown type", mount(flex + "type: lvm, part: x}}"), "11:87: error[VS2216]\n"},
		{"unknown option", mount(flex + "type: qcow2, size: 1GB}}"), "11:94: error[VS1215]\n"},
		{"option of another type", mount(flex + "type: raw, path: /dev/x, capacity: 1GB}}"), "11:106: error[VS1215]\n"},
		{"capacity", mount(flex + "type: qcow2, capacity: big}}"), "11:104: error[VS2216]\n"},
		{"capacity in small letters", mount(flex + "type: qcow2, capacity: 10mib}}"), "11:104: error[VS2216]\n"},
		{"capacity of nothing", mount(flex + "type: qcow2, capacity: 0MB}}"), "11:104: error[VS2216]\n"},
		{"capacity too large", mount(flex + "type: qcow2, capacity: 99EiB}}"), "11:104: error[VS2216]\n"},
		{"capacity without quotes", mount(flex + "type: qcow2, capacity: 100}}"), "11:104: error[VS1211]\n"},
		{"part", mount(flex + "type: qcow2, part: one}}"), "11:100: error[VS2216]\n"},
		{"part too high", mount(flex + "type: qcow2, part: \"129\"}}"), "11:100: error[VS2216]\n"},
		{"part below zero", mount(flex + "type: qcow2, part: \"-1\"}}"), "11:100: warning[VS2216]\n"},
		{"path outside of /dev", mount(flex + "type: raw, path: /etc/shadow}}"), "11:98: error[VS2216]\n"},
		{"path out of /dev", mount(flex + "type: raw, path: /dev/../etc/shadow}}"), "11:98: error[VS2216]\n"},
		{"no path", mount(flex + "type: raw}}"), "11:80: error[VS2216]\n"},
		{"ceph without anything", mount(flex + "type: ceph}}"), strings.Repeat("11:80: error[VS2216]\n", 5)},
		{"ceph monitor", mount(flex + "type: ceph, pool: p, volume: v, user: u, secret: s, monitor: host}}"), "11:142: error[VS2216]\n"},
		{"flexVolume of another driver", mount("flexVolume: {driver: example/nfs}"), "11:35: note[VS2214]\n"},
		{"unused fields", mount("flexVolume: {driver: virtlet/flexvolume_driver, fsType: xfs, options: {type: qcow2}}"), "11:79: warning[VS2216]\n"},

		{"claim is a file system", device("persistentVolumeClaim: {claimName: files}"), "11:58: error[VS2214]\n"},
		{"claim is a block device", mount("persistentVolumeClaim: {claimName: block}"), "11:58: error[VS2214]\n"},
		{"claim that is not there", device("persistentVolumeClaim: {claimName: x}"), "11:58: note[VS2207]\n"},
		{"claim without a name", device("persistentVolumeClaim: {}"), "11:46: error[VS2214]\n"},
		{"device of a ConfigMap", device("configMap: {name: c}"), "10:21: error[VS2215]\n"},
		{"device twice", strings.Replace(device("persistentVolumeClaim: {claimName: block}"), "/a}]", "/a}, {name: v, devicePath: /b}]", 1), "10:48: error[VS2215]\n"},
		{"device and mount", strings.Replace(device("persistentVolumeClaim: {claimName: block}"), "/a}]", "/a}]\n    volumeMounts: [{name: v, mountPath: /b}]", 1), "11:20: error[VS2215]\n"},
		{"file of the host", mount("hostPath: {path: /etc/hosts, type: File}"), "11:58: error[VS2214]\n"},
		{"device of the host", mount("hostPath: {path: /dev/sda, type: BlockDevice}"), "11:56: error[VS2214]\n"},
		{"relative path of the host", mount("hostPath: {path: etc}"), "11:40: error[VS2214]\n"},
		{"path of the host with dots", mount("hostPath: {path: /srv/../etc}"), "11:40: error[VS2214]\n"},
		{"disk over the root", strings.Replace(mount(flex+"type: qcow2}}"), "mountPath: /a", "mountPath: /", 1), "10:20: error[VS2215]\n"},
		{"share over the root", strings.Replace(mount("hostPath: {path: /srv}"), "mountPath: /a", "mountPath: /", 1), "10:20: error[VS2215]\n"},
		{"part of a disk", strings.Replace(mount(flex+"type: qcow2}}"), "mountPath: /a", "mountPath: /a, subPath: b", 1), "10:54: error[VS2218]\n"},
		{"part of an unknown directory", strings.Replace(mount("emptyDir: {}"), "mountPath: /a", "mountPath: /a, subPath: b", 1), "10:54: error[VS2218]\n11:33: note[VS2214]\n"},
	} {
		t.Run(c.name, func(t *testing.T) { checkSpec(t, c.in, c.want) })
	}
}

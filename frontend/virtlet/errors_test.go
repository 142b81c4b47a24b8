package virtlet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
)

// codes writes diagnostics as line:col: severity[code], one a line, those of objects with the name of their file.
func codes(l diag.List) string {
	var b strings.Builder
	for _, d := range l {
		fmt.Fprintf(&b, "%s: %s[%s]\n", strings.TrimPrefix(d.Range.String(), "in.yaml:"), d.Severity, d.Code)
	}
	return b.String()
}

const podHead = `apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations:
    kubernetes.io/target-runtime: virtlet.cloud
`

// objects are what the cases below refer to.
const objects = `apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {k: v, bad: "a: b: c", tabs: "\ta: b", two: "a: 1\n---\nb: 2\n", directive: "%YAML 1.1\n---\na: 1\n", file: text, file_path: relative, raw: YQ==}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {k: "not base64!", k_path: /etc/k, e: x, e_path: /e, e_encoding: gzip, pem: "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n"}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: files}
spec: {volumeMode: Filesystem}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: block}
spec: {volumeMode: Block}
`

// TestAnnotationErrors puts bad annotations at line 7 of a pod.
func TestAnnotationErrors(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"none", ``, ""},
		{"vCPU count is no number", `VirtletVCPUCount: two`, "7:23: error[VS2205]\n"},
		{"vCPU count without quotes", `VirtletVCPUCount: 2`, "7:23: error[VS1211]\n7:23: error[VS2205]\n"},
		{"vCPU count is a fraction", `VirtletVCPUCount: "1.5"`, "7:23: error[VS2205]\n"},
		{"vCPU count is empty", `VirtletVCPUCount: ""`, "7:23: error[VS2205]\n"},
		{"vCPU count too high", `VirtletVCPUCount: "256"`, "7:23: error[VS2205]\n"},
		{"vCPU count highest", `VirtletVCPUCount: "255"`, ""},
		{"vCPU count zero", `VirtletVCPUCount: "0"`, "7:23: warning[VS2205]\n"},
		{"vCPU count negative", `VirtletVCPUCount: "-1"`, "7:23: warning[VS2205]\n"},
		{"CPU model", `VirtletCPUModel: host-passthrough`, "7:22: error[VS2205]\n"},
		{"CPU model empty", `VirtletCPUModel: ""`, ""},
		{"CPU setting is a list", `VirtletLibvirtCPUSetting: "[a]"`, "7:32: error[VS1210]\n"},
		{"CPU setting is broken", `VirtletLibvirtCPUSetting: "mode: ["`, "7:32: error[VS1204]\n"},
		{"CPU setting has a wrong mode", `VirtletLibvirtCPUSetting: "mode: fast"`, "7:38: error[VS2225]\n"},
		{"CPU topology and count", `VirtletLibvirtCPUSetting: "topology: {cores: 4}"`, "7:42: error[VS2225]\n"},
		{"CPU feature without a name", `VirtletLibvirtCPUSetting: "features: [{policy: require}]"`, "7:43: error[VS2225]\n"},
		{"CPU feature policy", `VirtletLibvirtCPUSetting: "features: [{name: a, policy: want}]"`, "7:61: error[VS2225]\n"},
		{"CPU setting for libvirt alone", `VirtletLibvirtCPUSetting: "{mode: host-model, numa: {}}"`, "7:57: warning[VS2225]\n"},
		{"CPU setting twice", `VirtletLibvirtCPUSetting: "mode: host-model\n---\nmode: host-model"`, "7:31: error[VS2225]\n"},
		{"disk driver", `VirtletDiskDriver: ide`, "7:24: error[VS2205]\n"},
		{"disk driver in capitals", `VirtletDiskDriver: SCSI`, "7:24: error[VS2205]\n"},
		{"disk driver empty", `VirtletDiskDriver: ""`, ""},
		{"root size is no quantity", `VirtletRootVolumeSize: 10 GB`, "7:28: error[VS2224]\n"},
		{"root size is empty", `VirtletRootVolumeSize: ""`, "7:28: error[VS2224]\n"},
		{"root size has half a byte", `VirtletRootVolumeSize: "1.5"`, "7:28: error[VS2224]\n"},
		{"root size is zero", `VirtletRootVolumeSize: "0"`, "7:28: warning[VS2224]\n"},
		{"root size is negative", `VirtletRootVolumeSize: -1Gi`, "7:28: warning[VS2224]\n"},
		{"booleans", `VirtletChown9pfsMounts: "True"`, "7:29: warning[VS2205]\n"},
		{"boolean without quotes", `VirtletForceDHCPNetworkConfig: true`, "7:36: error[VS1211]\n"},
		{"boolean as a number", `VirtletCloudInitUserDataOverwrite: "1"`, "7:40: warning[VS2205]\n"},
		{"UUID too short", `VirtletSystemUUID: 53008994-44c0-4017-ad44`, "7:24: error[VS2205]\n"},
		{"UUID empty", `VirtletSystemUUID: ""`, "7:24: error[VS2205]\n"},
		{"UUID with half a brace", `VirtletSystemUUID: "{53008994-44c0-4017-ad44-9c49758083da"`, "7:24: error[VS2205]\n"},
		{"image type", `VirtletCloudInitImageType: ec2`, "7:32: error[VS2205]\n"},
		{"image type in capitals", `VirtletCloudInitImageType: NoCloud`, ""},
		{"meta-data is a list", `VirtletCloudInitMetaData: "[a]"`, "7:32: error[VS2206]\n"},
		{"meta-data is a text", `VirtletCloudInitMetaData: foobar`, "7:31: error[VS2206]\n"},
		{"meta-data is broken", `VirtletCloudInitMetaData: "a: b: c"`, "7:32: error[VS1204]\n"},
		{"meta-data twice", `VirtletCloudInitMetaData: "a: b\n---\nc: d\n"`, "7:31: error[VS2206]\n"},
		{"meta-data is empty", `VirtletCloudInitMetaData: ""`, ""},
		{"meta-data in flow style", `VirtletCloudInitMetaData: "{instance-id: foo}"`, ""},
		{"user-data is a list", `VirtletCloudInitUserData: "- a"`, "7:32: error[VS3001]\n"},
		{"user-data is a script", `VirtletCloudInitUserData: "#!/bin/sh"`, "7:32: error[VS3000]\n"},
		{"user-data is empty", `VirtletCloudInitUserData: ""`, ""},
		{"user-data has a key twice", "VirtletCloudInitUserData: |\n      a: 1\n      b: 2\n      a: 3", "10:7: error[VS1205]\n"},
		{"user-data is a mapping of the pod", `VirtletCloudInitUserData: {users: []}`, "7:31: error[VS1210]\n"},
		{"source without kind", `VirtletCloudInitUserDataSource: c`, "7:37: error[VS2205]\n"},
		{"source of another kind", `VirtletCloudInitUserDataSource: pod/c`, "7:37: error[VS2205]\n"},
		{"source with a key", `VirtletCloudInitUserDataSource: configmap/c/k`, "7:37: error[VS2205]\n"},
		{"source without a name", `VirtletCloudInitUserDataSource: configmap/`, "7:37: error[VS2205]\n"},
		{"source with a bad name", `VirtletCloudInitUserDataSource: configmap/C_`, "7:37: error[VS2207]\n"},
		{"source that is not there", `VirtletCloudInitUserDataSource: configmap/x`, "7:37: error[VS2207]\n"},
		{"source that is empty", `VirtletCloudInitUserDataSource: ""`, ""},
		{"source whose values are no YAML", `VirtletCloudInitUserDataSource: configmap/c`,
			"objects.yaml:4:20: error[VS1204]\nobjects.yaml:4:36: error[VS1204]\nobjects.yaml:4:51: error[VS2209]\nobjects.yaml:4:83: error[VS1204]\n"},
		{"source key without source", `VirtletCloudInitUserDataSourceKey: k`, "7:40: error[VS2205]\n"},
		{"source key that is not there", "VirtletCloudInitUserDataSourceKey: nope\n    VirtletCloudInitUserDataSource: secret/s", "7:40: error[VS2208]\n"},
		{"source key that is empty", "VirtletCloudInitUserDataSourceKey: \"\"\n    VirtletCloudInitUserDataSource: secret/s", "7:40: error[VS2205]\n"},
		{"source key of a missing object", "VirtletCloudInitUserDataSourceKey: k\n    VirtletCloudInitUserDataSource: secret/x", "8:37: error[VS2207]\n"},
		{"encoding", "VirtletCloudInitUserDataSourceEncoding: gzip\n    VirtletCloudInitUserDataSourceKey: raw\n    VirtletCloudInitUserDataSource: configmap/c", "7:45: error[VS2205]\n9:37: warning[VS2210]\n"},
		{"encoding is empty", `VirtletCloudInitUserDataSourceEncoding: ""`, "7:45: error[VS2205]\n"},
		{"encoding without a key", `VirtletCloudInitUserDataSourceEncoding: base64`, "7:45: warning[VS2205]\n"},
		{"not base64", "VirtletCloudInitUserDataSourceEncoding: base64\n    VirtletCloudInitUserDataSourceKey: k\n    VirtletCloudInitUserDataSource: secret/s", "objects.yaml:9:17: error[VS1214]\n"},
		{"keys of a wrong form", `VirtletSSHKeySource: secret/s/k/k`, "7:26: error[VS2205]\n"},
		{"keys under a missing key", `VirtletSSHKeySource: secret/s`, "7:26: error[VS2208]\n"},
		{"keys under an empty key", `VirtletSSHKeySource: secret/s/`, "7:26: error[VS2205]\n"},
		{"keys in a missing object", `VirtletSSHKeySource: secret/x/k`, "7:26: error[VS2207]\n"},
		{"a private key", `VirtletSSHKeySource: secret/s/pem`, "objects.yaml:9:89: error[VS2211]\n"},
		{"a line that is no key", "VirtletSSHKeys: |\n\n      ssh-ed25519 AAAA", "9:7: warning[VS2211]\n"},
		{"injected files without encoding", `VirtletFilesFromDataSource: secret/s`, "objects.yaml:9:17: error[VS1214]\nobjects.yaml:9:78: error[VS2205]\nobjects.yaml:9:89: error[VS2208]\n"},
		{"injected files without paths", `VirtletFilesFromDataSource: configmap/c`, strings.Join([]string{
			"objects.yaml:4:11: error[VS2208]\n", "objects.yaml:4:19: error[VS2208]\n", "objects.yaml:4:36: error[VS2208]\n",
			"objects.yaml:4:51: error[VS2208]\n", "objects.yaml:4:83: error[VS2208]\n", "objects.yaml:4:132: error[VS2215]\n", "objects.yaml:4:147: error[VS2208]\n"}, "")},
		{"injected files, empty", `VirtletFilesFromDataSource: ""`, "7:33: error[VS2205]\n"},
		{"misspelt annotation", `VirtletVCPUCounts: "2"`, "7:5: warning[VS2204]\n"},
		{"annotation in lower case", `virtletvcpucount: "2"`, "7:5: warning[VS2204]\n"},
		{"two errors at once", "VirtletVCPUCount: x\n    VirtletDiskDriver: y\n    VirtletSystemUUID: z", "7:23: error[VS2205]\n8:24: error[VS2205]\n9:24: error[VS2205]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := podHead
			if c.in != "" {
				in += "    " + c.in + "\n"
			}
			in += "spec: {containers: [{image: virtlet.cloud/x}]}\n"
			_, l := load([2]string{"in.yaml", in}, [2]string{"objects.yaml", objects})
			if d := cmp.Diff(c.want, codes(l)); d != "" {
				t.Errorf("diagnostics (-want +got):\n%s%v", d, l)
			}
			for _, d := range l {
				if strings.Contains(d.Summary, "should be not") {
					t.Errorf("it says the opposite: %v", d)
				}
				if d.Severity == diag.Error && strings.Contains(d.Error(), "not base64!") {
					t.Errorf("a value of a Secret is shown: %v", d)
				}
			}
		})
	}
}

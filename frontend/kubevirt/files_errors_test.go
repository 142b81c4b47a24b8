package kubevirt_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
)

// vmiWith is an instance whose spec goes on with some lines.
func vmiWith(lines string) frontendtest.File {
	return frontendtest.File{Name: "vm.yaml", Text: "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: vm}\nspec:\n" +
		"  domain: {memory: {guest: 1Gi}, devices: {}}\n" + lines}
}

const (
	noCloudSeed = "  volumes: [{name: seed, cloudInitNoCloud: {userData: hi}}]\n"
	objects     = `apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {a: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJAhcbYBlKG6qGzj1chVHcFWcQEaK0WxOr9uG7wKrrDX}
---
apiVersion: v1
kind: Secret
metadata: {name: private}
stringData: {a: "-----BEGIN OPENSSH PRIVATE KEY-----\ncanary\n"}
---
apiVersion: v1
kind: Secret
metadata: {name: empty}
---
apiVersion: v1
kind: Secret
metadata: {name: seed}
stringData: {user-data: hi, other: canary}
---
apiVersion: v1
kind: Secret
metadata: {name: foreign, annotations: {kubernetes.io/service-account.name: somebody}}
stringData: {token: canary}
`
)

// TestFilesRefused holds what KubeVirt's admission says, and what it lets through although nothing good can come of it.
func TestFilesRefused(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"no type", "  accessCredentials: [{}]\n", "error[VS2440]: spec.accessCredentials[0] must have exactly one access credential type set;"},
		{"two types", "  accessCredentials: [{sshPublicKey: {}, userPassword: {}}]\n", "error[VS2440]: spec.accessCredentials[0] must have exactly one access credential type set;"},
		{"no source", "  accessCredentials: [{sshPublicKey: {propagationMethod: {noCloud: {}}}}]\n" + noCloudSeed,
			"error[VS2440]: spec.accessCredentials[0] must have exactly one source set;"},
		{"no method", "  accessCredentials: [{sshPublicKey: {source: {secret: {secretName: keys}}}}]\n" + noCloudSeed,
			"error[VS2440]: spec.accessCredentials[0] must have exactly one propagationMethod set;"},
		{"two methods", "  accessCredentials: [{sshPublicKey: {source: {secret: {secretName: keys}}, propagationMethod: {noCloud: {}, configDrive: {}}}}]\n" + noCloudSeed,
			"error[VS2440]: spec.accessCredentials[0] must have exactly one propagationMethod set;"},
		{"password by the seed", "  accessCredentials: [{userPassword: {source: {secret: {secretName: keys}}, propagationMethod: {noCloud: {}}}}]\n" + noCloudSeed,
			`there is no field "noCloud" here`},
		{"no volume for noCloud", "  accessCredentials: [{sshPublicKey: {source: {secret: {secretName: keys}}, propagationMethod: {noCloud: {}}}}]\n",
			"error[VS2440]: spec.accessCredentials[0] requires a noCloud volume to exist when the noCloud propagationMethod is in use;"},
		{"no volume for configDrive", "  accessCredentials: [{sshPublicKey: {source: {secret: {secretName: keys}}, propagationMethod: {configDrive: {}}}}]\n" + noCloudSeed,
			"error[VS2440]: spec.accessCredentials[0] requires a configDrive volume to exist when the configDrive propagationMethod is in use;"},
		{"no users", "  accessCredentials: [{sshPublicKey: {source: {secret: {secretName: keys}}, propagationMethod: {qemuGuestAgent: {users: []}}}}]\n",
			"error[VS2440]: spec.accessCredentials[0] requires at least one user to be present in the users list;"},
		{"missing Secret", "  accessCredentials: [{sshPublicKey: {source: {secret: {secretName: kyes}}, propagationMethod: {noCloud: {}}}}]\n" + noCloudSeed,
			"Secret default/kyes is referred to here, the input has Secret default/empty"},
		{"empty Secret", "  accessCredentials: [{sshPublicKey: {source: {secret: {secretName: empty}}, propagationMethod: {noCloud: {}}}}]\n" + noCloudSeed,
			"warning[VS2440]"},
		{"private key", "  accessCredentials: [{sshPublicKey: {source: {secret: {secretName: private}}, propagationMethod: {noCloud: {}}}}]\n" + noCloudSeed,
			"error[VS2441]: ssh.authorizedKeys: this is a private key"},
		{"too many", "  accessCredentials: [" + strings.Repeat("{}, ", 257) + "]\n", "spec.accessCredentials: Too many: 257: must have at most 256 items"},
		{"no Secret named", "  volumes: [{name: a, secret: {}}]\n", "error[VS2442]: spec.volumes[0].secret.secretName is a required field;"},
		{"no ConfigMap named", "  volumes: [{name: a, configMap: {}}]\n", "error[VS2442]: spec.volumes[0].configMap.name is a required field;"},
		{"no account named", "  volumes: [{name: a, serviceAccount: {}}]\n", "error[VS2442]: spec.volumes[0].serviceAccount.serviceAccountName is a required field;"},
		{"two accounts", "  volumes: [{name: a, serviceAccount: {serviceAccountName: a}}, {name: b, serviceAccount: {serviceAccountName: a}}]\n",
			"error[VS2442]: spec.volumes must have max one serviceAccount volume set;"},
		{"account without token", "  volumes: [{name: a, serviceAccount: {serviceAccountName: foreign}}]\n", "warning[VS2442]"},
		{"long label", "  volumes: [{name: a, secret: {secretName: keys, volumeLabel: a-label-that-no-volume-can-have-at-all}}]\n", "error[VS2442]"},
		{"sysprep without source", "  volumes: [{name: a, sysprep: {}}]\n", "error[VS2443]"},
		{"sysprep without answers", "  volumes: [{name: a, sysprep: {secret: {name: keys}}}]\n",
			"Sysprep drive should contain autounattend.xml or unattend.xml but neither were found;"},
		{"seed beside the seed", "  volumes: [{name: seed, cloudInitNoCloud: {userData: hi}}, {name: a, secret: {secretName: seed, volumeLabel: cidata}}]\n", "error[VS2444]"},
		{"config drive beside the seed", "  volumes: [{name: seed, cloudInitNoCloud: {userData: hi}}, {name: a, secret: {secretName: seed, volumeLabel: CONFIG-2}}]\n", "error[VS2444]"},
		{"config drive alone", "  volumes: [{name: a, secret: {secretName: seed, volumeLabel: config-2}}]\n", "error[VS2444]"},
		{"two seeds by label", "  volumes: [{name: b, configMap: {name: x, volumeLabel: cidata, optional: true}}, {name: a, secret: {secretName: seed, volumeLabel: cidata}}, " +
			"{name: c, secret: {secretName: seed, volumeLabel: CIDATA}}]\n", "error[VS2444]: spec.volumes[2].secret.volumeLabel: two volumes"},
		{"file beside the seed's", "  volumes: [{name: a, secret: {secretName: seed, volumeLabel: cidata}}]\n", `the file "other" is left out`},
		{"path that leaves the disk", "  volumes: [{name: a, downwardAPI: {fields: [{path: ../x, fieldRef: {fieldPath: metadata.name}}]}}]\n", "error[VS2445]"},
		{"field of the node", "  volumes: [{name: a, downwardAPI: {fields: [{path: x, fieldRef: {fieldPath: spec.nodeName}}]}}]\n", "error[VS2445]"},
		{"unknown source", "  cloudInit: {SomeOtherProviderData: {userDataBase64: aGk=}}\n", `error[VS2447]: spec.cloudInit.SomeOtherProviderData: there is no source "SomeOtherProviderData"`},
	} {
		machines, l := load(frontend.Options{}, vmiWith(tt.spec), frontendtest.File{Name: "objects.yaml", Text: objects})
		if got := dump(nil, l); !strings.Contains(got, tt.want) || strings.Contains(got, "canary") {
			t.Errorf("%s: want %s\n%s", tt.name, tt.want, got)
		}
		if strings.HasPrefix(tt.want, "error") && !l.HasErrors() {
			t.Errorf("%s: no error", tt.name)
		}
		if len(machines) != 1 {
			t.Errorf("%s: %d machines", tt.name, len(machines))
		}
	}
}

// legacyWith is an instance of the first layout with one disk.
func legacyWith(disk string) frontendtest.File {
	return frontendtest.File{Name: "vm.yaml", Text: "apiVersion: kubevirt.io/v1alpha2\nkind: VirtualMachineInstance\nmetadata: {name: vm}\nspec:\n" +
		"  domain: {memory: {value: 1, unit: GiB}, devices: {disks: [" + disk + "]}}\n"}
}

func TestLegacyRefused(t *testing.T) {
	const seed = "{type: file, target: {dev: vdb}, cloudinit: {nocloud: {userDataBase64: aGk=}}}"
	for _, tt := range []struct{ name, disk, want string }{
		{"no source", "{type: file, target: {dev: vda}, cloudinit: {}}", "error[VS2447]"},
		{"another source", "{type: file, target: {dev: vda}, cloudinit: {configDrive: {userDataBase64: aGk=}}}",
			"there is no source \"configDrive\" of cloud-init data; the sources are nocloud on a disk of the first layout, and since then the volumes cloudInitNoCloud and cloudInitConfigDrive;"},
		{"no user-data", "{type: file, target: {dev: vda}, cloudinit: {nocloud: {}}}",
			"error[VS2446]: spec.domain.devices.disks[0].cloudinit.nocloud must have at least one userdatasource set;"},
		{"twice user-data", "{type: file, cloudinit: {nocloud: {userDataBase64: aGk=, userDataSecretRef: seed}}}",
			"error[VS2446]: spec.domain.devices.disks[0].cloudinit.nocloud must have only one userdatasource set;"},
		{"no base64", "{type: file, cloudinit: {nocloud: {userDataBase64: '%'}}}", "userDataBase64 is not a valid base64 value;"},
		{"too large", "{type: file, cloudinit: {nocloud: {userDataBase64: '" + strings.Repeat("aGlo", 700) + "'}}}", "userdata exceeds 2048 byte limit."},
		{"two seeds", seed + ", " + seed, "the machine has two seeds for its first boot"},
		{"wrong key of the Secret", "{type: file, cloudinit: {nocloud: {userDataSecretRef: seed}}}", "Secret default/seed has neither key userdata nor userData"},
		{"type", "{type: network, source: {protocol: iscsi}, target: {dev: vda}}", `error[VS2446]: spec.domain.devices.disks[0].type: vmseed has no disks of the type "network"`},
		{"type misspelt", "{type: ContainerDisk:v1alph, source: {name: i}, target: {dev: vda}}", "ContainerDisk:v1alpha"},
		{"bus", "{type: block, source: {dev: /dev/sdx}, target: {dev: vda, bus: scsy}}", `there is no bus "scsy"`},
		{"two devices", "{type: block, source: {dev: /dev/sdx}, target: {dev: vda}}, {type: block, source: {dev: /dev/sdy}, target: {dev: vda}}", `two disks have the device "vda"`},
		{"no image", "{type: ContainerDisk:v1alpha, target: {dev: vda}}", "spec.domain.devices.disks[0].source.name is a required field"},
	} {
		_, l := load(frontend.Options{}, legacyWith(tt.disk), frontendtest.File{Name: "objects.yaml", Text: objects})
		if got := dump(nil, l); !strings.Contains(got, tt.want) || !l.HasErrors() {
			t.Errorf("%s: want an error with %s\n%s", tt.name, tt.want, got)
		}
	}
}

// TestLegacySecret decodes the value of a Secret once more only if what comes out is user-data.
func TestLegacySecret(t *testing.T) {
	for value, want := range map[string]string{
		"I2Nsb3VkLWNvbmZpZwo=": "#cloud-config\n", "eyJpZ25pdGlvbiI6IHt9fQ==": `{"ignition": {}}`,
		"'#cloud-config'": "#cloud-config", "aGVsbG8=": "aGVsbG8=", "'#!/bin/sh'": "#!/bin/sh",
	} {
		secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {userData: " + value + "}\n"
		machines, l := load(frontend.Options{}, legacyWith("{type: file, cloudinit: {nocloud: {secretRef: {name: s}}}}"), frontendtest.File{Name: "o.yaml", Text: secret})
		if l.HasErrors() || len(machines) != 1 || machines[0].UserData.Layers[0].Data.Reveal() != want {
			t.Errorf("%s: want %q, %v", value, want, l)
		}
	}
}

//go:build conformance

package manifests_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/vmseed/vmseed/kube/launch"
)

const (
	disk   = "devices: {disks: [{name: seed, disk: {bus: virtio}}]}"
	memory = "memory: {guest: 1Gi}"
)

// withVolume is a spec with a volume called seed.
func withVolume(fields string) string {
	return "domain: {" + memory + ", " + disk + "}\nvolumes: [{name: seed, " + fields + "}]\n"
}

// withCredential is a spec with an access credential and a volume of cloud-init data.
func withCredential(credential string) string {
	return withVolume("cloudInitNoCloud: {userData: x}") + "accessCredentials: [" + credential + "]\n"
}

// refused are specs of instances that the API server has to refuse, and the words that it has to refuse them with. Those
// that come out of a policy are KubeVirt's.
var refused = []struct {
	name, spec, want string
	schema           bool // the words are those of the definition's schema
}{
	{"disks that are no list", "domain: {" + memory + ", devices: {disks: not-a-list}}", "spec.domain.devices.disks: Invalid value", true},
	{"a negative number of CPUs", "domain: {" + memory + ", cpu: {cores: -1}, devices: {}}", "spec.domain.cpu.cores: Invalid value", true},
	{"more CPUs than there are numbers", "domain: {" + memory + ", cpu: {cores: 4294967296}, devices: {}}", "spec.domain.cpu.cores: Invalid value", true},
	{"a number that is no quantity", "domain: {memory: {guest: 1e1.5}, devices: {}}", "spec.domain.memory.guest: Invalid value", true},
	{"a huge exponent", "domain: {memory: {guest: 1e999999999}, devices: {}}", "spec.domain.memory.guest: Invalid value", true},
	{"a disk without a name", "domain: {" + memory + ", devices: {disks: [{disk: {}}]}}", "spec.domain.devices.disks[0].name: Required value", true},
	{"an interface without a name", "domain: {" + memory + ", devices: {interfaces: [{bridge: {}}]}}", "spec.domain.devices.interfaces[0].name: Required value", true},
	{"a field that does not exist", "domain: {" + memory + ", devices: {disk: []}}", `unknown field "spec.domain.devices.disk"`, true},
	{"a field in other letter case", "domain: {" + memory + ", devices: {}, Memory: x}", `unknown field "spec.domain.Memory"`, true},
	{"no memory", "domain: {devices: {}}", "no memory requested, at least one of 'spec.domain.memory.guest', ", false},
	{"no source", withVolume("cloudInitNoCloud: {}"), "spec.volumes[0].cloudInitNoCloud must have at least one userdatasource or one networkdatasource set.", false},
	{"2049 bytes", withVolume("cloudInitNoCloud: {userData: " + strings.Repeat("x", 2049) + "}"),
		"spec.volumes[0].cloudInitNoCloud userdata exceeds 2048 byte limit. Should use UserDataSecretRef for larger data.", false},
	{"2049 bytes in fewer characters", withVolume("cloudInitNoCloud: {userData: " + strings.Repeat("é", 1024) + "x}"),
		"spec.volumes[0].cloudInitNoCloud userdata exceeds 2048 byte limit.", false},
	{"2049 bytes of base64", withVolume("cloudInitConfigDrive: {networkDataBase64: " + strings.Repeat("QUFB", 683) + "}"),
		"spec.volumes[0].cloudInitConfigDrive networkdata exceeds 2048 byte limit. Should use NetworkDataSecretRef for larger data.", false},
	{"two sources", withVolume("cloudInitNoCloud: {userData: x, secretRef: {name: s}}"), "spec.volumes[0].cloudInitNoCloud must have only one userdatasource set.", false},
	{"broken base64", withVolume("cloudInitNoCloud: {userDataBase64: '#'}"),
		"spec.volumes[0].cloudInitNoCloud.userDataBase64.cloudInitNoCloud.userDataBase64 is not a valid base64 value.", false},
	{"base64 without its padding", withVolume("cloudInitNoCloud: {userDataBase64: eA}"),
		"spec.volumes[0].cloudInitNoCloud.userDataBase64.cloudInitNoCloud.userDataBase64 is not a valid base64 value.", false},
	{"two kinds of source", withVolume("cloudInitNoCloud: {userData: x}, emptyDisk: {capacity: 1Gi}"), "spec.volumes[0] must have exactly one source type set", false},
	{"no name of a ConfigMap", withVolume("configMap: {}"), "spec.volumes[0].configMap.name is a required field", false},
	{"no name of a Secret", withVolume("secret: {}"), "spec.volumes[0].secret.secretName is a required field", false},
	{"no name of an account", withVolume("serviceAccount: {}"), "spec.volumes[0].serviceAccount.serviceAccountName is a required field", false},
	{"a disk without a volume", "domain: {" + memory + ", " + disk + "}", "spec.domain.devices.disks[0].Name 'seed' not found.", false},
	{"a CD-ROM without a volume", "domain: {" + memory + ", devices: {disks: [{name: cd, cdrom: {}}]}}",
		"DeclarativeHotplugVolumes feature gate not enabled, cannot define an empty CD-ROM disk", false},
	{"two targets", "domain: {" + memory + ", devices: {disks: [{name: seed, disk: {}, cdrom: {}}]}}\nvolumes: [{name: seed, emptyDisk: {capacity: 1Gi}}]",
		"spec.domain.devices.disks[0] can only have a single target type defined", false},
	{"an interface without a network", "domain: {" + memory + ", devices: {interfaces: [{name: net, bridge: {}}]}}", "spec.domain.devices.interfaces[0].name 'net' not found.", false},
	{"a network without an interface", "domain: {" + memory + ", devices: {}}\nnetworks: [{name: net, pod: {}}]", "spec.networks[0].name 'net' not found.", false},
	{"a network without a kind", "domain: {" + memory + ", devices: {interfaces: [{name: net, bridge: {}}]}}\nnetworks: [{name: net}]", "should have a network type", false},
	{"a network with two kinds", "domain: {" + memory + ", devices: {interfaces: [{name: net, bridge: {}}]}}\nnetworks: [{name: net, pod: {}, multus: {networkName: x}}]",
		"should have only one network type", false},
	{"no kind of credential", withCredential("{}"), "spec.accessCredentials[0] must have exactly one access credential type set", false},
	{"no source of a credential", withCredential("{sshPublicKey: {source: {}, propagationMethod: {noCloud: {}}}}"),
		"spec.accessCredentials[0] must have exactly one source set", false},
	{"no method", withCredential("{sshPublicKey: {source: {secret: {secretName: s}}, propagationMethod: {}}}"),
		"spec.accessCredentials[0] must have exactly one propagationMethod set", false},
	{"a method without its volume", withCredential("{sshPublicKey: {source: {secret: {secretName: s}}, propagationMethod: {configDrive: {}}}}"),
		"spec.accessCredentials[0] requires a configDrive volume to exist when the configDrive propagationMethod is in use.", false},
	{"no users", withCredential("{sshPublicKey: {source: {secret: {secretName: s}}, propagationMethod: {qemuGuestAgent: {users: []}}}}"),
		"spec.accessCredentials[0] requires at least one user to be present in the users list", false},
	{"a host name", "domain: {" + memory + ", devices: {}}\nhostname: A", "spec.hostname does not conform to the kubernetes DNS_LABEL rules : ", false},
	{"a subdomain", "domain: {" + memory + ", devices: {}}\nsubdomain: a..b", "spec.subdomain does not conform to the kubernetes DNS_SUBDOMAIN rules : ", false},
}

// accepted are specs that are close to what is refused.
var accepted = map[string]string{
	"2048 bytes":           withVolume("cloudInitNoCloud: {userData: " + strings.Repeat("x", 2048) + "}"),
	"2048 bytes of base64": withVolume("cloudInitConfigDrive: {userDataBase64: " + strings.Repeat("QUFB", 682) + "QUE=}"),
	"base64 on two lines":  withVolume("cloudInitNoCloud: {userDataBase64: \"QUFB\\nQUFB\\n\"}"),
	"network data alone":   withVolume("cloudInitNoCloud: {networkData: x}"),
	"white space":          withVolume("cloudInitNoCloud: {userData: \" \"}"),
	"no disk for a volume": "domain: {" + memory + ", devices: {}}\nvolumes: [{name: seed, cloudInitNoCloud: {userData: x}}]",
	"a password":           withCredential("{userPassword: {source: {secret: {secretName: s}}, propagationMethod: {qemuGuestAgent: {}}}}"),
	"a key":                withCredential("{sshPublicKey: {source: {secret: {secretName: s}}, propagationMethod: {noCloud: {}}}}"),
	"an empty host name":   "domain: {" + memory + ", devices: {}}\nhostname: ''",
	"as much as fits":      crowd(),
	"newer sources":        withVolume("cloudInitNoCloud: {userData: x, vendorData: z, metaData: {a: b}}"),
}

// crowd is a spec with 64 of everything, names and data of the largest size included: what the policies spend on an object
// is limited, and whoever comes near the limit is refused.
func crowd() string {
	var volumes, disks, nics, networks, keys strings.Builder
	for i := range 64 {
		name := fmt.Sprintf("%02d%s", i, strings.Repeat("x", 61))
		fmt.Fprintf(&volumes, "- {name: %s, cloudInitNoCloud: {userDataBase64: %sQUE=, networkData: %s}}\n", name, strings.Repeat("QUFB", 682), strings.Repeat("x", 2048))
		fmt.Fprintf(&disks, "{name: %s, disk: {bus: virtio}}, ", name)
		fmt.Fprintf(&nics, "{name: %s, bridge: {}}, ", name)
		fmt.Fprintf(&networks, "- {name: %s, multus: {networkName: %s}}\n", name, name)
		fmt.Fprintf(&keys, "- {sshPublicKey: {source: {secret: {secretName: s}}, propagationMethod: {noCloud: {}}}}\n")
	}
	return "domain: {" + memory + ", devices: {disks: [" + disks.String() + "], interfaces: [" + nics.String() + "]}}\n" +
		"volumes:\n" + volumes.String() + "networks:\n" + networks.String() + "accessCredentials:\n" + keys.String()
}

func instance(namespace, spec string) string {
	return "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: bad, namespace: " + namespace + ", uid: 11111111-1111-4111-8111-111111111111}\nspec:\n  " +
		strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ") + "\n"
}

// machineOf is a VirtualMachine whose template has a spec.
func machineOf(namespace, head, spec string) string {
	return "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: bad, namespace: " + namespace + "}\nspec:\n  " + head + "\n  template:\n    spec:\n      " +
		strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n      ") + "\n"
}

// refusesBadObjects gives the API server what it must not store, on its own and as the template of a VirtualMachine, and
// holds the policies against the front end: what they say, it says too.
func refusesBadObjects(t *testing.T, c *cluster) {
	namespace := c.namespace(t)
	create := func(text string) (bool, string) { return c.try(t, namespace, text) }
	for _, bad := range refused {
		t.Run(bad.name, func(t *testing.T) {
			text := instance(namespace, bad.spec)
			if ok, out := create(text); ok || !strings.Contains(out, bad.want) {
				t.Errorf("the API server says %q and not\n%s", out, bad.want)
			}
			template := strings.NewReplacer("spec.", "spec.template.spec.").Replace(bad.want)
			if strings.HasPrefix(bad.want, "no memory") {
				template = "created"
			}
			if _, out := create(machineOf(namespace, "runStrategy: Always", bad.spec)); !strings.Contains(out, template) {
				t.Errorf("of a template it says %q and not\n%s", out, template)
			}
			if bad.schema {
				return
			}
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
				t.Fatal(err)
			}
			review := launch.Check(t.Context(), o, launch.Cluster{})
			if said := review.Refusal(); !strings.Contains(said, bad.want) {
				t.Errorf("the front end says %q and not\n%s", said, bad.want)
			}
		})
	}
	for name, spec := range accepted {
		t.Run(name, func(t *testing.T) {
			if ok, out := create(instance(namespace, spec)); !ok {
				t.Errorf("an instance: %s", out)
			}
			if ok, out := create(machineOf(namespace, "runStrategy: Always", spec)); !ok {
				t.Errorf("a template: %s", out)
			}
		})
	}
	all := "domain: {" + memory + ", devices: {}}\nvolumes:\n" + strings.Repeat("- {name: v}\n", 9)
	if _, out := create(instance(namespace, all)); !strings.Contains(out, "spec.volumes[8] must have exactly one source type set, spec.volumes[1] and spec.volumes[0] must not have the same Name.") ||
		!strings.Contains(out, ", and 7 more validation errors") {
		t.Errorf("many causes at once: %s", out)
	}
	for _, bad := range []struct{ head, want string }{
		{"running: true\n  runStrategy: Always", "Running and RunStrategy are mutually exclusive. Note that Running is deprecated, please use RunStrategy instead"},
		{"dataVolumeTemplates: []", "RunStrategy must be specified"},
		{"runStrategy: Sometimes", "Invalid RunStrategy (Sometimes)"},
	} {
		if ok, out := create(machineOf(namespace, bad.head, "domain: {devices: {}}")); ok || !strings.Contains(out, bad.want) {
			t.Errorf("%s: the API server says %q", bad.head, out)
		}
	}
	if ok, out := create("apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: bad, namespace: " + namespace + "}\nspec: {runStrategy: Always}\n"); ok ||
		!strings.Contains(out, "spec.template: Required value") {
		t.Errorf("without a template: %s", out)
	}
}

// trustsTheController gives the API server the same instance as the controller and as users: the controller has checked what it makes, but
// for the memory, which no machine needs to name. Of a machine the template is checked, whenever it changes.
func trustsTheController(t *testing.T, c *cluster) {
	namespace := c.namespace(t)
	controller, _ := c.as(t, controllerUser[0], controllerUser[1:]...)
	user := editor(t, c, namespace)
	create := func(as client.Client, text string) error {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		return as.Create(t.Context(), o, client.DryRunAll)
	}
	bad := instance(namespace, withVolume("cloudInitNoCloud: {userData: x, secretRef: {name: s}}"))
	if err := create(controller, bad); err != nil {
		t.Errorf("what the controller has made of a machine: %v", err)
	}
	const two = "must have only one userdatasource set"
	if err := create(user, bad); err == nil || !strings.Contains(err.Error(), two) {
		t.Errorf("what a user has made: %v", err)
	}
	if err := create(controller, instance(namespace, "domain: {devices: {}}")); err == nil || !strings.Contains(err.Error(), "no memory requested") {
		t.Errorf("the controller's instance without memory: %v", err)
	}
	// An account of the same name in another namespace is nobody special.
	c.must(t, "", "create", "rolebinding", "other", "-n", namespace, "--clusterrole=edit", "--user=system:serviceaccount:"+namespace+":vmseed-controller")
	other, _ := c.as(t, "system:serviceaccount:"+namespace+":vmseed-controller", "system:serviceaccounts")
	eventually(t, "another account may make instances", func() (bool, string) {
		err := create(other, bad)
		return err != nil && strings.Contains(err.Error(), two), fmt.Sprint(err)
	})
	if err := create(other, machineOf(namespace, "runStrategy: Halted", withVolume("cloudInitNoCloud: {}"))); err == nil || !strings.Contains(err.Error(), "must have at least one") {
		t.Errorf("another account's machine: %v", err)
	}

	c.must(t, machineOf(namespace, "runStrategy: Halted", withVolume("cloudInitNoCloud: {userData: x}")), "create", "-n", namespace, "-f", "-")
	c.must(t, "", "patch", "vm", "bad", "-n", namespace, "--type=merge", "-p", `{"spec":{"runStrategy":"Manual"}}`)
	if out, err := c.kubectl(t, "", "patch", "vm", "bad", "-n", namespace, "--type=json", "-p",
		`[{"op":"add","path":"/spec/template/spec/volumes/0/cloudInitNoCloud/secretRef","value":{"name":"s"}}]`); err == nil || !strings.Contains(out, two) {
		t.Errorf("a template that becomes bad: %s", out)
	}
}

package node

import "testing"

func TestCheckLabels(t *testing.T) {
	for key, want := range map[string]bool{
		"zone": true, "example.com/rack": true, "topology.kubernetes.io/zone": true, "node.kubernetes.io/instance-type": true, "kubelet.kubernetes.io/x": true,
		"notkubernetes.io/x": true, "node-role.kubernetes.io/vm": false, "node-restriction.kubernetes.io/x": false, "k8s.io/x": false, "a b": false, "": false,
	} {
		if err := CheckLabels(map[string]string{key: "v"}); (err == nil) != want {
			t.Errorf("%q: %v", key, err)
		}
	}
	if CheckLabels(map[string]string{"zone": "a/b"}) == nil {
		t.Error("a value that no label may have is taken")
	}
}

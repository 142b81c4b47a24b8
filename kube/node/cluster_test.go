package node

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOther: clusters are told apart by UIDs, of which one may change.
func TestOther(t *testing.T) {
	known := Cluster{Service: "s", Node: "n"}
	for _, c := range []struct {
		name  string
		now   Cluster
		other bool
	}{
		{"the same", known, false},
		{"the Node was deleted", Cluster{Service: "s"}, false},
		{"the Node was made anew", Cluster{Service: "s", Node: "n2"}, false},
		{"the Service was made anew", Cluster{Service: "s2", Node: "n"}, false},
		{"another cluster", Cluster{Service: "s2"}, true},
		{"another cluster with such a Node", Cluster{Service: "s2", Node: "n2"}, true},
		{"another Node, and nothing else is known", Cluster{Node: "n2"}, true},
		{"nothing is known", Cluster{}, false},
	} {
		if got := c.now.Other(known); got != c.other {
			t.Errorf("%s: other is %v", c.name, got)
		}
	}
	if known.Other(Cluster{}) {
		t.Error("a first cluster is another one")
	}
}

// TestStrangeCluster: of a cluster that is refused, neither pods are read nor anything is written there.
func TestStrangeCluster(t *testing.T) {
	_, client := beating(t)
	if err := client.Tracker().Add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes", UID: "theirs"}}); err != nil {
		t.Fatal(err)
	}
	refusal := errors.New("a strange cluster")
	var asked []Cluster
	n, err := New(Config{Name: "n", Client: client, Provider: nothing{}, Host: &identified{bench{m: well()}, "this"}, RuntimeVersion: "vmseed://1",
		Recognise: func(c Cluster) error { asked = append(asked, c); return refusal }})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(t.Context()); !errors.Is(err, refusal) {
		t.Errorf("the node runs there: %v", err)
	}
	if len(asked) != 1 || asked[0].Service != "theirs" {
		t.Errorf("asked about %+v", asked)
	}
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" || strings.HasPrefix(a.GetResource().Resource, "pod") {
			t.Errorf("in a strange cluster: %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
}

// TestRecognised: a node is asked about twice when it registers for the first time, with its Node the second time.
func TestRecognised(t *testing.T) {
	h, _ := beating(t)
	asked := 0
	h.config.Recognise = func(Cluster) error { asked++; return nil }
	if _, err := h.register(t.Context()); err != nil || asked != 2 {
		t.Errorf("a new Node: asked %d times, %v", asked, err)
	}
	if _, err := h.register(t.Context()); err != nil || asked != 3 {
		t.Errorf("a known Node: asked %d times, %v", asked, err)
	}
}

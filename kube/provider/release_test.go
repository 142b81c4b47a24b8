package provider

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/supervisor"
)

// TestRelease gives back the network of pods that have ended for good, once, and of no others.
func TestRelease(t *testing.T) {
	ends := func(b *bed, pod *corev1.Pod) { b.runner.guest(pod.UID).ends(supervisor.Stopped, "it was shut down") }
	for _, c := range []struct {
		name   string
		policy corev1.RestartPolicy
		refuse []refusal
		end    func(*bed, *corev1.Pod)
		want   int
	}{
		{"it ended", corev1.RestartPolicyNever, nil, ends, 1},
		{"it is started again", corev1.RestartPolicyAlways, nil, ends, 0},
		{"it runs", corev1.RestartPolicyNever, nil, func(*bed, *corev1.Pod) {}, 0},
		{"it cannot be", corev1.RestartPolicyAlways, []refusal{{list: diag.List{{Code: 2297, Severity: diag.Error, Summary: "two containers"}}}}, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			lie(t, func(b *bed) {
				b.runner.refuse = c.refuse
				b.runner.unreleased = []error{errors.New("the plugin is busy")}
				pod := b.create(policy(c.policy))
				if c.end != nil {
					c.end(b, pod)
				}
				b.after(time.Hour)
				if got := len(b.runner.released); got != c.want {
					t.Fatalf("given back %d times, want %d", got, c.want)
				}
				if len(b.runner.removed) > 0 {
					t.Error("the VM is removed, and its log with it")
				}
				b.close()
				b.open()
				if err := b.p.UpdatePod(t.Context(), b.api(pod)); err != nil {
					t.Fatal(err)
				}
				b.after(time.Hour)
				if got := len(b.runner.released); got != c.want {
					t.Errorf("a later process gives back: %d times, want %d", got, c.want)
				}
			})
		})
	}
}

// TestReleaseAfterDeletion has the deletion come while the network cannot be given back.
func TestReleaseAfterDeletion(t *testing.T) {
	lie(t, func(b *bed) {
		b.runner.unreleased = []error{errors.New("the plugin is busy")}
		pod := b.create(policy(corev1.RestartPolicyNever))
		b.runner.guest(pod.UID).ends(supervisor.Stopped, "it was shut down")
		synctest.Wait()
		if err := b.p.DeletePod(t.Context(), leaving(pod, 30)); err != nil {
			t.Fatal(err)
		}
		b.is(pod, "gone")
		if len(b.runner.removed) != 1 {
			t.Error("the VM is left")
		}
	})
}

// TestNoAddress has a pod whose guest nobody can reach: it has no address, least of all the node's.
func TestNoAddress(t *testing.T) {
	lie(t, func(b *bed) {
		b.runner.unplugged = true
		pod := b.create(nil)
		now := b.is(pod, "Running running not:Booting")
		if s := now.Status; s.PodIP != "" || len(s.PodIPs) != 0 || s.HostIP != "192.0.2.7" {
			t.Errorf("the addresses are %q, %v on %q", s.PodIP, s.PodIPs, s.HostIP)
		}
	})
}

// TestForgotten has something still be said of a pod that is gone, as when the API server tells of it late: no record comes back.
func TestForgotten(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		v := b.p.byUID(pod.UID)
		if err := b.p.DeletePod(t.Context(), leaving(pod, 30)); err != nil {
			t.Fatal(err)
		}
		b.after(2 * time.Second)
		b.is(pod, "gone")
		v.leave(0)
		left, err := b.p.records()
		if err != nil || len(left) != 0 {
			t.Errorf("%d records are left: %v", len(left), err)
		}
	})
}

// TestEndedIsDeleted has a user delete a pod that has ended, whose object is gone at once: the API server grants it no grace. Its
// name may be another's by then, here or on another node.
func TestEndedIsDeleted(t *testing.T) {
	for name, successor := range map[string]func(*bed){
		"no successor":   func(*bed) {},
		"one here":       func(b *bed) { b.pod(func(pod *corev1.Pod) { pod.UID = "uid-2" }) },
		"one on another": func(b *bed) { b.pod(func(pod *corev1.Pod) { pod.UID, pod.Spec.NodeName = "uid-2", "other" }) },
	} {
		t.Run(name, func(t *testing.T) { deletesEnded(t, successor) })
	}
}

func deletesEnded(t *testing.T, successor func(*bed)) {
	lie(t, func(b *bed) {
		pod := b.create(policy(corev1.RestartPolicyNever))
		b.runner.guest(pod.UID).ends(supervisor.Stopped, "it was shut down")
		now := b.api(pod)
		now.Generation++ // as a deletion does, so that there is a status to write
		if err := b.client.CoreV1().Pods(pod.Namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		successor(b)
		if err := b.p.UpdatePod(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if err := b.p.DeletePod(t.Context(), leaving(now, 0)); err != nil {
			t.Fatal(err)
		}
		b.after(time.Minute)
		here, err := b.p.ResidentPods(t.Context())
		if err != nil || slices.ContainsFunc(here, func(p *corev1.Pod) bool { return p.UID == pod.UID }) || len(b.runner.removed) != 1 {
			t.Errorf("%d pods are left: %v; removed were %v", len(here), err, b.runner.removed)
		}
	})
}

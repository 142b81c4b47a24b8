package provider

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// TestDelete ends a guest in good time, and deletes the object only when nothing is left of the VM.
func TestDelete(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		g := b.runner.guest(pod.UID)
		b.runner.onRemove = func(Ref) {
			if b.api(pod) == nil || g.state.Status.Alive() {
				t.Error("the object goes before its VM")
			}
		}
		if err := b.p.DeletePod(b.t.Context(), leaving(pod, 30)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.p.GetPod(b.t.Context(), pod.Namespace, pod.Name); !errdefs.IsNotFound(err) {
			t.Errorf("the name of a pod that leaves is not free: %v", err)
		}
		b.after(2 * time.Second)
		b.is(pod, "gone")
		if len(g.graces) != 1 || g.graces[0] != 30*time.Second || len(b.runner.removed) != 1 {
			t.Errorf("graces %v, removed %v", g.graces, b.runner.removed)
		}
		if records, err := b.p.records(); err != nil || len(records) != 0 {
			t.Errorf("records: %v, %v", records, err)
		}
		if err := b.p.DeletePod(b.t.Context(), pod); !errdefs.IsNotFound(err) {
			t.Errorf("deleting again: %v", err)
		}
	})
}

// TestDeleteSooner shortens the grace of a guest that does not listen.
func TestDeleteSooner(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		g := b.runner.guest(pod.UID)
		g.deaf = true
		b.runner.onRemove = func(Ref) {
			end := b.p.byUID(pod.UID).look().Run.Ended
			if end.ExitCode != exitKilled || end.Reason != ReasonError {
				t.Errorf("the end: %+v", end)
			}
		}
		for _, grace := range []int64{3600, 5} {
			if err := b.p.DeletePod(b.t.Context(), leaving(pod, grace)); err != nil {
				t.Fatal(err)
			}
			b.after(time.Second)
		}
		b.after(5 * time.Second)
		b.is(pod, "gone")
	})
}

// TestLostWish has the wish that a guest ends die with the supervisor that took it.
func TestLostWish(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		b.runner.guest(pod.UID).lost = 1
		if err := b.p.DeletePod(b.t.Context(), leaving(pod, 30)); err != nil {
			t.Fatal(err)
		}
		b.after(30*time.Second + stopSlack + 2*time.Second)
		b.is(pod, "gone")
	})
}

// TestDeleteWhileStarting gives up a start.
func TestDeleteWhileStarting(t *testing.T) {
	lie(t, func(b *bed) {
		b.runner.refuse = []refusal{{err: errHang}}
		pod := b.create(nil)
		b.is(pod, "Pending waiting=ContainerCreating not:ContainersNotReady")
		if err := b.p.DeletePod(b.t.Context(), leaving(pod, 30)); err != nil {
			t.Fatal(err)
		}
		b.is(pod, "gone")
	})
}

// TestDeleteBetweenRuns deletes a pod whose VM waits to be started again.
func TestDeleteBetweenRuns(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		for range 2 {
			b.runner.guest(pod.UID).ends(supervisor.Stopped, "it was shut down")
			synctest.Wait()
		}
		b.is(pod, "Running waiting=CrashLoopBackOff restarts=1 last=Completed not:ContainersNotReady")
		b.runner.onRemove = func(Ref) {
			if o := b.p.byUID(pod.UID).look().Over; o == nil || o.Phase != corev1.PodSucceeded {
				t.Errorf("the end: %+v", o)
			}
		}
		if err := b.p.DeletePod(b.t.Context(), leaving(pod, 30)); err != nil {
			t.Fatal(err)
		}
		b.is(pod, "gone")
	})
}

// TestGuard keeps the object of a VM that is still there, and lets others go.
func TestGuard(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		other := b.pod(func(pod *corev1.Pod) { pod.Name, pod.UID = "other", "uid-2" })
		b.runner.guest(pod.UID).deaf = true
		for _, x := range []*corev1.Pod{pod, other} {
			if err := b.p.Guard().Pods("default").Delete(b.t.Context(), x.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &x.UID}}); err != nil {
				t.Fatal(err)
			}
		}
		b.is(other, "gone")
		b.is(pod, "Running running not:Booting")
		b.after(31 * time.Second)
		b.is(pod, "gone")
	})
}

// TestForced ends the VM of a pod whose object was deleted by force, and begins the next of its name.
func TestForced(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		g := b.runner.guest(pod.UID)
		if err := b.client.CoreV1().Pods("default").Delete(b.t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		next := b.create(func(pod *corev1.Pod) { pod.UID = "uid-2" })
		b.after(2 * time.Second)
		if g.state.Status.Alive() || g.graces[0] != 0 {
			t.Errorf("the VM of the pod that is gone: %v, graces %v", g.state.Status, g.graces)
		}
		b.is(next, "Running running not:Booting")
		if n := b.runner.count(); n != 2 {
			t.Errorf("%d starts", n)
		}
	})
}

// TestUnseenSuccessor has another pod take a name without anybody telling the provider: it learns of it when it writes.
func TestUnseenSuccessor(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		if err := b.client.CoreV1().Pods("default").Delete(b.t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := b.p.byUID(pod.UID).flush(b.t.Context()); err != nil {
			t.Fatal(err)
		}
		b.after(2 * time.Second)
		if len(b.runner.removed) != 1 || b.runner.removed[0] != pod.UID {
			t.Errorf("removed: %v", b.runner.removed)
		}
	})
}

// TestAdoption stops the provider and starts another, with the guest alive, ended meanwhile, lost, or never begun.
func TestAdoption(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(b *bed, uid types.UID)
		want   string
		starts int
	}{
		{"it runs", func(*bed, types.UID) {}, "Running running ready", 1},
		{"it ended", func(b *bed, uid types.UID) { b.runner.guest(uid).ends(supervisor.Stopped, "it was shut down") },
			"Running running restarts=1 last=Completed not:Booting", 2},
		{"the host went down", func(b *bed, uid types.UID) {
			b.runner.guest(uid).ends(supervisor.Stopped, "QEMU ended while it had no supervisor, as when the host goes down")
		}, "Running running restarts=1 last=HostRestarted not:Booting", 2},
		{"it is gone", func(b *bed, uid types.UID) { delete(b.runner.guests, uid) }, "Running running restarts=1 last=Error not:Booting", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			lie(t, func(b *bed) {
				pod := b.create(nil)
				b.runner.guest(pod.UID).boots()
				b.is(pod, "Running running ready")
				told := len(b.told())
				b.close()
				c.before(b, pod.UID)
				b.open()
				pods, err := b.p.GetPods(b.t.Context())
				if err != nil || len(pods) != 1 || pods[0].UID != pod.UID {
					t.Fatalf("the new provider knows %v, %v", pods, err)
				}
				if n := b.runner.count(); n != 1 {
					t.Fatalf("%d starts before the object is known", n)
				}
				if err := b.p.UpdatePod(b.t.Context(), b.api(pod)); err != nil {
					t.Fatal(err)
				}
				b.is(pod, c.want)
				if n := b.runner.count(); n != c.starts {
					t.Errorf("%d starts, want %d", n, c.starts)
				}
				if again := b.told(); c.starts == 1 && len(again) > 0 {
					t.Errorf("after %d events these are told again: %v", told, again)
				}
			})
		})
	}
}

// TestDangling ends a VM whose pod went while there was no provider, as Virtual Kubelet asks for it at its start.
func TestDangling(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		g := b.runner.guest(pod.UID)
		b.close()
		if err := b.client.CoreV1().Pods("default").Delete(b.t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		b.open()
		pods, _ := b.p.GetPods(b.t.Context())
		if err := b.p.DeletePod(b.t.Context(), pods[0]); err != nil {
			t.Fatal(err)
		}
		b.after(2 * time.Second)
		if g.state.Status.Alive() || len(b.runner.removed) != 1 {
			t.Error("the VM is left")
		}
	})
}

// TestLeavingGoesOn has a provider that is killed while a VM is ended finish that later.
func TestLeavingGoesOn(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		b.runner.guest(pod.UID).deaf = true
		if err := b.p.DeletePod(b.t.Context(), leaving(pod, 60)); err != nil {
			t.Fatal(err)
		}
		b.after(10 * time.Second)
		b.close()
		b.open()
		b.after(49 * time.Second)
		if b.api(pod) == nil {
			t.Fatal("it is cut off too early")
		}
		b.after(2 * time.Second)
		b.is(pod, "gone")
	})
}

// TestUnrecordedStart has a provider die between the start of a VM and its word about it.
func TestUnrecordedStart(t *testing.T) {
	lie(t, func(b *bed) {
		b.runner.refuse = []refusal{{err: errHang}}
		pod := b.create(nil)
		b.after(time.Second)
		b.close()
		if _, _, err := b.runner.Start(b.t.Context(), Start{Pod: pod}); err != nil { // its call came through
			t.Fatal(err)
		}
		b.open()
		if err := b.p.CreatePod(b.t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		b.is(pod, "Running running not:Booting")
		if n := b.runner.count(); n != 2 {
			t.Errorf("%d starts, want the given up and the other", n)
		}
	})
}

// TestAlone refuses a second provider of the same pods, and records that cannot be read.
func TestAlone(t *testing.T) {
	lie(t, func(b *bed) {
		if _, err := New(b.t.Context(), b.p.options); !errors.Is(err, ErrInUse) {
			t.Errorf("a second provider: %v", err)
		}
	})
}

// TestNoSecondStart has the runner say that the VM runs already.
func TestNoSecondStart(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.pod(nil)
		if _, _, err := b.runner.Start(b.t.Context(), Start{Pod: pod}); err != nil {
			t.Fatal(err)
		}
		b.runner.guest(pod.UID).boots()
		if err := b.p.CreatePod(b.t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.is(pod, "Running running ready")
		if n := b.runner.count(); n != 1 {
			t.Errorf("%d starts", n)
		}
	})
}

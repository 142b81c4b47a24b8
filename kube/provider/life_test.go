package provider

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend/kubevirt"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/kube/launch"
	"github.com/vmseed/vmseed/report"
)

// policy sets the restart policy of a pod.
func policy(p corev1.RestartPolicy) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.RestartPolicy = p }
}

// TestLife follows a pod from its coming to a guest that is ready.
func TestLife(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		now := b.is(pod, "Running running not:Booting")
		if now.Status.PodIP != "10.1.2.3" || now.Status.HostIP != "192.0.2.7" || now.Status.ContainerStatuses[0].ImageID != "sha256:1" {
			t.Errorf("addresses and image: %+v", now.Status)
		}
		if condition(now, corev1.PodScheduled).Status != corev1.ConditionTrue || now.Status.QOSClass != corev1.PodQOSBurstable {
			t.Error("what others wrote into the status is lost")
		}
		b.runner.guest(pod.UID).boots()
		now = b.is(pod, "Running running ready")
		if c := condition(now, FirstBootCondition); c.Status != corev1.ConditionTrue || c.Reason != reasonDone {
			t.Errorf("first boot: %+v", c)
		}
		b.said("Normal FirstBootDone")
		since := condition(now, corev1.PodReady).LastTransitionTime
		b.after(time.Hour)
		if again := condition(b.api(pod), corev1.PodReady); !again.LastTransitionTime.Equal(&since) {
			t.Error("a condition that did not change has another time")
		}
		for _, a := range b.client.Actions() {
			if verb := a.GetVerb(); verb == "update" || verb == "list" || verb == "watch" {
				t.Errorf("the provider may not %s %s", verb, a.GetResource().Resource)
			}
		}
	})
}

// TestCosts counts what a guest that is soon up costs the API server: one status, and of a launcher pod no event.
func TestCosts(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(func(pod *corev1.Pod) { pod.Labels = map[string]string{launch.RoleLabel: launch.Role} })
		b.runner.guest(pod.UID).boots()
		b.is(pod, "Running running ready")
		patches := 0
		for _, a := range b.client.Actions() {
			if a.Matches("patch", "pods/status") {
				patches++
			}
		}
		if told := b.told(); patches != 1 || len(told) > 0 {
			t.Errorf("%d statuses and the events %q", patches, told)
		}
	})
}

// TestRecordHoldsNoSecret looks for the environment and the annotations of a pod in its record.
func TestRecordHoldsNoSecret(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(func(pod *corev1.Pod) { pod.Annotations["VirtletCloudInitUserData"] = "password: canary" })
		text, err := os.ReadFile(filepath.Join(b.dir, string(pod.UID)+".json"))
		if err != nil || strings.Contains(string(text), "canary") {
			t.Errorf("%v: the record is %s", err, text)
		}
	})
}

// TestFirstBootFails has first boots fail under the policies and wishes that decide what follows.
func TestFirstBootFails(t *testing.T) {
	wish := func(text string, p corev1.RestartPolicy) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Annotations[FailureAnnotation], pod.Spec.RestartPolicy = text, p }
	}
	launcher := func(pod *corev1.Pod) {
		pod.Labels, pod.Spec.RestartPolicy = map[string]string{"kubevirt.io": "virt-launcher"}, corev1.RestartPolicyNever
	}
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		want   string
	}{
		{"a service runs on", nil, "Running running not:FirstBootFailed"},
		{"a piece of work has failed", policy(corev1.RestartPolicyNever), "Failed reason=FirstBootFailed terminated=FirstBootFailed not:ContainersNotReady"},
		{"an instance of KubeVirt runs on", launcher, "Running running not:FirstBootFailed"},
		{"work that is to be looked at", wish("Keep", corev1.RestartPolicyNever), "Running running not:FirstBootFailed"},
		{"a service that is to be tried again", wish("Fail", corev1.RestartPolicyAlways), "Running running restarts=1 last=FirstBootFailed not:Booting"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lie(t, func(b *bed) {
				pod := b.create(c.change)
				b.runner.guest(pod.UID).boots("the module runcmd failed")
				b.after(2 * time.Second)
				now := b.is(pod, c.want)
				if n := b.runner.count(); n == 2 && (!b.runner.starts[1].Fresh || b.runner.starts[1].Booted) {
					t.Error("the next try begins with what the failed one left")
				}
				if !strings.HasPrefix(c.name, "a service that") && !strings.Contains(condition(now, FirstBootCondition).Message, "the module runcmd failed") {
					t.Errorf("the reason is not told: %+v", now.Status)
				}
				b.said("Warning FirstBootFailed the first boot failed: the module runcmd failed")
			})
		})
	}
}

// TestSilent waits for a guest that says nothing.
func TestSilent(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		b.after(DefaultFirstBootTimeout - time.Second)
		b.is(pod, "Running running not:Booting")
		b.after(2 * time.Second)
		now := b.is(pod, "Running running ready")
		if c := condition(now, FirstBootCondition); c.Status != corev1.ConditionUnknown {
			t.Errorf("first boot: %+v", c)
		}
		b.said("Warning NotReported")
	})
	lie(t, func(b *bed) {
		pod := b.create(func(pod *corev1.Pod) { pod.Annotations[TimeoutAnnotation] = "0s" })
		b.is(pod, "Running running ready")
	})
	lie(t, func(b *bed) {
		b.runner.silent = true
		b.is(b.create(nil), "Running running ready")
	})
}

// TestEnds has VMs end under the restart policies.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		policy corev1.RestartPolicy
		status supervisor.Status
		want   string
		code   int32
	}{
		{corev1.RestartPolicyNever, supervisor.Stopped, "Succeeded terminated=Completed not:PodCompleted", 0},
		{corev1.RestartPolicyNever, supervisor.Failed, "Failed reason=Error terminated=Error not:ContainersNotReady", 1},
		{corev1.RestartPolicyOnFailure, supervisor.Stopped, "Succeeded terminated=Completed not:PodCompleted", 0},
		{corev1.RestartPolicyOnFailure, supervisor.Failed, "Running running restarts=1 last=Error ready", 1},
		{corev1.RestartPolicyAlways, supervisor.Stopped, "Running running restarts=1 last=Completed ready", 0},
	} {
		t.Run(string(c.policy)+" "+string(c.status), func(t *testing.T) {
			lie(t, func(b *bed) {
				pod := b.create(policy(c.policy))
				g := b.runner.guest(pod.UID)
				g.boots()
				b.after(time.Second)
				g.ends(c.status, "QEMU said something")
				synctest.Wait()
				if next := b.runner.guest(pod.UID); next != g {
					if !b.runner.starts[1].Booted {
						t.Error("the first boot is made again")
					}
					b.after(DefaultFirstBootTimeout)
				}
				now := b.is(pod, c.want)
				s := now.Status.ContainerStatuses[0]
				end := s.State.Terminated
				if end == nil {
					end = s.LastTerminationState.Terminated
				}
				if end.ExitCode != c.code || end.Message != "QEMU said something" {
					t.Errorf("the end: %+v", end)
				}
			})
		})
	}
}

// TestBackoff counts the pauses before a VM that ends at once is started again.
func TestBackoff(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		for i, pause := range []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute} {
			b.runner.guest(pod.UID).ends(supervisor.Failed, "no")
			synctest.Wait()
			if pause > 0 {
				if s := b.api(pod).Status; s.ContainerStatuses[0].State.Waiting == nil || s.ContainerStatuses[0].State.Waiting.Reason != ReasonCrashLoop || s.Phase != corev1.PodRunning {
					t.Fatalf("after end %d: %+v", i+1, s)
				}
				b.after(pause - time.Second)
				if n := b.runner.count(); n != i+1 {
					t.Fatalf("%d starts before the pause of %v is over, want %d", n, pause, i+1)
				}
				b.after(time.Second)
			}
			if n := b.runner.count(); n != i+2 {
				t.Fatalf("%d starts after the pause of %v, want %d", n, pause, i+2)
			}
		}
		b.after(steady)
		b.runner.guest(pod.UID).ends(supervisor.Failed, "no")
		synctest.Wait()
		if n := b.runner.count(); n != 10 {
			t.Errorf("%d starts: a VM that ran for long is not started at once", n)
		}
	})
}

// TestMissing has a start fail for what may come to be.
func TestMissing(t *testing.T) {
	lie(t, func(b *bed) {
		missing := refusal{err: &WaitError{Reason: ReasonConfigError, Err: errors.New("Secret default/s: not found in the cluster")},
			list: diag.List{{Code: 2299, Severity: diag.Error, Summary: "the Secret is not there", Field: "spec.volumes[0]"}}}
		b.runner.refuse = []refusal{missing, missing, missing}
		pod := b.create(nil)
		now := b.is(pod, "Pending waiting=CreateContainerConfigError not:ContainersNotReady")
		if m := now.Status.ContainerStatuses[0].State.Waiting.Message; m != "Secret default/s: not found in the cluster" {
			t.Errorf("the message is %q", m)
		}
		b.after(time.Second + 2*time.Second + 4*time.Second)
		b.is(pod, "Running running not:Booting")
		n := 0
		for _, e := range b.told() {
			if strings.HasPrefix(e, "Warning VS2299 spec.volumes[0]: the Secret is not there") {
				n++
			} else if strings.HasPrefix(e, "Warning") {
				t.Errorf("the failure is told once more: %s", e)
			}
		}
		if n != 2 { // the first and the second time, not the third
			t.Errorf("the diagnostic was told %d times", n)
		}
	})
}

// TestMended has a new annotation end the waiting.
func TestMended(t *testing.T) {
	lie(t, func(b *bed) {
		b.runner.refuse = []refusal{{err: &WaitError{Reason: ReasonImagePull, Err: errors.New("no such host")}}}
		pod := b.create(nil)
		b.is(pod, "Pending waiting=ErrImagePull not:ContainersNotReady")
		pod = pod.DeepCopy()
		pod.Annotations["mended"] = "yes"
		if err := b.p.UpdatePod(b.t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		b.is(pod, "Running running not:Booting")
	})
}

// TestDefinition has a definition that no VM can be made of.
func TestDefinition(t *testing.T) {
	lie(t, func(b *bed) {
		b.runner.refuse = []refusal{{list: diag.List{{Code: 2298, Severity: diag.Warning, Summary: "a warning"},
			{Code: 2297, Severity: diag.Error, Summary: "two containers", Field: "spec.containers", Remedy: "leave one out"}}}}
		pod := b.create(nil)
		now := b.is(pod, "Failed reason=InvalidDefinition terminated=InvalidDefinition not:ContainersNotReady")
		if now.Status.Message != "VS2297: spec.containers: two containers; leave one out" {
			t.Errorf("the message is %q", now.Status.Message)
		}
		if all := b.told(); len(all) != 2 || !strings.HasPrefix(all[0], "Warning VS2298 a warning") || !strings.HasPrefix(all[1], "Warning VS2297 ") {
			t.Errorf("told: %q", all)
		}
		b.after(time.Hour)
		if b.runner.count() != 1 {
			t.Error("it was tried again")
		}
	})
}

// TestInstance tells the users of an instance what its launcher pod is warned of, but not what the controller told them.
func TestInstance(t *testing.T) {
	lie(t, func(b *bed) {
		b.runner.refuse = []refusal{{list: diag.List{{Code: 2298, Severity: diag.Note, Summary: "a note"},
			{Code: kubevirt.CodeMissingObject, Severity: diag.Warning, Summary: "a warning of the definition"},
			{Code: 2296, Severity: diag.Warning, Summary: "a warning of the host"},
			{Code: kubevirt.CodeMissingObject, Severity: diag.Error, Summary: "the Secret is not there"}},
			err: &WaitError{Reason: ReasonConfigError, Err: errors.New("no Secret")}}}
		controller := true
		pod := b.create(func(pod *corev1.Pod) {
			pod.Labels, pod.Spec.RestartPolicy = map[string]string{launch.RoleLabel: launch.Role}, corev1.RestartPolicyNever
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "kubevirt.io/v1", Kind: "VirtualMachineInstance", Name: "vmi", UID: "vmi-uid", Controller: &controller}}
		})
		b.after(time.Minute)
		b.is(pod, "Running running not:Booting")
		b.runner.guest(pod.UID).boots("the module runcmd failed")
		synctest.Wait()
		var instance []string
		for _, e := range b.told() {
			if text, ok := strings.CutSuffix(e, " involvedObject{kind=VirtualMachineInstance,apiVersion=kubevirt.io/v1}"); ok {
				instance = append(instance, text)
			}
		}
		want := []string{"Warning VS2296 a warning of the host", "Warning " + kubevirt.CodeMissingObject.String() + " the Secret is not there",
			"Warning FirstBootFailed the first boot failed: the module runcmd failed"}
		if !slices.Equal(instance, want) {
			t.Errorf("the users of the instance are told %q", instance)
		}
	})
}

// TestOtherRuntime refuses pods that are no VMs.
func TestOtherRuntime(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(func(pod *corev1.Pod) { pod.Annotations = nil })
		b.is(pod, "Failed reason=UnknownRuntime not:ContainersNotReady")
		if b.runner.count() != 0 {
			t.Error("it was started")
		}
		b.said("Warning UnknownRuntime")
	})
}

// TestDeadline ends a pod that is active for too long, be its guest there or not.
func TestDeadline(t *testing.T) {
	limit := int64(60)
	late := func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = &limit }
	lie(t, func(b *bed) {
		pod := b.create(late)
		b.after(59 * time.Second)
		b.is(pod, "Running running not:Booting")
		b.after(3 * time.Second)
		b.is(pod, "Failed reason=DeadlineExceeded terminated=DeadlineExceeded not:ContainersNotReady")
	})
	lie(t, func(b *bed) {
		b.runner.refuse = []refusal{{err: errHang}}
		pod := b.create(late)
		b.after(61 * time.Second)
		b.is(pod, "Failed reason=DeadlineExceeded terminated=DeadlineExceeded not:ContainersNotReady")
	})
}

// leaving is a pod that the API server was asked to delete.
func leaving(pod *corev1.Pod, grace int64) *corev1.Pod {
	pod, now := pod.DeepCopy(), metav1.Now()
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &now, &grace
	return pod
}

// TestVanished has the directory of a VM go away with its disks: the next start is a first one.
func TestVanished(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(nil)
		b.runner.guest(pod.UID).boots()
		b.is(pod, "Running running ready")
		b.close()
		delete(b.runner.guests, pod.UID)
		b.open()
		if err := b.p.CreatePod(t.Context(), b.api(pod)); err != nil {
			t.Fatal(err)
		}
		b.is(pod, "Running running restarts=1 last=Error not:Booting")
		if s := b.runner.starts[1]; s.Booted {
			t.Error("the first boot is left out")
		}
		if c := condition(b.api(pod), FirstBootCondition); c.Status != corev1.ConditionFalse {
			t.Errorf("the condition is %+v", c)
		}
	})
}

// TestProgress follows a first boot in the status of the pod, and counts what that costs.
func TestProgress(t *testing.T) {
	boot := func(b *bed, pod *corev1.Pod, minutes int) (patches int) {
		before := len(b.client.Actions())
		for i := range minutes * 60 {
			b.runner.guest(pod.UID).say(supervisor.Event{Report: &report.Event{Stage: report.Config, Module: fmt.Sprintf("module-%d", i), Time: time.Now()}})
			b.after(time.Second)
		}
		for _, a := range b.client.Actions()[before:] {
			if a.GetVerb() == "patch" {
				patches++
			}
		}
		return patches
	}
	lie(t, func(b *bed) {
		pod := b.create(nil)
		boot(b, pod, 1)
		b.after(DefaultFirstBootTimeout - 2*time.Second)
		b.is(pod, "Running running not:Booting")
		b.after(2 * time.Second)
		if c := condition(b.is(pod, "Running running ready"), FirstBootCondition); c.Status != corev1.ConditionUnknown || !strings.Contains(c.Message, "nothing more") {
			t.Errorf("a guest that fell silent: %+v", c)
		}
	})
	lie(t, func(b *bed) {
		pod := b.create(nil)
		b.runner.guest(pod.UID).say(supervisor.Event{Report: &report.Event{Stage: report.Init, Module: "disk_setup", Error: "the module disk_setup failed", Time: time.Now()}})
		b.after(progressFirst - time.Second)
		if now := b.api(pod); now.Status.Message != "" {
			t.Errorf("a boot of nine seconds is told: %s", now.Status.Message)
		}
		b.after(2 * time.Second)
		const want = "the first boot is at the stage init-network, module disk_setup; so far: the module disk_setup failed"
		now := b.api(pod)
		if c := condition(now, FirstBootCondition); c.Message != want || c.Reason != reasonBooting || now.Status.Message != want {
			t.Errorf("%+v\n%q", c, now.Status.Message)
		}
		if n := boot(b, pod, 15); n < 4 || n > 8 {
			t.Errorf("a boot of a quarter of an hour is told in %d patches", n)
		}
		b.close()
		b.open()
		if err := b.p.CreatePod(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		b.after(time.Minute)
		if now := b.api(pod); !strings.Contains(now.Status.Message, "module-899") {
			t.Errorf("the next process does not know: %q", now.Status.Message)
		}
		b.runner.guest(pod.UID).boots()
		now = b.is(pod, "Running running ready")
		if c := condition(now, FirstBootCondition); c.Message != "" || now.Status.Message != "" {
			t.Errorf("a boot that is over is told: %+v, %q", c, now.Status.Message)
		}
		if n := boot(b, pod, 1); n != 0 {
			t.Errorf("%d patches for a guest that is up", n)
		}
	})
}

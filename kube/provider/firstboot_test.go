package provider

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/report"
)

// reports passes on the guest's word on a boot.
func (g *simGuest) reports(r report.Result) {
	g.say(supervisor.Event{Report: &report.Event{Stage: report.Done, Time: time.Now(), Result: &r}})
}

// TestFailOn has guests warn of their first boot, under the thresholds of the node and of the pod.
func TestFailOn(t *testing.T) {
	wish := func(text string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Annotations[FailOnAnnotation], pod.Spec.RestartPolicy = text, corev1.RestartPolicyNever
		}
	}
	const ready, failed = "Running running ready", "Failed reason=FirstBootFailed terminated=FirstBootFailed not:ContainersNotReady"
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		node   report.FailOn
		want   string
	}{
		{"by default", policy(corev1.RestartPolicyNever), "", ready},
		{"a strict node", policy(corev1.RestartPolicyNever), report.FailOnWarning, failed},
		{"a strict pod", wish("warning"), "", failed},
		{"a pod that is stricter still", wish("deprecated"), "", failed},
		{"a lenient pod on a strict node", wish("error"), report.FailOnDeprecated, ready},
		{"a wish that says nothing", wish("often"), "", ready},
	} {
		t.Run(c.name, func(t *testing.T) {
			lie(t, func(b *bed) {
				if c.node != "" {
					b.p.options.FailOn = c.node
				}
				pod := b.create(c.change)
				b.runner.guest(pod.UID).reports(report.Result{FirstBoot: true, Warnings: []string{"the user cloudy is inactive"}})
				b.after(2 * time.Second)
				now := b.is(pod, c.want)
				if c.want == failed {
					b.said("Warning FirstBootFailed the first boot failed: the user cloudy is inactive")
					return
				}
				first := condition(now, FirstBootCondition)
				if first.Status != corev1.ConditionTrue || !strings.Contains(first.Message, "the user cloudy is inactive") {
					t.Errorf("the condition does not tell of the warning: %+v", first)
				}
				b.said("Warning FirstBootWarnings the first boot is done, with warnings: the user cloudy is inactive")
			})
		})
	}
}

// TestFailOnIsRemembered asks a node that has just come back, and has the pod from its record alone.
func TestFailOnIsRemembered(t *testing.T) {
	lie(t, func(b *bed) {
		pod := b.create(func(pod *corev1.Pod) { pod.Annotations[FailOnAnnotation] = "warning" })
		b.close()
		b.open()
		b.runner.guest(pod.UID).reports(report.Result{FirstBoot: true, Warnings: []string{"a warning"}})
		b.after(time.Second)
		if err := b.p.CreatePod(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		b.is(pod, "Running running not:FirstBootFailed")
	})
}

// TestLaterBoot has a guest whose first boot failed boot again, by itself and in a new run.
func TestLaterBoot(t *testing.T) {
	for name, again := range map[string]func(*bed, *corev1.Pod){
		"by itself": func(*bed, *corev1.Pod) {},
		"in a new run": func(b *bed, pod *corev1.Pod) {
			b.runner.guest(pod.UID).ends(supervisor.Stopped, "it shut down")
			b.after(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			lie(t, func(b *bed) {
				pod := b.create(nil)
				b.runner.guest(pod.UID).boots("the module runcmd failed")
				b.is(pod, "Running running not:FirstBootFailed")
				again(b, pod)
				b.runner.guest(pod.UID).reports(report.Result{Errors: []string{"still wrong"}})
				b.after(time.Second)
				if c := condition(b.api(pod), FirstBootCondition); c.Status != corev1.ConditionFalse {
					t.Fatalf("a later boot that is no better: %+v", c)
				}
				b.runner.guest(pod.UID).reports(report.Result{})
				b.after(time.Second)
				now := b.api(pod)
				first := condition(now, FirstBootCondition)
				if first.Status != corev1.ConditionTrue || !strings.Contains(first.Message, "the module runcmd failed") {
					t.Errorf("the condition after a good boot: %+v", first)
				}
				if ready := condition(now, corev1.PodReady); ready.Status != corev1.ConditionTrue {
					t.Errorf("the pod is not ready: %+v", ready)
				}
			})
		})
	}
}

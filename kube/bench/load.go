package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// The resources of KubeVirt.
func resource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: name}
}

const machine = `{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm%d", "namespace": "default"}, "spec": {
	"runStrategy": "Always", "template": {"metadata": {"labels": {"app": "bench"}}, "spec": {"domain": {"memory": {"guest": "1Gi"}, "cpu": {"cores": 1},
		"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}, {"name": "seed", "disk": {"bus": "virtio"}}],
			"interfaces": [{"name": "default", "masquerade": {}}]}},
		"networks": [{"name": "default", "pod": {}}],
		"volumes": [{"name": "root", "containerDisk": {"image": "quay.io/containerdisks/debian:13"}},
			{"name": "seed", "cloudInitNoCloud": {"userData": "#cloud-config\nhostname: vm%d\n"}}]}}}}`

// collected returns when the control plane's garbage collector knows the kinds, which takes it half a minute after they are
// defined. Until then it asks the API server for each owner that it has not seen, again and again.
func collected(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	vms := client.Resource(resource("virtualmachines")).Namespace("default")
	var vm unstructured.Unstructured
	if err := json.Unmarshal(fmt.Appendf(nil, machine, 0, 0), &vm.Object); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(vm.Object, "Halted", "spec", "runStrategy"); err != nil {
		return err
	}
	if _, err := vms.Create(ctx, &vm, metav1.CreateOptions{}); err != nil {
		return err
	}
	// Only the collector ends a deletion in the foreground.
	foreground := metav1.DeletePropagationForeground
	if err := vms.Delete(ctx, vm.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		switch _, err := vms.Get(ctx, vm.GetName(), metav1.GetOptions{}); {
		case apierrors.IsNotFound(err):
			return true, nil
		default:
			return false, err
		}
	})
}

// create creates the machines by several clients.
func create(ctx context.Context, config *rest.Config, o options) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, o.clients)
	for i := range o.clients {
		all.Go(func() {
			for n := int(next.Add(1)); n <= o.machines && errs[i] == nil; n = int(next.Add(1)) {
				var vm unstructured.Unstructured
				if errs[i] = json.Unmarshal(fmt.Appendf(nil, machine, n, n), &vm.Object); errs[i] == nil {
					_, errs[i] = client.Resource(resource("virtualmachines")).Namespace("default").Create(ctx, &vm, metav1.CreateOptions{})
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// progress follows the instances.
type progress struct {
	want  int
	mutex sync.Mutex
	// phases are those of the instances, by name.
	phases map[string]string
	change chan struct{}
}

// follow begins to follow the instances.
func follow(ctx context.Context, config *rest.Config, want int) (*progress, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	p := &progress{want: want, phases: map[string]string{}, change: make(chan struct{}, 1)}
	informer := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(resource("virtualmachineinstances")).Informer()
	see := func(object any) {
		vmi, ok := object.(*unstructured.Unstructured)
		if !ok {
			return
		}
		phase, _, _ := unstructured.NestedString(vmi.Object, "status", "phase")
		p.mutex.Lock()
		p.phases[vmi.GetName()] = phase
		p.mutex.Unlock()
		select {
		case p.change <- struct{}{}:
		default:
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, object any) { see(object) }}); err != nil {
		return nil, err
	}
	go informer.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, ctx.Err()
	}
	return p, nil
}

// count counts the instances by their phases.
func (p *progress) count() map[string]int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	out := map[string]int{}
	for _, phase := range p.phases {
		out[phase]++
	}
	return out
}

// await returns when all run, and tells on the way how far they are.
func (p *progress) await(ctx context.Context, start time.Time) error {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		count := p.count()
		if count["Running"] >= p.want {
			return nil
		}
		select {
		case <-p.change:
		case <-tick.C:
			fmt.Printf("%5.1f s: %v\n", time.Since(start).Seconds(), count)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tell says how far the instances have come.
func (p *progress) tell() error { return fmt.Errorf("of %d instances: %v", p.want, p.count()) }

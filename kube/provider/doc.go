// Package provider makes pods that are bound to a node VMs of that node's host, and tells the cluster how they are. It
// does a kubelet's part for them: statuses and conditions, restarts, probes, graceful termination, logs, exec, attach,
// port-forward and statistics. Virtual Kubelet calls it; a Runner starts the VMs.
//
//	pod ─CreatePod▶ provider ─Runner.Start▶ Guest ─Events▶ provider ─patch▶ status of the pod
//
// # What becomes of a pod
//
// A pod's VM is named for the pod's UID and there is never a second one. A record beside the VMs says how far each pod
// has come, so a node that starts again, or was killed, goes on with the VMs that run. The record holds no environment
// and no annotation of the user's, because those may be secrets.
//
// The container is waiting with the reason ContainerCreating while its VM is made, CreateContainerConfigError while an
// object that it names is missing or may not be read, ErrImagePull while an image cannot be had, and CreateContainerError
// when this host cannot start it now; all these are tried again. A definition that no VM can be made of fails the pod for
// good, with the reason InvalidDefinition.
//
// It runs from the moment that the guest's processors do. The pod is Ready when the guest has reported the end of its
// first boot, or has been silent for Options.FirstBootTimeout, and its readiness probe succeeds if it has one.
//
// While the first boot goes on, its stage and module are in the message of the pod and of its conditions, told after ten
// seconds and then at growing intervals, because each word costs the API server three writes.
//
// # When the first boot fails
//
// A first boot has failed when the guest told of an error. Warnings, as cloud-init has them of a user that it would not make, are told
// by an event and in the message of the condition vmseed.dev/FirstBoot, and the pod becomes Ready. Options.FailOn, and for one pod
// the annotation vmseed.dev/fail-on, make warnings or deprecations failures too. When the guest boots again after a failure and that
// boot goes well, the condition is True, with the failure in its message.
//
// The condition vmseed.dev/FirstBoot says why. What follows is the choice of the annotation vmseed.dev/first-boot-failure:
// with Fail, the guest is shut down and its container ends with exit code 1 and the reason FirstBootFailed, after which
// the restart policy decides as ever, and has it try again with fresh disks; with Keep, the guest runs on and the pod is not Ready, so that people can look at
// the console. Without the annotation, pods with the restart policy Never, which stand for one piece of work, Fail and all
// others Keep. Launcher pods of VirtualMachineInstances Keep, as KubeVirt's do.
//
// # A guest that stands still
//
// A user may pause a guest (PauseCommand): the pod is not Ready, with the reason PausedByUser, and no probe is asked until it
// goes on. One that QEMU has stopped, as when its disk has failed, has the reason Paused.
//
// # When a VM ends
//
// A guest that shuts down by itself has completed, with exit code 0. One whose QEMU died has failed with code 1, or 137
// when it was cut off. It is started again as the restart policy says, on the disks that it had, after a pause that doubles from
// 10 seconds to 5 minutes and is forgotten after 10 minutes of running. A restart of the guest's own is none of the
// container's.
//
// When the pod has ended for good, its network is given back at once, as a kubelet does it. Its log, and its disks, stay until the pod
// is deleted.
//
// # Addresses
//
// A pod has the addresses that CNI plugins gave it. A guest on a network of its own, behind its supervisor, has an address that nobody else
// can reach, so the pod has none in its status: Services have no endpoint then, rather than the ports of the host.
package provider

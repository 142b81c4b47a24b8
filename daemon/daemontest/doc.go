// Package daemontest gives tests a daemon whose VMs have a supervisor and no guest: QEMU and what would run in it are played by
// the test's own program. Rendering, delivery, storage and supervisors are the real ones.
package daemontest

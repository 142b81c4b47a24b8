// Package supervisor runs one VM. One supervisor process per VM is the parent of QEMU and owns the VM's networks, the
// forward to its SSH server, the serial console and the guest's reports. Everybody else is a client of it, through a
// socket in the VM's state directory, and may come and go.
//
// A foreground VM ends with its supervisor, and the supervisor with the process that started it. A detached VM outlives
// both: QEMU listens on the sockets of its monitor, console, report port and networks, so the next client's call starts
// a new supervisor, which takes the VM over. What a change of supervisor costs the guest: TCP connections that went
// through its networks break, and new ones wait until the new supervisor is there. Nothing the guest wrote to its console
// or reported is lost.
//
// A NIC may be plugged into a tap device of the host instead, in any network namespace. The supervisor opens it for QEMU, keeps
// the guest from metadata services of the host's network, and answers what the guest asks of the link itself: for its addresses,
// where the plan says so, and for its metadata service. QEMU keeps the device when the supervisor ends, and the device its filter.
//
// Credentials that the guest agent sets are in no file of the VM. A client hands them to the supervisor, which keeps them
// until the agent has taken them, and forgets them then. They end with a supervisor that ends before that; whoever wants
// them set hands them over again.
//
// For users of the package: Root is the directory of all VMs; Create makes a VM's directory, Open returns its Client,
// List finds those that there are, Sweep removes what crashed processes left. A Client starts, inspects, stops and removes
// its VM, follows its events, waits for its first boot and connects to its console.
package supervisor

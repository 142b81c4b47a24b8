// Package daemon keeps virtual machines over the life of a host: their definitions, the templates and disks they are made
// from, and what became of each run. It is the core of `vmseed serve` and knows no HTTP; the APIs are packages beside it.
//
// A Machine is stored as documents, of whichever form the engine reads. What is started is always what the engine makes of
// them, so a VM means the same here, in `vmseed run` and in `vmseed render`.
//
// Each running VM belongs to its supervisor process, of which the daemon is a client. The daemon may end at any instant:
// the VMs run on, every change that was acknowledged is in the store, and the next Open finds the VMs again, takes in what
// they said meanwhile, and finishes or takes back what was under way.
package daemon

package node

import corev1 "k8s.io/api/core/v1"

// Host says what the machine below the node is and how it fares.
type Host interface {
	// Facts are what does not change while the host is up.
	Facts() (Facts, error)
	// Measure is how the host fares now.
	Measure() (Measure, error)
}

// Facts are what a host is.
type Facts struct {
	// CPUs is the number of processors that this process may use.
	CPUs int64
	// Memory is the host's memory in bytes.
	Memory int64
	// Storage is the size in bytes of the file system that pods' disks are on.
	Storage int64
	// System goes into the Node's status.
	System corev1.NodeSystemInfo
}

// Measure is how a host fares at one moment.
type Measure struct {
	// CPUSeconds is the time that all processors together were busy since the host started.
	CPUSeconds float64
	// MemoryAvailable is what the kernel says can be given to programs without swapping, in bytes.
	MemoryAvailable int64
	// MemoryTotal is the host's memory in bytes.
	MemoryTotal int64
	// StorageFree and StorageTotal are of the file system that pods' disks are on, in bytes; InodesFree and Inodes likewise.
	StorageFree, StorageTotal int64
	InodesFree, Inodes        int64
	// Processes and ProcessLimit are what the kernel counts and allows.
	Processes, ProcessLimit int64
}

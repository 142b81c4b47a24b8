package podnet

// The names of the devices that this package makes in a pod's namespace; the number of the wire follows.
const (
	bridgePrefix = "vmseed-br"
	tapPrefix    = "vmseed-tap"
)

package server

// Server answers the requests of a kubelet's API.
type Server struct{}

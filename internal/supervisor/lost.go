package supervisor

// Lost reports whether a VM ended while nobody watched, as when its host went down, so that nobody knows how.
func (s State) Lost() bool { return s.Status == Stopped && s.Reason == errNotRunning.Error() }

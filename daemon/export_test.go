package daemon

import "time"

// SetRetry shortens the wait for a supervisor that does not come. It is called before VMs run.
func (d *Daemon) SetRetry(pause time.Duration) { d.retry = pause }

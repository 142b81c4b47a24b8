package daemon

import "time"

// SetRetry shortens the wait for a supervisor that does not come. It is called before VMs run.
func (d *Daemon) SetRetry(pause time.Duration) { d.retry = pause }

// CloseStore makes every later write fail.
func (d *Daemon) CloseStore() error { return d.store.Close() }

// FailWrite pretends that the last write failed.
func (d *Daemon) FailWrite() { d.unwritten.Store(true) }

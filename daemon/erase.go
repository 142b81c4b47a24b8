package daemon

import "time"

// scrubPause is how long what was erased may stay in the file of the store, where only who has the key can read it.
const scrubPause = time.Minute

// erase has the file of the store rewritten, after documents were erased.
func (d *Daemon) erase() {
	d.erased.Store(true)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// scrub rewrites the file of the store when something was erased, now and then. Close does what is left to do.
func (d *Daemon) scrub() {
	for {
		select {
		case <-d.wake:
		case <-d.ctx.Done():
			return
		}
		select {
		case <-time.After(scrubPause):
		case <-d.ctx.Done():
			return
		}
		d.erased.Store(false)
		if err := d.store.Scrub(); err != nil {
			d.log.Warn("what was erased is still in the file of the store", "error", err)
			d.erase()
		}
	}
}

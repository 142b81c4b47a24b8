package kubevirt

// legacyLayout reads a spec of the layout from before v1alpha2: disks hold their sources, and cloud-init hangs on a disk.
func (r *reader) legacyLayout() {}

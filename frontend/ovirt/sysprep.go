package ovirt

// sysprep reads what Windows is told at its first boot out of the initialization. It is called when the kind is Sysprep,
// after hardware and names.
func (r *reader) sysprep() { r.init.Consume() }

package datasource

import "github.com/vmseed/vmseed/machine"

// Chooser is the optional power of a data source that expresses other fields for one machine than for another, because
// what reads the seed differs.
type Chooser interface {
	// ExpressesFor lists the fields of m that reach its guest.
	ExpressesFor(m machine.Machine, o Options) machine.FieldSet
}

// Expresses lists the fields of m that reach its guest through a data source.
func Expresses(ds DataSource, m machine.Machine, o Options) machine.FieldSet {
	if c, ok := ds.(Chooser); ok {
		return c.ExpressesFor(m, o)
	}
	return ds.Expresses()
}

// Package all lists every front end that vmseed has.
package all

import (
	"slices"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/cniresult"
	"github.com/vmseed/vmseed/frontend/kubevirt"
	"github.com/vmseed/vmseed/frontend/libvirt"
	"github.com/vmseed/vmseed/frontend/native"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/frontend/plain"
	"github.com/vmseed/vmseed/frontend/virtlet"
	"github.com/vmseed/vmseed/internal/bounded"
)

// Frontends returns the front ends.
func Frontends() []frontend.Frontend {
	return []frontend.Frontend{
		native.New(),
		virtlet.Frontend{},
		kubevirt.Frontend{},
		ovirt.Frontend{},
		plain.New(),
	}
}

// Writers returns the forms that are written only.
func Writers() []frontend.FormWriter {
	return []frontend.FormWriter{libvirt.Form{}}
}

// Codes explains the diagnostics of the front ends and of the readers below them.
func Codes() []diag.Explanation {
	return slices.Concat(bounded.Codes(), tree.Codes(), element.Codes(), kubeobject.Codes(), native.Codes(), virtlet.Codes(), kubevirt.Codes(), ovirt.Codes(), libvirt.Codes(), plain.Codes(), ignconfig.Codes(), cniresult.Codes())
}

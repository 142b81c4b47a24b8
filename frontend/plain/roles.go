package plain

import "github.com/vmseed/vmseed/frontend"

// Roles lists the roles of the files that the front end reads.
func (Frontend) Roles() []frontend.Role {
	return []frontend.Role{frontend.UserData, frontend.MetaData, frontend.VendorData, frontend.NetworkConfig}
}

var (
	_ frontend.Frontend   = Frontend{}
	_ frontend.RoleReader = Frontend{}
)

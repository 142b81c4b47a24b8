package metadata

import "github.com/vmseed/vmseed/secret"

// RestorePassword gives the site the password that its guest posted before a restart, as Config.Password was told of it.
// One that it has already stays.
func (s *Site) RestorePassword(password secret.Text) {
	if !password.IsZero() {
		_, _ = s.setPassword([]byte(password.Reveal()), nil)
	}
}

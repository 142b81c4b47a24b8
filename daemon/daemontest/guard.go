package daemontest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vmseed/vmseed/daemon/auth"
)

// Password is that of auth.Admin in Users.
const Password = "correct horse"

// Users is a users file with auth.Admin alone, whose hash costs little.
const Users = auth.Admin + ":$pbkdf2-sha256$i=1000$MDEyMzQ1Njc4OWFiY2RlZg$cBg8D2DungRB9k76szThf5ehfyBz991ay6PT8Srwk4M\n"

// Guard returns a guard that lets in the users of a file, which holds Users.
func Guard(t testing.TB, o auth.Options) (guard *auth.Guard, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte(Users), 0o600); err != nil {
		t.Fatal(err)
	}
	users, err := auth.OpenUsers(file)
	if err != nil {
		t.Fatal(err)
	}
	if guard, err = auth.NewGuard(users, o); err != nil {
		t.Fatal(err)
	}
	return guard, file
}

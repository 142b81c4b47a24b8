package judge

import "testing"

// DefaultUser is the name of the default user of the distribution that Accounts
// stands for.
const DefaultUser = "judge-default"

// PublicKey is the key that the meta-data holds for Accounts.
const PublicKey = "ssh-ed25519 AAAA judge"

// AccountsResult is what cloud-init makes of the users and groups of a
// cloud-config.
type AccountsResult struct {
	// Users are descriptions by name, in cloud-init's own words.
	Users map[string]map[string]any
	// Groups are the members of each group.
	Groups map[string][]string
	// Passwords are those that the module set_passwords sets, Expired the users
	// who must choose another one.
	Passwords map[string]struct {
		Password string
		Hashed   bool
	}
	Expired []string
	// Keys are those that the module ssh adds to each user's own: PublicKey of the
	// meta-data and the keys of the cloud-config that are for no user in particular.
	Keys map[string][]struct {
		Key     string
		Options string // such as the command that sends root away
	}
}

// Accounts has the release normalize users and groups of cloud-configs and
// collect the passwords and keys that they set.
func (r *Release) Accounts(tb testing.TB, docs ...[]byte) []AccountsResult {
	tb.Helper()
	var answer []AccountsResult
	ask(tb, r.Root, "accounts", map[string]any{"docs": docs}, &answer)
	if len(answer) != len(docs) {
		tb.Fatalf("cloud-init %s judged %d of %d documents", r.Name, len(answer), len(docs))
	}
	return answer
}

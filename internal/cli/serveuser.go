package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/secret"
)

// serveUser manages who may use the daemon. The daemon may run meanwhile: it reads the file again when that changes.
func (a *app) serveUser() *cobra.Command {
	var stateDir string
	cmd := &cobra.Command{Use: "user", Short: "Say who may use the daemon", Args: cobra.ArbitraryArgs,
		Long: `User changes the file of users in the daemon's state directory, which holds names and
hashes of passwords. A running daemon takes the change up by itself. Passwords are
asked for on a terminal, or read as one line from standard input.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command serve user %q; see vmseed serve user --help", args[0])
			}
			return cmd.Help()
		}}
	users := func() (*auth.Users, error) {
		dir, err := serveDir(stateDir)
		if err != nil {
			return nil, err
		}
		users, err := auth.OpenUsers(filepath.Join(dir, usersFile))
		return users, hostTrouble(err)
	}
	one := func(use, short string, run func(u *auth.Users, name string) error) *cobra.Command {
		cmd := &cobra.Command{Use: use, Short: short,
			Args: func(cmd *cobra.Command, args []string) error {
				if len(args) != 1 {
					return usagef("%s takes the NAME of one user, such as alice@%s", cmd.CommandPath(), auth.DefaultProfile)
				}
				return nil
			},
			RunE: func(_ *cobra.Command, args []string) error {
				u, err := users()
				if err == nil {
					err = run(u, args[0])
				}
				if errors.Is(err, auth.ErrUserExists) || errors.Is(err, auth.ErrNoUser) {
					return usagef("%w", err)
				}
				return err
			}}
		serveDirFlag(cmd, &stateDir)
		return cmd
	}
	withPassword := func(set func(*auth.Users, string, secret.Text) error) func(*auth.Users, string) error {
		return func(u *auth.Users, name string) error {
			password, err := a.newPassword(auth.Canonical(name))
			if err != nil {
				return err
			}
			if err := auth.CheckPassword(password); err != nil {
				return usagef("%w", err)
			}
			return set(u, name, password)
		}
	}
	add := withPassword((*auth.Users).Add)
	remove := one("rm NAME", "Let a user in no more; the user's tokens end", inhabited(a.removeUser))
	remove.Aliases = []string{"remove", "delete"}
	list := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List the users", Args: noArguments, RunE: func(*cobra.Command, []string) error {
		u, err := users()
		if err != nil {
			return err
		}
		names, err := u.Names()
		if err != nil {
			return hostTrouble(err)
		}
		if len(names) == 0 {
			fmt.Fprintf(a.Err, "vmseed: %s has no users; %s\n", filepath.Dir(u.Path()), firstUser)
		}
		for _, name := range names {
			fmt.Fprintln(a.Out, name)
		}
		return nil
	}}
	serveDirFlag(list, &stateDir)
	cmd.AddCommand(one("add NAME", "Let a user in; a name without @ is of the profile "+auth.DefaultProfile, func(u *auth.Users, name string) error {
		if err := add(u, name); err != nil {
			return err
		}
		if dir := filepath.Dir(u.Path()); !kept(dir) {
			fmt.Fprintf(a.Err, "vmseed: no daemon has its state in %s yet; %s is in %s\n", dir, auth.Canonical(name), u.Path())
		}
		return nil
	}),
		one("passwd NAME", "Give a user another password; tokens got with the old one end", inhabited(withPassword((*auth.Users).SetPassword))), remove, list)
	return cmd
}

// firstUser is what becomes of a daemon without users.
const firstUser = "the next start of the daemon makes " + auth.Admin + " with a new password"

// nobody tells whether a file has no users.
func nobody(u *auth.Users) bool {
	names, err := u.Names()
	return err == nil && len(names) == 0
}

// inhabited makes f fail, before it asks or writes anything, where there are no users at all: the directory is the wrong one.
func inhabited(f func(*auth.Users, string) error) func(*auth.Users, string) error {
	return func(u *auth.Users, name string) error {
		if nobody(u) {
			return fmt.Errorf("%s: %w: %s has no users", auth.Canonical(name), auth.ErrNoUser, filepath.Dir(u.Path()))
		}
		return f(u, name)
	}
}

// removeUser says what it means when nobody is left.
func (a *app) removeUser(u *auth.Users, name string) error {
	if err := u.Remove(name); err != nil {
		return err
	}
	if nobody(u) {
		fmt.Fprintf(a.Err, "vmseed: %s has no users any more, so nobody can log in; %s\n", filepath.Dir(u.Path()), firstUser)
	}
	return nil
}

// kept tells whether a daemon has its state in a directory.
func kept(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "store.db"))
	return err == nil
}

// newPassword asks for a password twice on a terminal, and reads one line of any other input.
func (a *app) newPassword(name string) (secret.Text, error) {
	if f, ok := a.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		first, err := a.askPassword("Password of " + name + ": ")
		if err != nil {
			return secret.Text{}, err
		}
		second, err := a.askPassword("Again: ")
		if err == nil && first.Reveal() != second.Reveal() {
			err = usagef("the two passwords differ")
		}
		return first, err
	}
	text, err := bounded.ReadAll(a.In, 4096)
	if err != nil {
		return secret.Text{}, usagef("the password on standard input: %w", err)
	}
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	if len(bytes.TrimSpace(rest)) > 0 {
		return secret.Text{}, usagef("the password is one line of standard input, and there are more")
	}
	return secret.FromBytes(bytes.TrimSuffix(line, []byte("\r"))), nil
}

package qga

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Info is what an agent says of itself.
type Info struct {
	Version  string `json:"version"`
	Commands []struct {
		Name    string `json:"name"`
		Enabled bool   `json:"enabled"`
	} `json:"supported_commands"`
}

// Ping asks whether the agent is there.
func (c *Client) Ping(ctx context.Context) error { return c.Execute(ctx, "guest-ping", nil, nil) }

// Info asks the agent for its version and commands.
func (c *Client) Info(ctx context.Context) (Info, error) {
	var out Info
	err := c.Execute(ctx, "guest-info", nil, &out)
	out.Version = clean(out.Version)
	return out, err
}

// OS is a guest's operating system as its agent tells of it, mostly from /etc/os-release. What is not known is empty.
type OS struct {
	ID            string `json:"id,omitempty"`
	Name          string `json:"name,omitempty"`
	PrettyName    string `json:"pretty-name,omitempty"`
	Version       string `json:"version,omitempty"`
	VersionID     string `json:"version-id,omitempty"`
	KernelRelease string `json:"kernel-release,omitempty"`
	KernelVersion string `json:"kernel-version,omitempty"`
	Machine       string `json:"machine,omitempty"`
}

// OS asks the agent for the guest's operating system. Agents before version 2.10 do not tell.
func (c *Client) OS(ctx context.Context) (OS, error) {
	var out OS
	err := c.Execute(ctx, "guest-get-osinfo", nil, &out)
	for _, s := range []*string{&out.ID, &out.Name, &out.PrettyName, &out.Version, &out.VersionID, &out.KernelRelease, &out.KernelVersion, &out.Machine} {
		*s = clean(*s)
	}
	return out, err
}

// SetPassword sets the password of a user that the guest has. The password is in clear text; the guest hashes it.
func (c *Client) SetPassword(ctx context.Context, user, password string) error {
	if err := checkUser(user); err != nil {
		return err
	}
	err := c.Execute(ctx, "guest-set-user-password", map[string]any{
		"username": user, "password": base64.StdEncoding.EncodeToString([]byte(password)), "crypted": false}, nil)
	return hush(err, password)
}

// SetAuthorizedKeys makes keys the only ones in a user's ~/.ssh/authorized_keys. Agents before version 5.2 have no
// command for that, so there a shell in the guest writes the file as the user.
func (c *Client) SetAuthorizedKeys(ctx context.Context, user string, keys []string) error {
	if err := checkUser(user); err != nil {
		return err
	}
	for _, k := range keys {
		if strings.ContainsFunc(k, unicode.IsControl) {
			return errors.New("an SSH key is not one line of text")
		}
	}
	err := c.Execute(ctx, "guest-ssh-add-authorized-keys", map[string]any{"username": user, "keys": keys, "reset": true}, nil)
	if unknown(err) {
		var out Outcome
		out, err = c.Run(ctx, Program{Path: "/bin/sh", Args: []string{"-c", writeKeys, "sh", user}, Input: []byte(strings.Join(keys, "\n") + "\n")})
		if err == nil && (out.Code != 0 || out.Signal != 0) {
			err = fmt.Errorf("%w: exit status %d, signal %d", ErrExit, out.Code, out.Signal)
		}
	}
	return err
}

// writeKeys writes standard input to the authorized keys of the user that is its argument. It does so as that user, so
// that a link in their home leads root nowhere, and the owner is right.
const writeKeys = `exec su -s /bin/sh -c '
set -eu
umask 077
mkdir -p "$HOME/.ssh"
new=$(mktemp "$HOME/.ssh/.authorized_keys.XXXXXX")
cat >"$new"
mv -f "$new" "$HOME/.ssh/authorized_keys"
if command -v restorecon >/dev/null; then restorecon -R "$HOME/.ssh"; fi
' -- "$1"`

// checkUser refuses names that no guest has and that a program could take for something else.
func checkUser(name string) error {
	if name == "" || name[0] == '-' || strings.ContainsAny(name, ":/") || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == ' ' }) {
		return fmt.Errorf("%q is no name of a user", name)
	}
	return nil
}

// hush takes a secret out of a refusal: a guest may repeat what it was told.
func hush(err error, secret string) error {
	var e *Error
	if secret == "" || !errors.As(err, &e) {
		return err
	}
	for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), clean(secret)} {
		if form != "" && strings.Contains(e.Description, form) {
			e.Description = "it repeats the secret"
		}
	}
	return e
}

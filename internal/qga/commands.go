package qga

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
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
		err = c.run(ctx, strings.Join(keys, "\n")+"\n", "/bin/sh", "-c", writeKeys, "sh", user)
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

// Pauses between questions whether a program has ended. The agent does not tell by itself.
const (
	firstPause = 50 * time.Millisecond
	longPause  = time.Second
)

// run runs a program in the guest, as root, with text as its standard input.
func (c *Client) run(ctx context.Context, input, path string, args ...string) error {
	var started struct {
		PID int64 `json:"pid"`
	}
	err := c.Execute(ctx, "guest-exec", map[string]any{"path": path, "arg": args,
		"input-data": base64.StdEncoding.EncodeToString([]byte(input))}, &started)
	if err != nil {
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		var status struct {
			Exited bool `json:"exited"`
			Code   int  `json:"exitcode"`
			Signal int  `json:"signal"`
		}
		if err := c.Execute(ctx, "guest-exec-status", map[string]int64{"pid": started.PID}, &status); err != nil {
			return err
		}
		switch {
		case status.Exited && status.Code == 0 && status.Signal == 0:
			return nil
		case status.Exited:
			return fmt.Errorf("%w: exit status %d, signal %d", ErrExit, status.Code, status.Signal)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

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

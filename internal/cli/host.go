package cli

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/secret"
)

// The variables of the environment that say which daemon is meant, and who asks it.
const (
	envHost     = "VMSEED_HOST"
	envUser     = "VMSEED_USERNAME"
	envPassword = "VMSEED_PASSWORD"
	envToken    = "VMSEED_TOKEN"
	envCA       = "VMSEED_CA"
)

// hostFlags give a command the flags for a daemon's host.
func (a *app) hostFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.host, "host", "", "the daemon whose VMs are meant: https://HOST:PORT (default $"+envHost+"; empty is this host)")
	cmd.Flags().StringVar(&a.ca, "ca", "", "file with the certificate authority of the daemon (default $"+envCA+", then that of a daemon of this user)")
	_ = cmd.MarkFlagFilename("ca")
}

// remote is the daemon that flag or environment name. It is empty for this host.
func (a *app) remote() string {
	if a.hostGiven {
		return a.host
	}
	return os.Getenv(envHost)
}

// client connects to the daemon, with who is asking out of the environment.
func (a *app) client() (*client.Client, error) {
	o := client.Options{URL: a.remote(), CAFile: a.ca, Token: secret.New(os.Getenv(envToken)), Username: os.Getenv(envUser),
		Password: secret.New(os.Getenv(envPassword)), UserAgent: "vmseed"}
	if o.CAFile == "" {
		o.CAFile = os.Getenv(envCA)
	}
	if o.CAFile == "" {
		o.CAFile = ownCA(o.URL)
	}
	if o.Token.IsZero() && o.Username != "" && o.Password.IsZero() {
		var err error
		if o.Password, err = a.askPassword("Password of " + o.Username + ": "); err != nil {
			return nil, err
		}
	}
	if o.Token.IsZero() && (o.Username == "" || o.Password.IsZero()) {
		return nil, usagef("who asks %s? set $%s and $%s, or $%s", o.URL, envUser, envPassword, envToken)
	}
	c, err := client.New(o)
	var path *os.PathError
	if errors.As(err, &path) {
		return nil, &exitError{exitEnvironment, err}
	}
	if err != nil {
		return nil, usagef("%w", err)
	}
	return c, nil
}

// ownCA is the authority of a daemon that this user runs on this host, if there is one and that is the host which is
// meant.
func ownCA(host string) string {
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	u, err := url.Parse(host)
	if err != nil || !isLoopback(u.Hostname()) {
		return ""
	}
	dir, err := serveDir("")
	if err != nil {
		return ""
	}
	file := filepath.Join(dir, "pki", "ca.pem")
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// isLoopback reports whether a name or address is of this host alone.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || host == "localhost"
}

// loopbackListen reports whether HOST:PORT is reached from this host alone.
func loopbackListen(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && isLoopback(host)
}

// serveDir is the state directory of a daemon: the one that is given, or that of this user.
func serveDir(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	root, err := supervisor.Root()
	if err != nil {
		return "", &exitError{exitEnvironment, err}
	}
	return filepath.Join(filepath.Dir(root), "serve"), nil
}

// askPassword reads a password that nobody sees from the terminal. Without a terminal it is empty.
func (a *app) askPassword(prompt string) (secret.Text, error) {
	f, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return secret.Text{}, nil
	}
	fmt.Fprint(a.Err, prompt)
	text, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprint(a.Err, "\n")
	return secret.FromBytes(text), err
}

package cli

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/api"
	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/daemon/ovirtapi"
	"github.com/vmseed/vmseed/daemon/server"
	"github.com/vmseed/vmseed/daemon/web"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/secret"
)

// serveFlags are those of serve.
type serveFlags struct {
	listen, stateDir, images, cert, key, ca, logFormat string
	domains, names                                     []string
	plain                                              bool
	host                                               daemon.Host
	options                                            hypervisor.Options
	bootTimeout                                        time.Duration
	beside                                             besideFlags
}

func (a *app) serve() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Keep VMs on this host, and let oVirt's and vmseed's clients manage them", Args: noArguments,
		Long: `Serve keeps the definitions of VMs and runs them with QEMU. Open its URL in a browser
for a page that does everything. Clients of oVirt's REST API speak to it as well (the
SDKs for Python and Go, Ansible), and so do the commands of vmseed itself with --host.
It serves HTTPS with a certificate of its own, on this host alone unless --listen says
otherwise.

The first start makes a user admin@internal and prints the password once. On SIGTERM
the daemon stops serving and leaves its VMs running: the next one finds them again.`,
		Example: `  vmseed serve --images /var/lib/images
  vmseed serve --listen 0.0.0.0:8443 --tls-name vmhost.example.org --storage-domain fast=/mnt/nvme`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDaemon(cmd.Context(), &f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", server.DefaultListen, "address and port to listen on; port 0 is any that is free")
	fl.StringVar(&f.images, "images", "", "directory of the images to import, the storage domain "+daemon.ImageRepository+" (default images in the state directory)")
	fl.StringArrayVar(&f.domains, "storage-domain", nil, "a further storage domain for disks: NAME=DIR (repeatable)")
	fl.StringArrayVar(&f.host.Paths, "allow-host-path", nil, "let documents name disks, CDs and kernels in this directory of the host (repeatable)")
	fl.StringArrayVar(&f.host.Shares, "allow-share", nil, "let documents share this directory of the host with guests (repeatable)")
	fl.StringArrayVar(&f.host.Devices, "allow-host-device", nil, "let documents give guests the device of the host with this PCI address (repeatable)")
	fl.StringVar(&f.cert, "tls-cert", "", "certificate with its chain, instead of the one that serve makes")
	fl.StringVar(&f.key, "tls-key", "", "key of --tls-cert")
	fl.StringVar(&f.ca, "tls-ca", "", "authority of --tls-cert, handed to clients that ask for it")
	fl.StringArrayVar(&f.names, "tls-name", nil, "another name or address by which clients call this host (repeatable)")
	fl.BoolVar(&f.plain, "http", false, "serve plain HTTP, on this host alone")
	fl.StringVar(&f.options.Accel, "accel", "auto", "auto, kvm, hvf or tcg")
	fl.StringVar(&f.options.Net, "net", "stack", "network of the VMs: stack (in vmseed, IPv4), user (QEMU's, with IPv6) or none")
	fl.DurationVar(&f.bootTimeout, "boot-timeout", daemon.DefaultBootTimeout, "how long a guest may boot in silence before it is taken to be up")
	fl.StringVar(&f.logFormat, "log-format", "text", "how the log on standard error is written: text or json")
	fl.StringArrayVar(&f.beside.listen, "metadata-listen", nil, "serve the machines that do not run here their metadata, at this address and port (repeatable)")
	f.beside.guests.register(cmd, "metadata-")
	fl.StringVar(&f.beside.metrics, "metrics", "", "address and port for Prometheus, on which /metrics is served; without a host, on this host alone")
	serveDirFlag(cmd, &f.stateDir)
	for _, name := range []string{"tls-cert", "tls-key", "tls-ca"} {
		_ = cmd.MarkFlagFilename(name)
	}
	for _, name := range []string{"images", "allow-host-path", "allow-share"} {
		_ = cmd.MarkFlagDirname(name)
	}
	cmd.AddCommand(a.serveUser())
	return cmd
}

// serveDirFlag gives a command the flag for the daemon's state directory.
func serveDirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "state-dir", "", "where the daemon keeps everything (default $XDG_STATE_HOME/vmseed/serve)")
}

// check refuses flags that do not fit, and reads the storage domains.
func (f *serveFlags) check() (map[string]string, error) {
	switch {
	case !slices.Contains(accels(), f.options.Accel):
		return nil, usagef("--accel takes %s, not %q", strings.Join(accels(), ", "), f.options.Accel)
	case !slices.Contains(networks(), f.options.Net):
		return nil, usagef("--net takes %s, not %q", strings.Join(networks(), ", "), f.options.Net)
	case f.logFormat != "text" && f.logFormat != "json":
		return nil, usagef("--log-format takes text or json, not %q", f.logFormat)
	case f.bootTimeout <= 0:
		return nil, usagef("--boot-timeout takes a time such as 15m, not %s", f.bootTimeout)
	case (f.cert == "") != (f.key == ""):
		return nil, usagef("--tls-cert and --tls-key belong together")
	case f.ca != "" && f.cert == "":
		return nil, usagef("--tls-ca is the authority of --tls-cert, which is missing")
	case f.plain && f.cert != "":
		return nil, usagef("--http and --tls-cert exclude each other")
	}
	if err := checkListen("--listen", f.listen); err != nil {
		return nil, err
	}
	if f.plain && !loopbackListen(f.listen) {
		return nil, usagef("--http would send passwords in clear over the network; listen on 127.0.0.1 with it")
	}
	if err := f.beside.check(); err != nil {
		return nil, err
	}
	domains := map[string]string{}
	for _, d := range f.domains {
		name, dir, ok := strings.Cut(d, "=")
		if !ok || name == "" || dir == "" {
			return nil, usagef("--storage-domain takes NAME=DIR, not %q", d)
		}
		if _, twice := domains[name]; twice {
			return nil, usagef("--storage-domain: there are two called %q", name)
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		domains[name] = abs
	}
	return domains, nil
}

// log writes what an administrator wants to know to standard error.
func (a *app) log(format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(a.Err, nil))
	}
	return slog.New(slog.NewTextHandler(a.Err, nil))
}

// runDaemon serves until it is told to stop.
func (a *app) runDaemon(ctx context.Context, f *serveFlags) (err error) {
	domains, err := f.check()
	if err != nil {
		return err
	}
	dir, err := serveDir(f.stateDir)
	if err != nil {
		return err
	}
	images := f.images
	if images != "" {
		if images, err = filepath.Abs(images); err != nil {
			return err
		}
	}
	store, err := imageStore()
	if err != nil {
		return err
	}
	log := a.log(f.logFormat)
	d, err := daemon.Open(ctx, daemon.Options{Dir: dir, Engine: a.engine, Images: store, ImageDir: images, StorageDomains: domains,
		Host: f.host, Hypervisor: f.options, BootTimeout: f.bootTimeout, Log: log})
	if err != nil {
		return hostTrouble(err)
	}
	defer func() { err = errors.Join(err, hostTrouble(d.Close())) }()
	stop, err := a.serveBeside(ctx, d, &f.beside, dir, log)
	if err != nil {
		return hostTroubleUnlessUsage(err)
	}
	defer func() { err = errors.Join(err, hostTrouble(stop())) }()
	users, err := auth.OpenUsers(filepath.Join(dir, usersFile))
	if err != nil {
		return hostTrouble(err)
	}
	guard, err := auth.NewGuard(users, auth.Options{})
	if err != nil {
		return hostTrouble(err)
	}
	own := api.New(d, api.Options{Engine: a.engine, Guard: guard, Version: version()})
	pages, err := web.New(web.Options{API: own, Guard: guard, LastEvent: d.LastEvent, Explanations: a.explanations(), Plain: f.plain, Log: log})
	if err != nil {
		return err
	}
	s, err := server.New(ctx, server.Config{Listen: f.listen, Dir: filepath.Join(dir, "pki"), CertFile: f.cert, KeyFile: f.key, CAFile: f.ca,
		Plain: f.plain, Hosts: f.names, Guard: guard, Log: log, Healthy: d.Healthy,
		OVirt: ovirtapi.New(d, ovirtapi.Options{Version: version(), Log: log}), API: own, Pages: pages})
	if err != nil {
		return hostTrouble(err)
	}
	// The password is made when nothing can keep it from being shown any more.
	if err = users.Bootstrap(func(password secret.Text) error { return a.greet(s, f.userCommand(dir), password) }); err == nil {
		err = a.ready(s, dir)
	}
	if err != nil {
		return &exitError{exitEnvironment, errors.Join(err, s.Close())}
	}
	err = s.Serve(ctx)
	notify("STOPPING=1")
	a.farewell(d)
	return hostTrouble(err)
}

// usersFile is the file of users in the daemon's state directory.
const usersFile = "users"

// userCommand is the command line that gives the first user another password.
func (f *serveFlags) userCommand(dir string) string {
	line := "vmseed serve user passwd " + auth.Admin
	if f.stateDir != "" {
		line += " --state-dir " + shellWord(dir)
	}
	return line
}

// greet says at the first start of the daemon how to log in, and with which command the password is changed.
func (a *app) greet(s *server.Server, change string, password secret.Text) error {
	var b strings.Builder
	if file := s.CAFile(); file != "" {
		fmt.Fprintf(&b, "certificate authority: %s\n", file)
		if print := fingerprint(s.CA()); print != "" {
			fmt.Fprintf(&b, "its SHA-256 fingerprint: %s\n", print)
		}
	}
	fmt.Fprintf(&b, `first user: %s
password: %s
It is not shown again; %s changes it.

In a browser, open %s and log in.

In a shell that uses this daemon:

    export VMSEED_HOST=%s
`, auth.Admin, password.Reveal(), change, s.URL(), s.URL())
	if file := s.CAFile(); file != "" {
		fmt.Fprintf(&b, "    export VMSEED_CA=%s\n", shellWord(file))
	}
	fmt.Fprintf(&b, `    export VMSEED_USERNAME=%s
    export VMSEED_PASSWORD=%s

Clients of oVirt take the URL %s/ovirt-engine/api, the same user, password and authority.

`, auth.Admin, password.Reveal(), s.URL())
	if _, err := io.WriteString(a.Out, b.String()); err != nil {
		return fmt.Errorf("the password of the first user cannot be shown: %w", err)
	}
	return nil
}

// ready says that the daemon serves, and where.
func (a *app) ready(s *server.Server, dir string) error {
	_, err := fmt.Fprintf(a.Out, "vmseed serves %s, with its state in %s\n", s.URL(), dir)
	notify("READY=1")
	return err
}

// fingerprint is the SHA-256 of a certificate, as other programs show it.
func fingerprint(text []byte) string {
	block, _ := pem.Decode(text)
	if block == nil {
		return ""
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return ""
	}
	sum := sha256.Sum256(block.Bytes)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// farewell says which VMs run on without the daemon.
func (a *app) farewell(d *daemon.Daemon) {
	var running []string
	for _, m := range d.List() {
		if m.Status.Running() {
			running = append(running, m.Namespace+"/"+m.Name)
		}
	}
	switch len(running) {
	case 0:
		fmt.Fprintln(a.Out, "stopped; no VM runs")
	default:
		fmt.Fprintf(a.Out, "stopped; %s on: %s\n", map[bool]string{true: "one VM runs", false: "these VMs run"}[len(running) == 1], strings.Join(running, ", "))
	}
}

// notify tells systemd how far the daemon is (sd_notify(3)), where that has started it.
func notify(state string) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return
	}
	if strings.HasPrefix(name, "@") {
		name = "\x00" + name[1:]
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state))
}

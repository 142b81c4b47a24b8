package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/internal/ovirtclient"
	"github.com/vmseed/vmseed/secret"
)

// maxArchived is how many files of an OVA are looked at for the description of its VM, which ought to be the first.
const maxArchived = 1000

// definition reads a FILE of the command line: a file, standard input, an OVA or a virtual machine of an engine of oVirt. It
// also returns the name for messages.
func (a *app) definition(ctx context.Context, file string) (data []byte, name string, err error) {
	switch {
	case isAddress(file):
		return a.fromEngine(ctx, file)
	case file == "-":
		name = "<stdin>"
	case isArchive(file, noCompression):
		return fromArchive(file)
	case isArchive(file, gunzip):
		return nil, "", compressed(file)
	default:
		name = file
	}
	if data, err = a.readFile(file); err != nil {
		return nil, "", err
	}
	if hasTarMagic(data) {
		return description(name, bytes.NewReader(data))
	}
	if startsArchive(gunzip(bytes.NewReader(data))) {
		return nil, "", compressed(name)
	}
	return data, name, nil
}

// isAddress reports whether a FILE is a virtual machine of an engine.
func isAddress(file string) bool { return strings.HasPrefix(file, ovirtclient.Scheme+"://") }

// fromEngine fetches a virtual machine. Who asks comes from the environment, in the variables of oVirt's Ansible modules.
func (a *app) fromEngine(ctx context.Context, address string) ([]byte, string, error) {
	target, err := ovirtclient.ParseTarget(address)
	if err != nil {
		return nil, "", usagef("%w", err)
	}
	o := ovirtclient.Options{User: os.Getenv("OVIRT_USERNAME"), Password: secret.New(os.Getenv("OVIRT_PASSWORD")), Token: secret.New(os.Getenv("OVIRT_TOKEN"))}
	if text := os.Getenv("OVIRT_INSECURE"); text != "" {
		if o.Insecure, err = strconv.ParseBool(strings.ToLower(text)); err != nil {
			return nil, "", usagef("OVIRT_INSECURE is true or false, not %q", text)
		}
	}
	if file := os.Getenv("OVIRT_CAFILE"); file != "" {
		if o.CA, err = bounded.ReadFile(file, 1<<20); err != nil {
			return nil, "", fmt.Errorf("OVIRT_CAFILE: %w", err)
		}
	}
	if o.Insecure {
		fmt.Fprintf(a.Err, "vmseed: OVIRT_INSECURE: whoever stands between here and %s can read the password\n", target.Host)
	}
	document, err := ovirtclient.Fetch(ctx, target, o)
	if err != nil {
		return nil, "", &exitError{exitEnvironment, err}
	}
	return []byte(document.Text.Reveal()), document.Name, nil
}

// tarMagic stands in the header of every file of a tar archive.
const (
	tarMagic   = "ustar"
	tarMagicAt = 257
	tarBlock   = 512
)

func hasTarMagic(head []byte) bool {
	return len(head) >= tarBlock && string(head[tarMagicAt:tarMagicAt+len(tarMagic)]) == tarMagic
}

func noCompression(r io.Reader) io.Reader { return r }

// gunzip unpacks gzip data; of other data it gives nothing.
func gunzip(r io.Reader) io.Reader {
	z, err := gzip.NewReader(r)
	if err != nil {
		return bytes.NewReader(nil)
	}
	return z
}

// isArchive reports whether a file, unpacked, is an OVA, which is a tar archive and as large as the disks in it.
func isArchive(file string, unpack func(io.Reader) io.Reader) bool {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return false // what is wrong with the file is said when it is read
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	return startsArchive(unpack(f))
}

func startsArchive(r io.Reader) bool {
	head := make([]byte, tarBlock)
	n, _ := io.ReadFull(r, head)
	return hasTarMagic(head[:n])
}

func compressed(name string) error {
	return &exitError{exitInput, fmt.Errorf("%s: this is a compressed archive; unpack it first, with gunzip or tar -xzf", name)}
}

func fromArchive(file string) ([]byte, string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	return description(file, f)
}

// description returns the OVF out of an OVA, which has one (DSP0243, section 5.1). The disks are passed over: where r can seek
// they are not even read.
func description(name string, r io.Reader) ([]byte, string, error) {
	broken := func(format string, args ...any) error {
		return &exitError{exitInput, fmt.Errorf("%s: "+format, append([]any{name}, args...)...)}
	}
	var data []byte
	found := ""
	archive := tar.NewReader(r)
	for range maxArchived {
		h, err := archive.Next()
		var system *fs.PathError
		switch {
		case errors.As(err, &system):
			return nil, "", err
		case err != nil && found != "":
			return data, name + "/" + found, nil // what is wrong with the disks is for the one who copies them
		case errors.Is(err, io.EOF):
			return nil, "", broken("the archive holds no file *.ovf, so it is no OVA")
		case err != nil:
			return nil, "", broken("the archive is broken: %w", err)
		case h.Typeflag != tar.TypeReg || !strings.EqualFold(path.Ext(h.Name), ".ovf"):
			continue
		case found != "":
			return nil, "", broken("the archive holds several descriptions, %s and %s; take one out (tar -xf) and name that file", found, path.Base(h.Name))
		}
		found = path.Base(h.Name)
		if data, err = bounded.ReadAll(archive, maxInput); err != nil {
			return nil, "", broken("%s, which describes the VM, is cut off or too large: %w", found, err)
		}
	}
	if found != "" {
		return data, name + "/" + found, nil
	}
	return nil, "", broken("none of the first %d files of the archive is a *.ovf, so it is no OVA", maxArchived)
}

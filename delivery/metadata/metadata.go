// Package metadata delivers seeds whose guests fetch them by HTTP, and is the server that they fetch them from: the
// metadata service of EC2 (with the sessions of IMDSv2), of OpenStack, and directories for NoCloud and Ignition.
//
// The delivery writes a seed's trees into one file. Load makes a Site of it, a Handler answers requests for Sites, and
// Serve runs a Handler on a listener:
//
//	site, err := metadata.Load("seed.metadata")
//	h := metadata.NewHandler(metadata.Config{Identify: metadata.Only(site)})
//	err = metadata.Serve(ctx, listener, h)
//
// What is answered was rendered before: the server knows paths and bytes, and who asks. Who asks is known by the
// listener, by the source address, by a proxy's signature or by a signed path; no other header has a say in it.
package metadata

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/seed"
)

// DefaultBase is the URL at which guests of EC2 and of OpenStack look for their metadata service.
const DefaultBase = "http://169.254.169.254/"

var (
	// ErrNoTree is wrapped when a seed has nothing to serve: its guest reads volumes or the firmware.
	ErrNoTree = errors.New("the seed has no tree, because its guest does not read it by HTTP")
	// ErrBase is wrapped for a base URL that guests could not use.
	ErrBase = errors.New("bad URL of the metadata service")
)

// Metadata delivers and reads files of trees.
type Metadata struct{}

// New returns the delivery.
func New() Metadata { return Metadata{} }

// Name returns "metadata".
func (Metadata) Name() string { return "metadata" }

// Deliver writes the trees into one file of mode 0600. The receipt names it as an endpoint together with the URL at
// which the guest must find a server of it, and hands the SMBIOS strings and kernel arguments on with that URL in them.
func (d Metadata) Deliver(ctx context.Context, s seed.Seed, t delivery.Target) (delivery.Receipt, error) {
	receipt := delivery.Receipt{Delivery: d.Name()}
	base, err := baseURL(t.Base)
	if err == nil {
		err = errors.Join(checkParts(s), checkTrees(s.Trees))
	}
	if err != nil {
		return receipt, fmt.Errorf("metadata: %w", err)
	}
	s = withBase(s, base)
	content, err := encode(s, base)
	if err != nil {
		return receipt, fmt.Errorf("metadata: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return receipt, err
	}
	if t.Writer != nil {
		_, err := t.Writer.Write(content)
		return receipt, err
	}
	path := t.FilePath(s.Machine, "", d.Name())
	_, statErr := os.Lstat(path)
	if err := atomicfile.WriteBytes(path, content); err != nil {
		return receipt, err
	}
	if errors.Is(statErr, fs.ErrNotExist) {
		receipt.Paths = []string{path}
	}
	receipt.Attachments = []seed.Attachment{{Kind: seed.Endpoint, Path: path, Value: base}}
	for _, row := range s.Firmware.SMBIOS {
		receipt.Attachments = append(receipt.Attachments, seed.Attachment{Kind: seed.SMBIOSRow, Type: row.Type, Field: row.Field, Value: row.Value})
	}
	receipt.Attachments = append(receipt.Attachments, delivery.KernelArgs(s)...)
	return receipt, nil
}

// Remove deletes the file that Deliver made.
func (Metadata) Remove(_ context.Context, r delivery.Receipt) error { return delivery.RemoveFiles(r) }

// Open reads back what Deliver wrote, with the URL in the place of {{base}}.
func (Metadata) Open(path string) (seed.Seed, error) {
	f, err := read(path)
	if err != nil {
		return seed.Seed{}, err
	}
	return f.seed(), nil
}

// checkParts refuses a seed without trees, or with parts that do not go by HTTP.
func checkParts(s seed.Seed) error {
	switch {
	case len(s.Trees) == 0:
		return ErrNoTree
	case len(s.Volumes) > 0:
		return fmt.Errorf("%w: it has a volume labelled %q", delivery.ErrPart, s.Volumes[0].Label)
	case len(s.Firmware.FwCfg) > 0:
		return fmt.Errorf("%w: it has an item for the firmware configuration device", delivery.ErrPart)
	case len(s.Firmware.Credentials) > 0:
		return fmt.Errorf("%w: it has credentials for the firmware", delivery.ErrPart)
	}
	return nil
}

// CheckBase returns an error that wraps ErrBase for a URL below which guests could not find their trees.
func CheckBase(url string) error {
	_, err := baseURL(url)
	return err
}

// baseURL checks a URL. It ends up in kernel arguments and in NoCloud's line, where blanks and semicolons separate.
func baseURL(text string) (string, error) {
	if text == "" {
		return DefaultBase, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery ||
		u.Fragment != "" || !strings.HasSuffix(text, "/") || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`;,"'\`, r) }) {
		return "", fmt.Errorf("%w %q: write http://HOST[:PORT]/, with a slash at its end and without user, query or fragment", ErrBase, text)
	}
	return text, nil
}

// withBase puts the URL into strings and kernel arguments.
func withBase(s seed.Seed, base string) seed.Seed {
	s.Firmware.SMBIOS, s.KernelArgs = slices.Clone(s.Firmware.SMBIOS), slices.Clone(s.KernelArgs)
	for i := range s.Firmware.SMBIOS {
		s.Firmware.SMBIOS[i].Value = strings.ReplaceAll(s.Firmware.SMBIOS[i].Value, seed.Base, base)
	}
	for i := range s.KernelArgs {
		s.KernelArgs[i] = strings.ReplaceAll(s.KernelArgs[i], seed.Base, base)
	}
	return s
}

var (
	_ delivery.Delivery  = Metadata{}
	_ delivery.Inspector = Metadata{}
)

// Package firmware delivers what a guest reads before it has a driver for anything: files of QEMU's firmware
// configuration device, strings of the SMBIOS tables, and an Ignition config as a block device or as a plain file. The
// credentials of systemd go either of the first two ways, within the limits of each.
package firmware

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Serial is the serial number of the block device that Ignition's platform qemu reads on architectures without a
// firmware configuration device (Ignition, internal/providers/qemu).
const Serial = "ignition"

// ErrNoConfig is wrapped when a seed has no Ignition config.
var ErrNoConfig = errors.New("the seed has no Ignition config")

// sector is what a block device's size is a multiple of. Ignition drops the NUL bytes behind its config.
const sector = 512

// maxConfig is the largest file that is read back as an Ignition config.
const maxConfig = 64 << 20

// maxItemName is the longest name of a firmware configuration item with its NUL (QEMU, docs/specs/fw_cfg.rst).
const maxItemName = 56

// form is one of the ways.
type form string

// Firmware delivers and reads one form.
type Firmware struct{ form form }

// FwCfg returns the delivery by files of QEMU's firmware configuration device.
func FwCfg() Firmware { return Firmware{"fw_cfg"} }

// VirtioBlk returns the delivery of an Ignition config by a block device.
func VirtioBlk() Firmware { return Firmware{"virtio-blk"} }

// Ign returns the delivery of an Ignition config as a file, for whatever takes one: coreos-installer, libvirt, a web
// server.
func Ign() Firmware { return Firmware{"ign"} }

// Name returns "fw_cfg", "virtio-blk" or "ign".
func (f Firmware) Name() string { return string(f.form) }

// blob is a file that is written, and how it is attached.
type blob struct {
	name    string // what tells it from the first of its seed
	content []byte
	attach  seed.Attachment
}

// Deliver writes a file for each item. The first has the target's path; further ones stand beside it as
// <namespace>_<name>.<number>.<form>. Files are 0600.
func (f Firmware) Deliver(ctx context.Context, s seed.Seed, t delivery.Target) (delivery.Receipt, error) {
	receipt := delivery.Receipt{Delivery: f.Name()}
	blobs, err := f.blobs(s)
	if err != nil {
		return receipt, fmt.Errorf("%s: %w", f.form, err)
	}
	if t.Writer != nil {
		if len(blobs) != 1 {
			return receipt, fmt.Errorf("%s: %w", f.form, delivery.ErrNeedsFile)
		}
		_, err := t.Writer.Write(blobs[0].content)
		return receipt, err
	}
	for _, b := range blobs {
		if err := ctx.Err(); err != nil {
			return delivery.Receipt{}, errors.Join(err, f.Remove(ctx, receipt))
		}
		path := t.FilePath(s.Machine, b.name, f.Name())
		_, statErr := os.Lstat(path)
		if err := atomicfile.WriteBytes(path, b.content); err != nil {
			return delivery.Receipt{}, errors.Join(err, f.Remove(ctx, receipt))
		}
		if errors.Is(statErr, fs.ErrNotExist) {
			receipt.Paths = append(receipt.Paths, path)
		}
		if b.attach.Kind != "" {
			b.attach.Path = path
			receipt.Attachments = append(receipt.Attachments, b.attach)
		}
	}
	for _, row := range s.Firmware.SMBIOS {
		receipt.Attachments = append(receipt.Attachments, seed.Attachment{Kind: seed.SMBIOSRow, Type: row.Type, Field: row.Field, Value: row.Value})
	}
	receipt.Attachments = append(receipt.Attachments, delivery.KernelArgs(s)...)
	return receipt, nil
}

// blobs are the files of a seed in this form.
func (f Firmware) blobs(s seed.Seed) ([]blob, error) {
	if err := delivery.CheckTrees(s); err != nil {
		return nil, err
	}
	if f.form == "ign" {
		return ignition(s)
	}
	if s.Firmware.IsZero() {
		return nil, delivery.ErrNoFirmware
	}
	if len(s.Volumes) > 0 {
		return nil, fmt.Errorf("%w: it has a volume labelled %q", delivery.ErrPart, s.Volumes[0].Label)
	}
	var out []blob
	taken := map[string]bool{}
	for i, item := range s.Firmware.FwCfg {
		if err := checkItem(item.Name); err != nil {
			return nil, err
		}
		if taken[item.Name] {
			return nil, fmt.Errorf("%w: the firmware configuration item %q is there twice", delivery.ErrName, item.Name)
		}
		taken[item.Name] = true
		b := blob{content: []byte(item.Content.Reveal()), attach: seed.Attachment{Kind: seed.FwCfgFile, Name: item.Name}}
		if i > 0 {
			b.name = fmt.Sprint(i)
		}
		if f.form == "virtio-blk" {
			if i > 0 || item.Name != seed.IgnitionItem && item.Name != seed.FlatcarItem {
				return nil, fmt.Errorf("%w: only Ignition reads the block device, and %q is not its item", delivery.ErrPart, item.Name)
			}
			b.content = pad(b.content)
			b.attach = seed.Attachment{Kind: seed.Drive, Serial: Serial, Bus: "virtio"}
		}
		out = append(out, b)
	}
	if f.form == "virtio-blk" && len(s.Firmware.Credentials) > 0 {
		return nil, fmt.Errorf("%w: only Ignition reads the block device, and no systemd its credentials", delivery.ErrPart)
	}
	more, err := f.credentials(s)
	for _, b := range more {
		if n := len(out); n > 0 {
			b.name = fmt.Sprint(n)
		}
		out = append(out, b)
	}
	return out, err
}

// ignition is the Ignition config of a seed, wherever in it that is. The rest of a volume that holds it is left out, which
// is what this form is for; a volume beside it would be lost.
func ignition(s seed.Seed) ([]blob, error) {
	config, item, ok := s.Ignition()
	if !ok {
		return nil, ErrNoConfig
	}
	if n := len(s.Firmware.FwCfg); n > 1 || n == 1 && item != s.Firmware.FwCfg[0].Name || len(s.Firmware.SMBIOS)+len(s.Firmware.Credentials) > 0 {
		return nil, fmt.Errorf("%w: beside the Ignition config it has other things for the firmware", delivery.ErrPart)
	} else if n == 1 && len(s.Volumes) > 0 {
		return nil, fmt.Errorf("%w: beside the Ignition config it has a volume labelled %q", delivery.ErrPart, s.Volumes[0].Label)
	}
	return []blob{{content: []byte(config.Reveal())}}, nil
}

// checkItem refuses names that QEMU does not take or that lead elsewhere in the guest's /sys.
func checkItem(name string) error {
	bad := func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }
	if len(name) >= maxItemName || strings.ContainsFunc(name, bad) || !fs.ValidPath(name) || name == "." || !strings.HasPrefix(name, "opt/") {
		return fmt.Errorf("%w: %q is no name of a firmware configuration item of a user, which begins with opt/ and has at most %d characters",
			delivery.ErrName, name, maxItemName-1)
	}
	return nil
}

// pad fills the last sector with NUL bytes.
func pad(content []byte) []byte {
	return append(slices.Clone(content), make([]byte, (sector-len(content)%sector)%sector)...)
}

// Remove deletes the files that Deliver made.
func (Firmware) Remove(_ context.Context, r delivery.Receipt) error {
	return delivery.RemoveFiles(r)
}

// Open reads a file or block device back that holds an Ignition config as a guest gets it: of version 3, since older ones
// are definitions that have yet to be translated. Which firmware configuration item it is for, the file does not tell.
func (f Firmware) Open(path string) (seed.Seed, error) {
	file, err := os.Open(path)
	if err != nil {
		return seed.Seed{}, err
	}
	defer file.Close()
	r := bufio.NewReader(io.LimitReader(file, maxConfig+1))
	// A disk is not read to its end to see that it is none.
	head, err := r.Peek(r.Size())
	credential := f.form == "smbios" && bytes.HasPrefix(head, []byte(stringPrefix))
	if !credential && !bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
		return seed.Seed{}, fmt.Errorf("%s: %w: no JSON", path, delivery.ErrNotSeed)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return seed.Seed{}, err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return seed.Seed{}, err
	}
	if len(data) > maxConfig {
		return seed.Seed{}, fmt.Errorf("%s: %w: more than %d bytes", path, delivery.ErrNotSeed, maxConfig)
	}
	if credential {
		s, ok := readCredential(string(data))
		if !ok {
			return s, fmt.Errorf("%s: %w: no credential of systemd", path, delivery.ErrNotSeed)
		}
		return s, nil
	}
	config := secret.FromBytes(bytes.TrimRight(data, "\x00"))
	if !strings.HasPrefix(seed.IgnitionVersion(config), "3.") {
		return seed.Seed{}, fmt.Errorf("%s: %w: no Ignition config of version 3", path, delivery.ErrNotSeed)
	}
	return seed.Seed{DataSource: "ignition", Firmware: seed.Firmware{FwCfg: []seed.FwCfg{{Content: config}}}}, nil
}

var (
	_ delivery.Delivery  = Firmware{}
	_ delivery.Inspector = Firmware{}
)

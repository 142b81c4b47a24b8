package mask

import (
	"fmt"
	"unicode/utf8"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// maxFile is how much of a file is shown, in bytes.
const maxFile = 4 << 20

// View shows the seeds of a machine.
type View struct {
	// Secrets are those of the machine.
	Secrets Secrets
	// Reveal leaves what is secret.
	Reveal bool
	// Room is how many bytes of files may be shown; it shrinks with each.
	Room int
}

// Seed shows a seed.
func (v *View) Seed(s seed.Seed) client.Seed {
	out := client.Seed{Namespace: s.Machine.Namespace, Name: s.Machine.Name, DataSource: s.DataSource, InstanceID: s.Identity.InstanceID,
		UUID: s.Identity.UUID, Hostname: s.Identity.Hostname, Seal: s.Seal}
	for _, x := range s.Volumes {
		volume := client.Volume{Name: x.Name, Label: x.Label, Format: x.Format, Image: x.Path, Files: []client.File{}}
		for _, f := range x.Files {
			volume.Files = append(volume.Files, v.file(f.Path, fmt.Sprintf("%04o", orDefault(f.Mode)), f.Content))
		}
		out.Volumes = append(out.Volumes, volume)
	}
	for _, t := range s.Trees {
		tree := client.Tree{Name: t.Name, Roots: t.Roots, Tokens: string(t.Tokens), HopLimit: t.HopLimit, Files: []client.File{}}
		for _, b := range t.Blobs {
			f := v.file(b.Path, "", b.Content)
			f.ContentType, f.Sealable = b.ContentType, b.Sealable
			tree.Files = append(tree.Files, f)
		}
		out.Trees = append(out.Trees, tree)
	}
	for _, f := range s.Firmware.FwCfg {
		out.Firmware = append(out.Firmware, v.file(f.Name, "", f.Content))
	}
	for _, c := range s.Firmware.Credentials {
		out.Credentials = append(out.Credentials, v.file(c.Name, "", c.Content))
	}
	for _, x := range s.Firmware.SMBIOS {
		out.SMBIOS = append(out.SMBIOS, fmt.Sprintf("type %d %s=%s", x.Type, x.Field, v.text(x.Value)))
	}
	for _, x := range s.KernelArgs {
		out.KernelArgs = append(out.KernelArgs, v.text(x))
	}
	return out
}

// text shows a text that is no file.
func (v *View) text(s string) string {
	if !v.Reveal {
		s, _ = v.Secrets.Text(s)
	}
	return s
}

// orDefault is the mode of a file in a volume.
func orDefault(mode uint32) uint32 {
	if mode == 0 {
		return 0o644
	}
	return mode
}

func (v *View) file(path, mode string, content secret.Text) client.File {
	f := client.File{Path: path, Mode: mode, Size: content.Len()}
	text := content.Reveal()
	if !v.Reveal {
		text, f.Masked = v.Secrets.Text(text)
	}
	f.Binary = !utf8.ValidString(text)
	limit := max(0, min(maxFile, v.Room))
	if len(text) > limit {
		f.Truncated = true
		for text = text[:limit]; !f.Binary && !utf8.ValidString(text); {
			text = text[:len(text)-1]
		}
	}
	v.Room -= len(text)
	f.Content = secret.New(text)
	return f
}

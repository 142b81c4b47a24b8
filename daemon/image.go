package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/qcow2"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
)

// Image is a file of the image repository.
type Image struct {
	// ID is made of domain and file name, so it is the same as long as the file has its name.
	ID string
	// Name is the one in the file's sidecar, else the file name.
	Name, Description string
	// File is its absolute path.
	File string
	// Format is raw or qcow2; Size the bytes of the file, VirtualSize those of the disk in it.
	Format            string
	Size, VirtualSize int64
	// CD means that it is one, to be put into a drive: an ISO image that no sidecar says something else of.
	CD bool
	// Outside means that the file is a link to a place of which documents may name no file: it can be imported, as the administrator
	// means it to be, and no more.
	Outside bool
	// Defaults are what the sidecar says about VMs that are made from it.
	Defaults Defaults
	// Problems are what is wrong with the sidecar or the image. With an error among them it cannot be imported.
	Problems diag.List
}

// Defaults are what VMs have whose documents do not say otherwise.
type Defaults struct {
	// OS, Release and IgnitionPlatform are those of machine.Guest; Login is the user whom people log in as.
	OS               string `json:"os,omitempty"`
	Release          string `json:"release,omitempty"`
	IgnitionPlatform string `json:"ignitionPlatform,omitempty"`
	Login            string `json:"login,omitempty"`
	// Boot is a kernel to start instead of the boot loader of the disk; its paths are absolute.
	Boot machine.Boot `json:"boot,omitzero"`
	// Memory, CPUs and Firmware are those of machine.Hardware.
	Memory   machine.Bytes `json:"memory,omitempty"`
	CPUs     int           `json:"cpus,omitempty"`
	Firmware string        `json:"firmware,omitempty"`
	// NICs is how many a VM has at least.
	NICs int `json:"nics,omitempty"`
}

// sidecarEnd ends the names of the files that describe images.
const sidecarEnd = ".yaml"

// maxSidecar bounds the size of a sidecar.
const maxSidecar = 1 << 20

// passedOver end the names of files beside images that are none: checksums, signatures, and what is still being fetched.
var passedOver = []string{sidecarEnd, ".yml", ".md5", ".sha1", ".sha256", ".sha512", ".asc", ".sig", ".txt", ".md", ".json", "~",
	".part", ".partial", ".tmp", ".crdownload", ".download", ".new"}

// Images returns the images of a storage domain, by file name. Data domains have none. Hidden files, files that are being
// fetched, and those that are no disk images and that no sidecar describes, are passed over; what is wrong with an image or its
// sidecar is in its Problems.
func (d *Daemon) Images(domain string) ([]Image, error) {
	at, err := d.StorageDomain(domain)
	if err != nil || at.Type != ImageDomain {
		return nil, err
	}
	entries, err := os.ReadDir(at.Dir)
	if err != nil {
		return nil, err
	}
	var out []Image
	parts := map[string]bool{} // kernels and the like, of which sidecars say that they belong to an image
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || slices.ContainsFunc(passedOver, func(end string) bool { return strings.HasSuffix(strings.ToLower(name), end) }) {
			continue
		}
		image, ok := inspect(filepath.Join(at.Dir, name))
		if !ok {
			continue
		}
		image.ID = nameID("image", at.ID+"/"+name)
		if _, ok := d.host.permitted(image.File); !ok {
			image.Outside = true
			image.Problems.Warnf(CodeHostPath, diag.Range{File: image.File}, "import it, or put the file itself into the repository",
				"the file is a link that leads out of the repository, so documents cannot name it")
		}
		out = append(out, image)
		parts[image.Defaults.Boot.Kernel], parts[image.Defaults.Boot.Initrd] = true, true
	}
	return slices.DeleteFunc(out, func(i Image) bool { return parts[i.File] }), nil
}

// image finds an image by its id.
func (d *Daemon) image(id string) (Image, error) {
	images, err := d.Images(ImageRepository)
	if err != nil {
		return Image{}, err
	}
	for _, i := range images {
		if equalUUID(i.ID, id) {
			return i, nil
		}
	}
	return Image{}, &NotFoundError{Kind: "image", ID: id}
}

// inspect looks at a file, and reports whether it is meant as an image.
func inspect(path string) (Image, bool) {
	i := Image{Name: filepath.Base(path), File: path, Format: "raw"}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return i, false
	}
	i.Size = info.Size()
	described := i.describe()
	head, file, err := open(path)
	if err != nil {
		i.Problems.Errorf(CodeUnusableImage, diag.Range{File: path}, "", "the image cannot be read: %v", err)
		return i, true
	}
	defer file.Close()
	extension := strings.ToLower(filepath.Ext(path))
	switch {
	case qcow2.Is(head):
		i.Format = "qcow2"
		h, err := qcow2.Parse(head)
		i.VirtualSize = h.Size
		switch {
		case err != nil:
			i.Problems.Errorf(CodeUnusableImage, diag.Range{File: path}, "", "%v", err)
		case h.Leads():
			i.Problems.Errorf(CodeUnusableImage, diag.Range{File: path}, "flatten it with qemu-img convert", "the image names another file as its base or its data")
		}
	case compressed(head):
		i.Problems.Errorf(CodeUnusableImage, diag.Range{File: path}, "unpack it", "the image is compressed")
		return i, described || slices.Contains([]string{".img", ".raw", ".qcow2", ".xz", ".gz", ".zst"}, extension)
	case extension == ".qcow2":
		i.Problems.Errorf(CodeUnusableImage, diag.Range{File: path}, "fetch it again", "the file is called .qcow2 and is none")
	case !described && extension != ".img" && extension != ".raw" && extension != ".iso":
		return i, false
	default:
		i.CD = !described && extension == ".iso"
		i.VirtualSize = (i.Size + 511) / 512 * 512
	}
	if i.VirtualSize == 0 && !i.Problems.HasErrors() {
		i.Problems.Errorf(CodeUnusableImage, diag.Range{File: path}, "fetch it again", "the image is empty")
	}
	return i, true
}

func open(path string) (head []byte, file *os.File, err error) {
	if file, err = os.Open(path); err != nil {
		return nil, nil, err
	}
	head = make([]byte, qcow2.HeaderSize)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, errors.Join(err, file.Close())
	}
	return head[:n], file, nil
}

// compressed recognises gzip, xz and zstd by the first bytes of their files.
func compressed(head []byte) bool {
	return slices.ContainsFunc([]string{"\x1f\x8b", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd"}, func(mark string) bool {
		return strings.HasPrefix(string(head), mark)
	})
}

// describe reads the sidecar, and reports whether there is one.
func (i *Image) describe() bool {
	path := i.File + sidecarEnd
	text, err := bounded.ReadFile(path, maxSidecar)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	l := &i.Problems
	if err != nil {
		l.Errorf(CodeSidecar, diag.Range{File: path}, "", "the description of the image cannot be read: %v", err)
		return true
	}
	documents, problems := tree.Parse(path, text, bounded.Limits{})
	*l = append(*l, problems...)
	if len(documents) != 1 || !documents[0].Want(l, tree.Map) {
		if !l.HasErrors() {
			l.Errorf(CodeSidecar, diag.At(path, 1, 1), "", "the description of an image is one YAML mapping")
		}
		return true
	}
	top := documents[0]
	top.Only(l, "name", "description", "guest", "boot", "hardware", "login")
	i.Name, i.Description = cmp.Or(top.Get("name").Str(l), i.Name), top.Get("description").Str(l)
	x := &i.Defaults
	x.Login = top.Get("login").Str(l)
	guest := top.Get("guest")
	guest.Only(l, "os", "release", "ignitionPlatform")
	x.OS, x.Release, x.IgnitionPlatform = guest.Get("os").Str(l), guest.Get("release").Str(l), guest.Get("ignitionPlatform").Str(l)
	start := top.Get("boot")
	start.Only(l, "kernel", "initrd", "append")
	x.Boot = machine.Boot{Kernel: i.beside(start.Get("kernel"), l), Initrd: i.beside(start.Get("initrd"), l), Append: start.Get("append").Str(l)}
	hardware := top.Get("hardware")
	hardware.Only(l, "memory", "cpus", "firmware")
	x.CPUs, x.Firmware = int(hardware.Get("cpus").Int(l, 1, 1024)), hardware.Get("firmware").Str(l)
	if memory := hardware.Get("memory"); memory.Exists() {
		q, err := kubeobject.ParseQuantity(memory.Loose(l))
		n, whole := q.Whole()
		if err != nil || !whole || n <= 0 {
			memory.Errorf(l, CodeSidecar, "", "a size is written as 2Gi or 2048M")
		}
		x.Memory = machine.Bytes(n)
	}
	if f := x.Firmware; f != "" && f != "bios" && f != "uefi" {
		hardware.Get("firmware").Errorf(l, CodeSidecar, "", "the firmware is bios or uefi")
	}
	return true
}

// beside returns the absolute path of a file that is named relative to the sidecar.
func (i *Image) beside(v tree.Value, l *diag.List) string {
	path := v.Str(l)
	if path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(i.File), path)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		v.Errorf(l, CodeSidecar, "paths are relative to the description", "there is no file %s", path)
	}
	return path
}

// ImportRequest asks for an image to be made a template or a disk.
type ImportRequest struct {
	// Image is the id of an image, Target the id or name of the data domain that the disk goes to.
	Image, Target string
	// AsTemplate makes a template of it.
	AsTemplate bool
	// Name is that of the template or the disk. Empty means GlanceTemplate- or GlanceDisk- and some letters, as oVirt has it.
	Name string
	// Documents are the template's.
	Documents []Document
}

// Import is an import that is under way: template (if one was asked for) and disk are there, and locked until the job ends.
type Import struct {
	Job, Template, Disk string
}

// Import makes an image a template or a disk: an overlay on the image's file, which is not copied and must stay. It returns at
// once; the import goes on over a crash of the daemon.
func (d *Daemon) Import(ctx context.Context, r ImportRequest) (Import, error) {
	leave, err := d.enter()
	if err != nil {
		return Import{}, err
	}
	defer leave()
	i, err := d.image(r.Image)
	if err != nil {
		return Import{}, err
	}
	if i.Problems.HasErrors() {
		return Import{}, i.Problems
	}
	target, err := d.StorageDomain(r.Target)
	if err != nil {
		return Import{}, err
	}
	if target.Type != DataDomain {
		return Import{}, conflictf("the storage domain %s holds no disks", target.Name)
	}
	id := newID()
	name := cmp.Or(r.Name, map[bool]string{true: "GlanceTemplate-", false: "GlanceDisk-"}[r.AsTemplate]+id[:7])
	if err := checkName("template or disk", name); err != nil {
		return Import{}, err
	}
	disk := diskRecord{ID: id, Name: name, Domain: target.ID, File: diskFile(target.Dir, id), Status: Locked, Base: i.File, BaseFormat: i.Format,
		Size: i.VirtualSize, Created: time.Now().UTC()}
	if !r.AsTemplate {
		job := newJob(ctx, "Importing image "+i.Name+" as disk "+name, id)
		err := d.commit(ctx, []Event{{Kind: DiskAdded, Object: id, Name: name, Text: "Disk " + name + " is imported from image " + i.Name}}, func() {
			d.keep(disk)
			d.keep(job)
		}, disk, job)
		if err != nil {
			return Import{}, err
		}
		d.background(func() { d.finishDisk(context.WithoutCancel(ctx), disk, job) })
		return Import{Job: job.ID, Disk: id}, nil
	}
	defaults := i.Defaults
	defaults.NICs = max(defaults.NICs, 1)
	t := Template{ID: newID(), Name: name, Description: i.Description, Status: Locked, Documents: r.Documents, Disk: id, Defaults: defaults, Created: disk.Created}
	disk.Template = t.ID
	job := newJob(ctx, "Importing image "+i.Name+" as template "+name, t.ID)
	release, err := d.reserveTemplate(name, t.ID)
	if err != nil {
		return Import{}, err
	}
	defer release()
	text := fmt.Sprintf("Template %s is imported from image %s", name, i.Name)
	if err := d.commit(ctx, []Event{{Kind: TemplateAdded, Object: t.ID, Name: name, Text: text}}, func() {
		d.keep(t)
		d.keep(disk)
		d.keep(job)
	}, t, disk, job); err != nil {
		return Import{}, err
	}
	d.background(func() { d.finishTemplate(context.WithoutCancel(ctx), t.ID, disk, job) })
	return Import{Job: job.ID, Template: t.ID, Disk: id}, nil
}

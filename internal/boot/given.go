package boot

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Given reads back what the guest of a VM was given at its last start: all that the plan names of the VM's directory, as one
// seed. Images that a definition names elsewhere are not read. The error is os.ErrNotExist for a VM that has no directory.
func (l *Launcher) Given(dir string) (seed.Seed, error) {
	plan, err := supervisor.LoadPlan(dir)
	if err != nil {
		return seed.Seed{}, err
	}
	g := given{engine: l.Engine, items: items(plan), seed: seed.Seed{Machine: seed.Name{Namespace: plan.Namespace, Name: plan.Name}}}
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), seedMark) && names(plan, "/"+e.Name()+"/") {
			below, err := os.ReadDir(filepath.Join(dir, e.Name()))
			errs = append(errs, err)
			for _, x := range below {
				errs = append(errs, g.readBack(filepath.Join(dir, e.Name(), x.Name())))
			}
		} else if names(plan, "/"+e.Name()) {
			errs = append(errs, g.readBack(filepath.Join(dir, e.Name())))
		}
	}
	return g.seed, errors.Join(errs...)
}

// given is a seed that is read back.
type given struct {
	engine *vmseed.Engine
	// items are the names of firmware configuration items, by the files that hold them.
	items map[string]string
	seed  seed.Seed
}

// item is QEMU's argument for a firmware configuration item, in which a comma is written twice.
var item = regexp.MustCompile(`^name=((?:[^,]|,,)+),file=((?:[^,]|,,)+)$`)

// items finds the firmware configuration items of a plan.
func items(plan supervisor.Plan) map[string]string {
	out := map[string]string{}
	for _, a := range plan.Attempts {
		for _, arg := range a.Args {
			if m := item.FindStringSubmatch(arg); m != nil {
				out[strings.ReplaceAll(m[2], ",,", ",")] = m[1]
			}
		}
	}
	return out
}

// readBack adds what a delivery wrote to a path. Of a VM's other files, such as its disks, there is nothing to add.
func (g *given) readBack(path string) error {
	to := &g.seed
	medium, isMedium := strings.CutPrefix(filepath.Base(path), to.Machine.String()+".")
	if !isMedium && !strings.HasPrefix(filepath.Base(path), "seed.") {
		return nil
	}
	if credential, ok := strings.CutPrefix(g.items[path], seed.CredentialItem); ok {
		content, err := os.ReadFile(path)
		to.DataSource = "credentials"
		to.Firmware.Credentials = append(to.Firmware.Credentials, seed.Credential{Name: credential, Content: secret.FromBytes(content)})
		return err
	}
	part, err := g.engine.Open(path)
	if errors.Is(err, delivery.ErrNotSeed) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, v := range part.Volumes {
		if isMedium {
			v.Name = strings.TrimSuffix(medium, filepath.Ext(medium))
		}
		to.Volumes = append(to.Volumes, v)
	}
	if !isMedium && (to.DataSource == "" || len(part.Firmware.FwCfg) == 0) {
		to.DataSource = part.DataSource // an Ignition config may be beside the seed proper
	}
	to.Trees = append(to.Trees, part.Trees...)
	to.Firmware.Credentials = append(to.Firmware.Credentials, part.Firmware.Credentials...)
	for _, f := range part.Firmware.FwCfg {
		f.Name = cmp.Or(g.items[path], f.Name, seed.IgnitionItem)
		to.Firmware.FwCfg = append(to.Firmware.FwCfg, f)
	}
	return nil
}

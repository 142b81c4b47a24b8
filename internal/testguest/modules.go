package testguest

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// moduleTree finds kernel modules and what they depend on, below a directory
// such as /lib/modules/<version>. It reads the modules themselves: modules.dep
// is made by depmod, which the machine that runs the tests may lack.
type moduleTree struct {
	files   map[string]string // name with underscores → path
	builtin map[string]bool
}

func openModules(dir string) (*moduleTree, error) {
	tree := &moduleTree{files: map[string]string{}, builtin: map[string]bool{}}
	err := filepath.WalkDir(filepath.Join(dir, "kernel"), func(file string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(file, ".ko") {
			tree.files[moduleName(file)] = file
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	list, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Fields(string(list)) {
		tree.builtin[moduleName(line)] = true
	}
	return tree, nil
}

// moduleName returns the name the kernel uses: files spell some underscores as
// hyphens.
func moduleName(file string) string {
	name := strings.TrimSuffix(path.Base(filepath.ToSlash(file)), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// resolve returns the files of the named modules in an order in which they can
// be loaded, dependencies first. Modules that are part of the kernel are left
// out.
func (t *moduleTree) resolve(names []string) ([]string, error) {
	var files []string
	seen := map[string]bool{}
	var visit func(name string) error
	visit = func(name string) error {
		name = moduleName(name)
		if seen[name] || t.builtin[name] {
			return nil
		}
		seen[name] = true
		file, ok := t.files[name]
		if !ok {
			return fmt.Errorf("the kernel has no module %s", name)
		}
		depends, err := moduleDepends(file)
		if err != nil {
			return err
		}
		for _, d := range depends {
			if err := visit(d); err != nil {
				return fmt.Errorf("%s needs %w", name, err)
			}
		}
		files = append(files, file)
		return nil
	}
	for _, name := range names {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// moduleDepends reads the depends= field of a module's .modinfo section, a list
// of NUL-terminated key=value strings.
func moduleDepends(file string) ([]string, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("%s: no .modinfo section", file)
	}
	info, err := section.Data()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, field := range bytes.Split(info, []byte{0}) {
		if list, ok := strings.CutPrefix(string(field), "depends="); ok {
			return strings.FieldsFunc(list, func(r rune) bool { return r == ',' }), nil
		}
	}
	return nil, nil
}

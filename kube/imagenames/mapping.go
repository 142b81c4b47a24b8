package imagenames

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/image"
	"github.com/vmseed/vmseed/internal/bounded"
)

// mapping is a set of rules.
type mapping struct {
	// name is that of its object, for messages and for the order.
	name   string
	prefix string
	rules  []rule
}

// rule says where the image of a name is.
type rule struct {
	name    string
	pattern *regexp.Regexp
	url     string
	store   *image.Store
}

// within cuts the mapping's prefix off a name.
func (m mapping) within(name string) (string, bool) {
	if m.prefix == "" {
		return name, true
	}
	return strings.CutPrefix(name, m.prefix+"/")
}

// apply returns the URL for a name, by rules for names or by those for patterns.
func (r rule) apply(name string, patterns bool) string {
	switch {
	case !patterns && r.name != "" && r.name == name:
		return r.url
	case patterns && r.pattern != nil:
		if found := r.pattern.FindStringSubmatchIndex(name); found != nil {
			return string(r.pattern.ExpandString(nil, r.url, name, found))
		}
	}
	return ""
}

// document is a file of rules as Virtlet's nodes have them (docs/image-name-translation.md of Virtlet), or an object of its
// kind VirtletImageMapping.
type document struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string         `yaml:"name"`
		Rest map[string]any `yaml:",inline"`
	} `yaml:"metadata"`
	Spec    *translations  `yaml:"spec"`
	Status  map[string]any `yaml:"status"`
	Content translations   `yaml:",inline"`
}

type translations struct {
	Prefix string `yaml:"prefix"`
	Rules  []struct {
		Name      string `yaml:"name"`
		Regexp    string `yaml:"regexp"`
		URL       string `yaml:"url"`
		Transport string `yaml:"transport"`
	} `yaml:"translations"`
	Transports map[string]transport `yaml:"transports"`
}

// The kind of Virtlet's objects.
const mappingKind = "VirtletImageMapping"

// Bounds of a file of rules.
const (
	maxFile  = 1 << 20
	maxRules = 10_000
)

// readAll reads files of rules, and those in directories.
func readAll(paths []string, base *image.Store) ([]mapping, error) {
	var out []mapping
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			entries, err := os.ReadDir(path)
			if err != nil {
				return nil, err
			}
			files = nil
			for _, e := range entries {
				// What Kubernetes puts into a mounted ConfigMap beside its files begins with a dot.
				if file := filepath.Join(path, e.Name()); !strings.HasPrefix(e.Name(), ".") && !isDir(file) {
					files = append(files, file)
				}
			}
		}
		for _, file := range files {
			some, err := readFile(file, base)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			out = append(out, some...)
		}
	}
	return out, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func readFile(file string, base *image.Store) ([]mapping, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := bounded.ReadAll(f, maxFile)
	if err != nil {
		return nil, err
	}
	return parse(text, base)
}

// parse reads rules.
func parse(text []byte, base *image.Store) ([]mapping, error) {
	var out []mapping
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		decoder.KnownFields(true)
		var d document
		err := decoder.Decode(&d)
		switch {
		case errors.Is(err, io.EOF):
			slices.SortStableFunc(out, func(a, b mapping) int { return cmp.Compare(a.name, b.name) })
			return out, nil
		case err != nil:
			return nil, err
		}
		content := d.Content
		if d.Kind != "" || d.Spec != nil {
			if d.Kind != mappingKind || d.Spec == nil {
				return nil, fmt.Errorf("this is no %s: it has the kind %q", mappingKind, d.Kind)
			}
			content = *d.Spec
		}
		m, err := content.mapping(d.Metadata.Name, base)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
}

// mapping makes rules that can be applied.
func (t translations) mapping(name string, base *image.Store) (mapping, error) {
	m := mapping{name: name, prefix: strings.TrimSuffix(t.Prefix, "/")}
	if len(t.Rules) > maxRules {
		return m, fmt.Errorf("there are more than %d rules", maxRules)
	}
	stores := map[string]*image.Store{}
	for name, profile := range t.Transports {
		store, err := profile.store(base)
		if err != nil {
			return m, fmt.Errorf("transports: %q: %w", name, err)
		}
		stores[name] = store
	}
	for i, r := range t.Rules {
		made := rule{name: r.Name, url: r.URL, store: stores[r.Transport]}
		fail := func(format string, args ...any) (mapping, error) {
			return m, fmt.Errorf("translations[%d]: %w", i, fmt.Errorf(format, args...))
		}
		switch {
		case (r.Name == "") == (r.Regexp == ""):
			return fail("a rule has either a name or a regexp")
		case r.URL == "":
			return fail("the rule has no url")
		case made.store == nil && r.Transport != "":
			return fail("there is no transport %q", r.Transport)
		case made.store == nil:
			unchecked := *base
			unchecked.Unchecked = true
			made.store = &unchecked
		}
		if r.Regexp != "" {
			pattern, err := regexp.Compile(r.Regexp)
			if err != nil {
				return fail("regexp: %w", err)
			}
			made.pattern = pattern
		} else if err := check(r.URL, made.store); err != nil {
			return fail("url: %w", err)
		}
		m.rules = append(m.rules, made)
	}
	return m, nil
}

// check says what is wrong with the URL of a rule. Where the server is not vouched for, the rule has a checksum.
func check(address string, store *image.Store) error {
	ref, err := image.Parse(address)
	if err != nil {
		return err
	}
	if ref.Kind == image.Web && store.Unchecked && strings.HasPrefix(ref.Name, "https:") {
		return nil
	}
	return ref.Check()
}

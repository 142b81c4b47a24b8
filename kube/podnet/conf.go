package podnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containernetworking/cni/libcni"
)

// namespacesKey is a key of a network's configuration that lists the namespaces whose pods may ask for the network. CNI
// plugins and other runtimes ignore it.
const namespacesKey = "vmseed.dev/namespaces"

// delegating are plugins that read the annotation with further networks themselves.
var delegating = []string{"multus", "multus-shim", "genie"}

// definition is a network that the node is configured for.
type definition struct {
	file string
	list *libcni.NetworkConfigList
	// bad says why the file is no configuration.
	bad error
	// allowed are the namespaces whose pods may ask for it by annotation; nil is all.
	allowed []string
}

// definitions reads the configuration directory. Files that are no configurations have an error instead of a list.
func definitions(dir string) ([]definition, error) {
	files, err := libcni.ConfFiles(dir, []string{".conf", ".conflist", ".json"})
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var out []definition
	for _, file := range files {
		d, err := load(file)
		d.file, d.bad = file, err
		out = append(out, d)
	}
	return out, nil
}

// load reads a list of plugins, or the configuration of a single plugin, which is made a list of one.
func load(file string) (definition, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return definition{}, err
	}
	var top struct {
		Name       string          `json:"name"`
		CNIVersion string          `json:"cniVersion"`
		Type       string          `json:"type"`
		Plugins    json.RawMessage `json:"plugins"`
		Allowed    []string        `json:"vmseed.dev/namespaces"`
	}
	if err := json.Unmarshal(text, &top); err != nil {
		return definition{}, err
	}
	d := definition{allowed: top.Allowed}
	if top.Plugins != nil || top.Type == "" {
		d.list, err = libcni.NetworkConfFromFile(file)
		return d, err
	}
	whole, err := json.Marshal(map[string]any{"name": top.Name, "cniVersion": top.CNIVersion, "plugins": []json.RawMessage{text}, "loadOnlyInlinedPlugins": true})
	if err != nil {
		return definition{}, err
	}
	d.list, err = libcni.NetworkConfFromBytes(whole)
	return d, err
}

// inline returns a configuration with all of its plugins in one document, so that it can be kept and read without its
// files.
func inline(list *libcni.NetworkConfigList) (json.RawMessage, error) {
	var plugins []json.RawMessage
	for _, p := range list.Plugins {
		plugins = append(plugins, p.Bytes)
	}
	return json.Marshal(map[string]any{"name": list.Name, "cniVersion": list.CNIVersion, "disableCheck": list.DisableCheck,
		"disableGC": list.DisableGC, "loadOnlyInlinedPlugins": true, "plugins": plugins})
}

// declares reports whether a plugin of the network takes a capability.
func declares(list *libcni.NetworkConfigList, capability string) bool {
	return slices.ContainsFunc(list.Plugins, func(p *libcni.PluginConfig) bool { return p.Network.Capabilities[capability] })
}

// delegates reports whether the network's plugin handles further networks itself.
func delegates(list *libcni.NetworkConfigList) bool {
	return slices.ContainsFunc(list.Plugins, func(p *libcni.PluginConfig) bool { return slices.Contains(delegating, p.Network.Type) })
}

// cluster returns the network of the cluster: the first by file name. A file that is no configuration is an error there,
// because the one after it is another network.
func cluster(dir string) (definition, error) {
	all, err := definitions(dir)
	switch {
	case err != nil:
		return definition{}, err
	case len(all) == 0:
		return definition{}, fmt.Errorf("%w: %s holds no configuration (*.conflist, *.conf or *.json)", ErrNotConfigured, dir)
	case all[0].bad != nil:
		return definition{}, fmt.Errorf("%s, which is first and so the cluster's network: %w", all[0].file, all[0].bad)
	}
	return all[0], nil
}

// find returns the network that a pod's annotation names.
func find(dir string, want selection, namespace string) (definition, error) {
	all, err := definitions(dir)
	if err != nil {
		return definition{}, err
	}
	var names []string
	var bad error
	for _, d := range all {
		switch {
		case d.bad != nil:
			bad = errors.Join(bad, fmt.Errorf("%s: %w", d.file, d.bad))
		case d.list.Name != want.Name:
			names = append(names, d.list.Name)
		case d.allowed != nil && !slices.Contains(d.allowed, namespace):
			return definition{}, fmt.Errorf("network %q is not for pods of namespace %q: %s of %s does not list it", want.Name, namespace, namespacesKey, filepath.Base(d.file))
		default:
			return d, nil
		}
	}
	err = fmt.Errorf("no configuration in %s has the name %q; there are: %s", dir, want.Name, strings.Join(names, ", "))
	return definition{}, errors.Join(err, bad)
}

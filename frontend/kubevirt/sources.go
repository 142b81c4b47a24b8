package kubevirt

import (
	"encoding/json"
	"slices"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Source is a source of cloud-init data beside KubeVirt's own, for engines with a data source beside vmseed's own. A
// definition gives data for it under cloudInit, as KubeVirt's documentation shows it for a provider to come.
type Source struct {
	// Member is the name under cloudInit, such as SomeOtherProviderData. Below it stand user-data, as for KubeVirt's own
	// sources, and whatever else the provider wants: texts, which the machine has as meta-data.
	Member string
	// DataSource is the name of the data source that renders it.
	DataSource string
}

// otherSource reads the data for a source that the engine brought along. It returns false when there is none of the name.
func (r *reader) otherSource(e tree.Entry) bool {
	i := slices.IndexFunc(r.sources, func(s Source) bool { return s.Member == e.Key })
	if i < 0 || !e.Value.Want(&r.list, tree.Map) {
		return i >= 0
	}
	settings := map[string]string{}
	var own []string
	for _, setting := range e.Value.Entries() {
		if !slices.Contains(noCloudFields, setting.Key) {
			own = append(own, setting.Key)
			settings[setting.Key] = setting.Value.Loose(&r.list)
		}
	}
	r.noCloudData(e.Value, e.Value.Path(), own...)
	r.m.DataSource = r.sources[i].DataSource
	if len(settings) == 0 {
		return true
	}
	data, err := json.Marshal(settings)
	if err != nil {
		e.Value.Errorf(&r.list, CodeMetaData, "", "the settings of %s cannot be written as JSON", e.Key)
		return true
	}
	r.at(e.Value.Range(), "metaData[%d]", len(r.m.MetaData))
	r.m.MetaData = append(r.m.MetaData, machine.Layer{Name: e.Key, Data: secret.FromBytes(data),
		Origin: diag.Origin{Whole: e.Value.Range(), What: e.Key}})
	return true
}

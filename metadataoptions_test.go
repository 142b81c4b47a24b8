package vmseed_test

import (
	"slices"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/datasource"
	datasources "github.com/vmseed/vmseed/datasource/all"
	"github.com/vmseed/vmseed/machine"
)

// TestMetadataOptionsLost names every option of the metadata service that a data source does not honour.
func TestMetadataOptionsLost(t *testing.T) {
	const tokens, hops, seal = "metadataOptions.httpTokens", "metadataOptions.httpPutResponseHopLimit", "metadataOptions.seal"
	e := &vmseed.Engine{DataSources: datasources.DataSources()}
	for _, tt := range []struct {
		source string
		http   bool
		lost   []string
	}{
		{"ec2", false, nil}, {"openstack", false, []string{tokens, hops}},
		{"nocloud", true, []string{tokens, hops}}, {"nocloud", false, []string{tokens, hops, seal}},
		{"ignition", true, []string{tokens, hops}}, {"ignition", false, []string{tokens, hops, seal}},
		{"configdrive", false, []string{tokens, hops, seal}}, {"credentials", false, []string{tokens, hops, seal}},
		{machine.NoDataSource, false, []string{tokens, hops, seal}},
	} {
		m := machine.Machine{Name: "vm", DataSource: tt.source,
			MetadataOptions: machine.MetadataOptions{HTTPTokens: "required", HTTPPutResponseHopLimit: 2, Seal: true}}
		_, l := e.Render(m, vmseed.RenderOptions{Options: datasource.Options{HTTP: tt.http}})
		var lost []string
		for _, d := range l {
			if d.Code == vmseed.CodeNotExpressed {
				lost = append(lost, d.Field)
			}
		}
		if !slices.Equal(lost, tt.lost) {
			t.Errorf("%s, HTTP %v: warned of %v, want %v", tt.source, tt.http, lost, tt.lost)
		}
	}
}

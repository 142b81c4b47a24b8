package ignconfig

import (
	butane "github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"

	"github.com/vmseed/vmseed/diag"
)

// ParseButane reads a Butane document of any released variant. The Config is zero when there is an error.
func ParseButane(origin diag.Origin, data []byte) (Config, diag.List) {
	text, rpt, err := butane.TranslateBytes(data, common.TranslateBytesOptions{Raw: true})
	if err != nil {
		var l diag.List
		l.Errorf(CodeButane, diag.At("", 1, 1), "", "Butane refuses this document: %v %s", err, rpt.String())
		return Config{}, origin.Carry(l)
	}
	return Parse(origin, text)
}

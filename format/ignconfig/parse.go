package ignconfig

import (
	v3 "github.com/coreos/ignition/v2/config/v3_6"

	"github.com/vmseed/vmseed/diag"
)

// Parse reads an Ignition config of specification 2 or 3. A config of specification 2 is translated, with a diagnostic that
// says so. The Config is zero when there is an error.
func Parse(origin diag.Origin, data []byte) (Config, diag.List) {
	var l diag.List
	c, rpt, err := v3.ParseCompatibleVersion(data)
	if err != nil {
		l.Errorf(CodeInvalid, diag.At("", 1, 1), "", "Ignition refuses this config: %v %s", err, rpt.String())
		return Config{}, origin.Carry(l)
	}
	return Config{text: data, stated: c.Ignition.Version, version: c.Ignition.Version, types: c}, origin.Carry(l)
}

package report

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// The reporter: a program for the guest's own Python, which cloud-init needs anyway, and the shell that starts it.
var (
	//go:embed reporter.py
	reporterProgram string
	//go:embed reporter.sh
	reporterShell string
)

// The reporter of guests that Ignition sets up, which need not have Python: programs for sh, coreutils and systemd. What
// they tell is found out in the same way, whichever way it goes.
var (
	//go:embed facts.sh
	ignitionFacts string
	//go:embed ignition.sh
	ignitionProgram string
	//go:embed checkin.sh
	checkInProgram string
	//go:embed ignition.service
	ignitionUnitFile string
)

// Reporter returns the part of a cloud-init seed that makes the guest report. It belongs into the vendor-data, behind
// the user's own: it is a boothook, so it hides no key of the user's documents, and none of theirs hides it. It runs at
// every boot, from the network stage until the first boot is done or the guest shuts down, and without a network.
//
// A guest whose user-data switches vendor-data off does not report; Console is for those.
func Reporter() machine.Layer {
	return machine.Layer{Name: "the reporter of vmseed run", Data: boothook("report", reporterProgram)}
}

// boothook returns the part that starts a program for the guest's Python under a name.
func boothook(name, program string) secret.Text {
	body := strings.Replace(reporterShell, "@SCRIPT@", strings.TrimSpace(program), 1)
	return secret.New("#cloud-boothook\n" + strings.ReplaceAll(body, "@NAME@", name))
}

// IgnitionReporter returns the Ignition config, of spec 3.0.0, that makes a guest report. It is merged into the user's
// own. What it installs stays in the guest, runs at every boot until the host has heard how that went, and is started by
// a link as well as by a preset: systemd applies presets only at a boot that it takes for the first.
func IgnitionReporter() machine.Layer {
	return ignitionLayer("the reporter of vmseed run", "report", ignitionProgram)
}

// ignitionLayer returns a config that installs a program and has it started at every boot, beside further files with a
// mode of 0600.
func ignitionLayer(layer, name, program string, files ...[2]string) machine.Layer {
	type object = map[string]any
	file := func(path string, mode int, text string) object {
		return object{"path": path, "overwrite": true, "mode": mode,
			"contents": object{"source": "data:;base64," + base64.StdEncoding.EncodeToString([]byte(text))}}
	}
	path, service := "/etc/vmseed/"+name+".sh", "vmseed-"+name+".service"
	stored := []object{file(path, 0o755, strings.Replace(program, "@FACTS@", strings.TrimSpace(ignitionFacts), 1))}
	for _, x := range files {
		stored = append(stored, file(x[0], 0o600, x[1]))
	}
	text, err := json.Marshal(object{
		"ignition": object{"version": "3.0.0"},
		"storage": object{
			"files": stored,
			"links": []object{{"path": "/etc/systemd/system/multi-user.target.wants/" + service, "overwrite": true,
				"target": "../" + service}},
		},
		"systemd": object{"units": []object{{"name": service, "enabled": true,
			"contents": strings.Replace(ignitionUnitFile, "@SCRIPT@", path, 1)}}},
	})
	if err != nil {
		return machine.Layer{} // of texts and numbers alone, so there is no error
	}
	return machine.Layer{Name: layer, Data: secret.FromBytes(text)}
}

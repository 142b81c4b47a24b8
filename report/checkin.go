package report

import (
	_ "embed"
	"encoding/json"
	"strings"
	"time"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// checkInURL is where a guest of Ignition finds the URL of its check-in.
const checkInURL = "/etc/vmseed/checkin.url"

//go:embed webhook.sh
var webhookShell string

// WebhookReporter returns the part of a cloud-init seed that makes cloud-init post its events to a URL at the first boot of
// the instance. Like Reporter it is a boothook and belongs behind the user's vendor-data.
//
// The setting goes to cloud-init's runtime configuration (/run/cloud-init/cloud.cfg, which every release since 17.1
// reads) and not to the vendor-data, where it would outlive the first boot: at each later one cloud-init would then
// post from its local stage too, before there is a network, and count every failure to do so as a warning. cloud-init
// joins it with what the user's own `reporting` says.
//
// A post that fails is tried again, twice and for 5 seconds at most each. A server that is away costs a first boot up to
// 51 seconds in each stage, for cloud-init gives up after three events.
func WebhookReporter(url secret.Text) machine.Layer {
	config := "reporting:\n  " + WebhookName + ":\n    type: webhook\n    endpoint: " + quoted(url) + "\n    timeout: 5\n    retries: 2"
	text := strings.Replace(webhookShell, "@CONFIG@", config, 1)
	return machine.Layer{Name: "vmseed's reporting webhook", Data: secret.New("#cloud-boothook\n" + text)}
}

// WebhookName is the name of the webhook among cloud-init's reporting handlers. One of the same name in the user's
// `reporting` takes its place.
const WebhookName = "vmseed"

// WebReporter is Reporter over HTTP: the same program posts to a URL what the webhook cannot tell, such as why a module
// failed, of what cloud-init warned, and the guest's host keys and addresses. It needs no setting of cloud-init's.
// (cloud-init's own phone_home stays the author's to use. It would warn of each kind of host key that the guest does not
// have.)
func WebReporter(url secret.Text) machine.Layer {
	return machine.Layer{Name: "vmseed's reporter over HTTP",
		Data: boothook("checkin", strings.Replace(reporterProgram, "\nURL = \"\"\n", "\nURL = "+quoted(url)+"\n", 1))}
}

// CheckInReporter returns the Ignition config, of spec 3.0.0, that makes a guest tell a URL how its first boot went. The
// guest needs one of curl, wget and bash; with bash alone, the URL has to begin with http. See IgnitionReporter.
func CheckInReporter(url secret.Text) machine.Layer {
	return ignitionLayer("vmseed's check-in over HTTP", "checkin", checkInProgram, [2]string{checkInURL, url.Reveal() + "\n"})
}

// ParseCheckIn reads the body of a check-in's request, which is a line of a reporter.
func ParseCheckIn(body []byte, machine string, now time.Time) (Message, error) {
	m, err := Parse(body, machine, now)
	m.Event.Source = HTTP
	return m, err
}

// Afterburn returns the final word of a guest whose Afterburn checks in as its provider `packet` does: a POST without a
// body, from afterburn-firstboot-checkin.service, once the first boot has reached its target. That a boot got so far is
// all that it says: failed units, host keys and addresses it does not tell, and no reason where a guest never checks in.
func Afterburn(machine string, now time.Time) Event {
	return Event{Machine: machine, Source: HTTP, Stage: Done, Time: now, Result: &Result{FirstBoot: true, Agent: "Afterburn"}}
}

// quoted writes a URL as a text of YAML, and of JSON.
func quoted(url secret.Text) string {
	text, err := json.Marshal(url.Reveal())
	if err != nil {
		return `""` // it is a text, so there is no error
	}
	return string(text)
}

package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Outcome is what cloud-init says of something that it finished.
type Outcome string

// The outcomes, as cloud-init writes them.
const (
	Success Outcome = "SUCCESS"
	Warn    Outcome = "WARN"
	Fail    Outcome = "FAIL"
)

// Webhook is one event of cloud-init's reporting. Its wire format is that of cloudinit/reporting/events.py: a JSON object
// without a word on the machine or the instance.
type Webhook struct {
	// Stage is one of the four stages of cloud-init, or empty when the event is of none, as those of commands are that a
	// user gives.
	Stage Stage
	// Part is what the stage does, such as config-ssh for the module ssh, or consume-user-data. It is empty when the event
	// is about the stage itself.
	Part string
	// Finish tells the end from the beginning.
	Finish bool
	// Outcome is that of an end.
	Outcome Outcome
	// Text is cloud-init's description. It tells of a module how often it runs when it starts, and whether it ran at its
	// end; of a failure it tells no reason.
	Text string
	// Seconds is how long it took, where cloud-init says so: newer releases than 25.1 do.
	Seconds float64
}

// ParseWebhook reads the body of a webhook's request. Files that come with an event are not looked at.
func ParseWebhook(body []byte) (Webhook, error) {
	var wire struct {
		Name        string  `json:"name"`
		Description string  `json:"description"`
		Type        string  `json:"event_type"`
		Result      Outcome `json:"result"`
		Duration    float64 `json:"duration"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Webhook{}, fmt.Errorf("the event is no JSON of cloud-init's: %w", jsonError(err))
	}
	w := Webhook{Text: clean(wire.Description)}
	stage, part, _ := strings.Cut(wire.Name, "/")
	if slices.Contains(cloudInitStages, Stage(stage)) {
		w.Stage, w.Part = Stage(stage), clean(part)
	}
	switch {
	case wire.Name == "":
		return Webhook{}, errors.New("the event has no name")
	case wire.Type == "start":
		return w, nil
	case wire.Type != "finish":
		return Webhook{}, errors.New("the event is neither a start nor a finish")
	case !slices.Contains([]Outcome{Success, Warn, Fail}, wire.Result):
		return Webhook{}, errors.New("the event has no known result")
	}
	w.Finish, w.Outcome, w.Seconds = true, wire.Result, wire.Duration
	return w, nil
}

// jsonError returns an error of the decoder without what it quotes of the guest.
func jsonError(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("bad syntax at byte %d", syntax.Offset)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("wrong type at byte %d", wrong.Offset)
	}
	return errors.New("bad value")
}

// cloudInitStages are the stages of cloud-init, by its own names and in order.
var cloudInitStages = []Stage{Local, Init, Config, Final}

// module returns the module that the event is about, or what else the stage does.
func (w Webhook) module() string { return strings.TrimPrefix(w.Part, "config-") }

// oncePerInstance reports whether a module starts, or failed, that runs at the first boot of an instance only.
func (w Webhook) oncePerInstance() bool {
	return strings.HasSuffix(w.Text, " with frequency once-per-instance")
}

// ranBefore reports whether a module ended without running because it had run already.
func (w Webhook) ranBefore() bool { return strings.HasSuffix(w.Text, " previously ran") }

package metadataservice

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/report"
)

// TestMetrics counts each thing once, and under names that Prometheus' own checker likes.
func TestMetrics(t *testing.T) {
	s := &site{t: t, Service: &Service{o: Options{Metrics: NewMetrics()}}}
	m := s.o.Metrics
	if text := s.metrics(); strings.Contains(text, "vmseed") || !strings.Contains(text, "go_goroutines") {
		t.Errorf("without a service there is %s", text)
	}
	if err := errors.Join(m.use(), m.Count("vmseed_things", "Things.", "kind", func() map[string]int { return map[string]int{"a": 2} })); err != nil {
		t.Fatal(err)
	}
	site := new(metadata.Site)
	for _, r := range []metadata.Request{
		{Site: site, Route: "ec2", Status: 200, Bytes: 1000, Duration: time.Millisecond},
		{Site: site, Route: "ec2", Status: 401}, {Site: site, Route: "token", Status: 400}, {Site: site, Route: "token", Status: 403},
		{Site: site, Route: "token", Status: 200}, {Site: site, Route: "limited", Status: 503}, {Route: "limited", Status: 503},
		{Route: "denied", Status: 404}, {Route: "reports", Status: 204},
	} {
		m.observe(r)
	}
	m.reloaded(Reloaded{})
	m.reloaded(Reloaded{Err: http.ErrServerClosed})
	m.serving(3, 5)
	for _, e := range []report.Event{{Stage: report.Final}, {Stage: report.Done, Result: &report.Result{FirstBoot: true}},
		{Stage: report.Done, Result: &report.Result{FirstBoot: true, Warnings: []string{"x"}}}, {Stage: report.Done, Result: &report.Result{}}, {Stage: report.Failed}} {
		m.heard(e)
	}
	text := s.metrics()
	for _, want := range []string{
		`requests_total{code="200",route="ec2"} 1`, `requests_total{code="404",route="denied"} 1`, `response_bytes_total{route="ec2"} 1000`,
		`request_duration_seconds_count{route="ec2"} 2`, `token_failures_total{method="put"} 2`, `token_failures_total{method="get"} 1`,
		`throttled_total 2`, `strangers_total 1`, `reloads_total{result="success"} 1`, `reloads_total{result="failure"} 1`,
		`last_reload_successful 0`, `machines 3`, `addresses 5`, `first_boots_total{result="success"} 1`,
		`first_boots_total{result="warnings"} 1`, `first_boots_total{result="failure"} 1`,
	} {
		if !strings.Contains(text, `vmseed_things{kind="a"} 2`) || !strings.Contains(text, "vmseed_metadata_"+want+"\n") {
			t.Errorf("the metrics lack %s:\n%s", want, text)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "vmseed_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	if err != nil || len(text) == 0 {
		t.Error(err)
	}
}

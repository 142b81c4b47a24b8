package metadataservice

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/report"
)

// Metrics are what a service counts, in Prometheus' form. No label has a value that a guest chooses or that grows with the
// number of machines.
type Metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	bytes     *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	tokens    *prometheus.CounterVec
	throttled prometheus.Counter
	denied    prometheus.Counter
	reloads   *prometheus.CounterVec
	fresh     prometheus.Gauge
	good      prometheus.Gauge
	machines  prometheus.Gauge
	addresses prometheus.Gauge
	boots     *prometheus.CounterVec
}

// NewMetrics makes metrics of the process. Those of a service are among them as soon as it has them.
func NewMetrics() *Metrics {
	name := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "vmseed", Subsystem: "metadata", Name: name, Help: help}
	}
	counter := func(n, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts(name(n, help)), labels)
	}
	gauge := func(n, help string) prometheus.Gauge { return prometheus.NewGauge(prometheus.GaugeOpts(name(n, help))) }
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: counter("requests_total", "Requests by what was asked for and by the status of the answer.", "route", "code"),
		bytes:    counter("response_bytes_total", "Bytes of the bodies of answers.", "route"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "vmseed", Subsystem: "metadata", Name: "request_duration_seconds",
			Help: "Time from the head of a request to the end of its answer.", Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5}},
			[]string{"route"}),
		tokens: counter("token_failures_total", "Session tokens that were refused (put), and requests without a good one where it is required (get).", "method"),
		throttled: prometheus.NewCounter(prometheus.CounterOpts(name("throttled_total",
			"Requests that were refused because a machine asked too often."))),
		denied: prometheus.NewCounter(prometheus.CounterOpts(name("strangers_total",
			"Requests of nobody: from an address of no machine, or with a bad signature."))),
		reloads:   counter("reloads_total", "Readings of the definitions.", "result"),
		fresh:     gauge("last_reload_success_timestamp_seconds", "When the definitions that are served were read, in seconds since 1970."),
		good:      gauge("last_reload_successful", "Whether the definitions could be read the last time."),
		machines:  gauge("machines", "Machines that are served."),
		addresses: gauge("addresses", "Addresses that lead to a machine."),
		boots:     counter("first_boots_total", "First boots that ended, by their results.", "result"),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// What has not happened yet is 0 rather than absent, or the first time would be no increase.
	for _, r := range []string{"success", "failure"} {
		m.reloads.WithLabelValues(r)
	}
	for _, r := range []string{"success", "warnings", "failure"} {
		m.boots.WithLabelValues(r)
	}
	for _, r := range []string{"put", "get"} {
		m.tokens.WithLabelValues(r)
	}
	return m
}

// use makes the metrics of a service some that are shown.
func (m *Metrics) use() error {
	var errs []error
	for _, c := range []prometheus.Collector{m.requests, m.bytes, m.duration, m.tokens, m.throttled, m.denied, m.reloads, m.fresh, m.good, m.machines, m.addresses, m.boots} {
		errs = append(errs, m.registry.Register(c))
	}
	return errors.Join(errs...)
}

// Count adds a gauge whose values, by those of a label, are counted whenever somebody reads it.
func (m *Metrics) Count(name, help, label string, values func() map[string]int) error {
	return m.registry.Register(&counted{prometheus.NewDesc(name, help, []string{label}, nil), values})
}

// counted is a gauge that is counted when it is read.
type counted struct {
	desc   *prometheus.Desc
	values func() map[string]int
}

// Describe is for Prometheus' library.
func (c *counted) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect is for Prometheus' library.
func (c *counted) Collect(to chan<- prometheus.Metric) {
	for value, n := range c.values() {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), value)
	}
}

// Handler shows the metrics to Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// observe counts an answered request.
func (m *Metrics) observe(r metadata.Request) {
	m.requests.WithLabelValues(r.Route, strconv.Itoa(r.Status)).Inc()
	m.bytes.WithLabelValues(r.Route).Add(float64(r.Bytes))
	m.duration.WithLabelValues(r.Route).Observe(r.Duration.Seconds())
	switch {
	case r.Route == "limited":
		m.throttled.Inc()
	case r.Site == nil && r.Status == http.StatusNotFound:
		m.denied.Inc()
	case r.Route == "token" && r.Status >= 400 && r.Status < 500:
		m.tokens.WithLabelValues("put").Inc()
	case r.Status == http.StatusUnauthorized:
		m.tokens.WithLabelValues("get").Inc()
	}
}

func (m *Metrics) reloaded(r Reloaded) {
	if r.Failed() {
		m.reloads.WithLabelValues("failure").Inc()
		m.good.Set(0)
		return
	}
	m.reloads.WithLabelValues("success").Inc()
	m.good.Set(1)
	m.fresh.SetToCurrentTime()
}

func (m *Metrics) serving(machines, addresses int) {
	m.machines.Set(float64(machines))
	m.addresses.Set(float64(addresses))
}

// heard counts the final words on first boots.
func (m *Metrics) heard(e report.Event) {
	if !e.Stage.Ended() || e.Result != nil && !e.Result.FirstBoot {
		return
	}
	result := "success"
	switch ok, _ := report.Judge(e, report.FailOnWarning); {
	case e.Stage == report.Failed:
		result = "failure"
	case !ok:
		result = "warnings"
	}
	m.boots.WithLabelValues(result).Inc()
}

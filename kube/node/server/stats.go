package server

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// scrapeTime is how long the statistics of all pods may take.
const scrapeTime = 10 * time.Second

// gather asks host and provider for their statistics.
func (s *Server) gather(ctx context.Context) (*stats.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTime)
	defer cancel()
	summary := &stats.Summary{Node: stats.NodeStats{NodeName: s.config.NodeName}, Pods: []stats.PodStats{}}
	if s.config.Node != nil {
		node, err := s.config.Node(ctx)
		if err != nil {
			return nil, err
		}
		summary.Node = node
	}
	if provider, ok := s.config.Provider.(Usage); ok {
		pods, err := provider.PodStats(ctx)
		if err != nil {
			return nil, err
		}
		summary.Pods = append(summary.Pods, pods...)
	}
	return summary, nil
}

// summary answers /stats/summary.
func (s *Server) summary(w http.ResponseWriter, r *http.Request) {
	summary, err := s.gather(r.Context())
	if err != nil {
		s.failed(w, r, err)
		return
	}
	if r.URL.Query().Get("only_cpu_and_memory") == "true" {
		summary.Node = stats.NodeStats{NodeName: summary.Node.NodeName, StartTime: summary.Node.StartTime, CPU: summary.Node.CPU, Memory: summary.Node.Memory}
		for i, p := range summary.Pods {
			short := stats.PodStats{PodRef: p.PodRef, StartTime: p.StartTime, CPU: p.CPU, Memory: p.Memory}
			for _, c := range p.Containers {
				short.Containers = append(short.Containers, stats.ContainerStats{Name: c.Name, StartTime: c.StartTime, CPU: c.CPU, Memory: c.Memory})
			}
			summary.Pods[i] = short
		}
	}
	s.answer(w, summary)
}

// family is a metric of /metrics/resource.
func family(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// resources collects what /metrics/resource shows. The names are those of the kubelet, which metrics-server reads.
type resources struct {
	gather                                   func(context.Context) (*stats.Summary, error)
	nodeCPU, nodeMemory, podCPU, podMemory   *prometheus.Desc
	containerCPU, containerMemory, startTime *prometheus.Desc
	failed                                   *prometheus.Desc
}

func newResources(gather func(context.Context) (*stats.Summary, error)) *resources {
	pod, container := []string{"namespace", "pod"}, []string{"container", "namespace", "pod"}
	return &resources{
		gather:          gather,
		nodeCPU:         family("node_cpu_usage_seconds_total", "Time that the processors of the node were busy, in core-seconds."),
		nodeMemory:      family("node_memory_working_set_bytes", "Memory of the node that cannot be given to others, in bytes."),
		podCPU:          family("pod_cpu_usage_seconds_total", "Processor time of the pod, in core-seconds.", pod...),
		podMemory:       family("pod_memory_working_set_bytes", "Memory of the pod that cannot be given to others, in bytes.", pod...),
		containerCPU:    family("container_cpu_usage_seconds_total", "Processor time of the container, in core-seconds.", container...),
		containerMemory: family("container_memory_working_set_bytes", "Memory of the container that cannot be given to others, in bytes.", container...),
		startTime:       family("container_start_time_seconds", "When the container started, in seconds since 1970.", container...),
		failed:          family("resource_scrape_error", "1 when the numbers could not be had, else 0."),
	}
}

// Describe implements prometheus.Collector.
func (c *resources) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.nodeCPU, c.nodeMemory, c.podCPU, c.podMemory, c.containerCPU, c.containerMemory, c.startTime, c.failed} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *resources) Collect(out chan<- prometheus.Metric) {
	summary, err := c.gather(context.Background())
	if err != nil {
		out <- prometheus.MustNewConstMetric(c.failed, prometheus.GaugeValue, 1)
		return
	}
	out <- prometheus.MustNewConstMetric(c.failed, prometheus.GaugeValue, 0)
	usage(out, c.nodeCPU, c.nodeMemory, summary.Node.CPU, summary.Node.Memory)
	// A pod that was replaced under its name may be there twice; a metric may not.
	seen := map[stats.PodReference]bool{}
	for _, p := range slices.Backward(summary.Pods) {
		name := stats.PodReference{Namespace: p.PodRef.Namespace, Name: p.PodRef.Name}
		if seen[name] {
			continue
		}
		seen[name] = true
		usage(out, c.podCPU, c.podMemory, p.CPU, p.Memory, p.PodRef.Namespace, p.PodRef.Name)
		for _, k := range p.Containers {
			usage(out, c.containerCPU, c.containerMemory, k.CPU, k.Memory, k.Name, p.PodRef.Namespace, p.PodRef.Name)
			if !k.StartTime.IsZero() {
				out <- prometheus.MustNewConstMetric(c.startTime, prometheus.GaugeValue, float64(k.StartTime.UnixNano())/1e9, k.Name, p.PodRef.Namespace, p.PodRef.Name)
			}
		}
	}
}

// usage writes processor time and memory, where they are known, with the times at which they were measured.
func usage(out chan<- prometheus.Metric, cpu, memory *prometheus.Desc, c *stats.CPUStats, m *stats.MemoryStats, labels ...string) {
	if c != nil && c.UsageCoreNanoSeconds != nil {
		seconds := float64(*c.UsageCoreNanoSeconds) / float64(time.Second)
		out <- at(c.Time.Time, prometheus.MustNewConstMetric(cpu, prometheus.CounterValue, seconds, labels...))
	}
	if m != nil && m.WorkingSetBytes != nil {
		out <- at(m.Time.Time, prometheus.MustNewConstMetric(memory, prometheus.GaugeValue, float64(*m.WorkingSetBytes), labels...))
	}
}

func at(when time.Time, m prometheus.Metric) prometheus.Metric {
	if when.IsZero() {
		return m
	}
	return prometheus.NewMetricWithTimestamp(when, m)
}

// resource answers /metrics/resource.
func (s *Server) resource() http.HandlerFunc {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newResources(s.gather))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP
}

// counts is what the server counts of itself.
type counts struct{ requests *prometheus.CounterVec }

func newCounts(r prometheus.Registerer, node string, pods Pods) (*counts, error) {
	c := &counts{requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vmseed_node_http_requests_total", Help: "Requests to the kubelet server, by route and status."}, []string{"route", "code"})}
	count := func(name, help string, which func(corev1.PodPhase) bool) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			n := 0
			for _, p := range pods.List() {
				if which(p.Status.Phase) {
					n++
				}
			}
			return float64(n)
		})
	}
	named := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "kubelet_node_name", Help: "The node's name; the number is always 1.",
		ConstLabels: prometheus.Labels{"node": node}}, func() float64 { return 1 })
	for _, m := range []prometheus.Collector{c.requests, named,
		count("kubelet_running_pods", "Pods whose VM runs.", func(p corev1.PodPhase) bool { return p == corev1.PodRunning }),
		count("vmseed_node_pods", "Pods that are bound to the node and have not ended.", func(p corev1.PodPhase) bool {
			return p != corev1.PodSucceeded && p != corev1.PodFailed
		})} {
		if err := r.Register(m); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// of counts the requests of a route. Streams take the connection over, so they are counted when they begin as well as refused.
func (c *counts) of(route string, h http.Handler) http.Handler {
	return promhttp.InstrumentHandlerCounter(c.requests.MustCurryWith(prometheus.Labels{"route": route}), h)
}

// metrics answers /metrics.
func (s *Server) metrics() (http.HandlerFunc, error) {
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := s.config.Metrics.Register(c); err != nil {
			if _, ok := err.(prometheus.AlreadyRegisteredError); !ok { //nolint:errorlint // As the library documents it.
				return nil, err
			}
		}
	}
	return promhttp.HandlerFor(s.config.Metrics, promhttp.HandlerOpts{}).ServeHTTP, nil
}

package observe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/model/alarm"
)

// mostFlows bounds the time series: the first flows by vhost and name.
const mostFlows = 1000

// exporter has the last answer of the broker, as metrics.
type exporter struct {
	sync.Mutex
	flows []alarm.Thing
	at    time.Time
	up    float64
}

func (p *Program) metricsCommand() *cobra.Command {
	o := &polling{once: true}
	var listen string
	cmd := &cobra.Command{
		Use:     "metrics",
		Short:   "The facts of all flows for Prometheus: once, or on a port",
		GroupID: groupID,
		Example: "dlxtop metrics\ndlxtop metrics --listen 127.0.0.1:9419",
		Long: `Write the facts of each flow, and of each failed queue without one, as Prometheus' text format; with --listen
poll on, and answer GET /metrics with those of the last poll. While the broker does not answer they stay,
and dlxtop_up is 0. There are at most 1,000 flows (dlxtop_flows_left_out).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(p); err != nil {
				return err
			}
			return p.metrics(cmd.Context(), o, listen)
		},
	}

	cmd.Flags().StringVar(&listen, "listen", "", "answer Prometheus on this `HOST:PORT`")
	o.register(cmd)

	return cmd
}

func (p *Program) metrics(ctx context.Context, o *polling, listen string) error {
	e := &exporter{}
	registry := prometheus.NewRegistry()
	registry.MustRegister(e)
	if listen != "" {
		o.once = false
		listener, err := net.Listen("tcp", listen)
		if err != nil {
			return p.Usage("--listen: %s", err)
		}

		paths := http.NewServeMux()
		paths.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
		server := &http.Server{Handler: paths, ReadHeaderTimeout: patience}
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		defer func() { _, _ = server.Close(), <-served }()
		p.Note("http://%s/metrics answers Prometheus", listener.Addr())
	}

	err := p.each(ctx, o, func(_ *reader, now *answer) (bool, error) {
		e.take(now)
		return o.once, nil
	})
	if err != nil || !o.once {
		return err
	}

	families, err := registry.Gather()
	for _, family := range families {
		if _, bad := expfmt.MetricFamilyToText(p.Out, family); bad != nil {
			return errors.Join(err, bad)
		}
	}

	return err
}

func (e *exporter) take(now *answer) {
	e.Lock()
	defer e.Unlock()
	if e.up = 0; now.err == nil {
		e.flows, e.at, e.up = now.Things(alarm.PerFlow).Facts, now.Now, 1
	}
}

// Describe implements prometheus.Collector: without descriptions, the registry takes what comes.
func (e *exporter) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (e *exporter) Collect(to chan<- prometheus.Metric) {
	e.Lock()
	defer e.Unlock()
	send := func(name, help string, value float64, labels prometheus.Labels) {
		kind := prometheus.GaugeValue
		if strings.HasSuffix(name, "_total") {
			kind = prometheus.CounterValue
		}
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, labels), kind, value)
	}

	send("dlxtop_up", "whether the broker answered the last poll", e.up, nil)
	if e.at.IsZero() {
		return
	}
	send("dlxtop_last_poll_timestamp_seconds", "when the broker answered last", float64(e.at.Unix()), nil)
	send("dlxtop_flows_left_out", "flows without metrics, as there are more than 1,000",
		float64(max(len(e.flows)-mostFlows, 0)), nil)

	for i := range min(len(e.flows), mostFlows) {
		flow := &e.flows[i]
		for _, f := range alarm.Facts {
			if f.Metric == "" {
				continue
			}
			if n, known := flow.Number(f.Name); known {
				send(f.Metric, f.What, n, labelsOf(flow, "", ""))
			}
			table, _ := flow.Values[f.Name].(map[string]any)
			for key, n := range table {
				label := map[string]string{"causes": "state", "findings": "level"}[f.Name]
				send(f.Metric, f.What, float64(n.(int)), labelsOf(flow, label, key))
			}
		}
	}
}

// labelsOf names a flow; a failed queue without one has no label flow.
func labelsOf(flow *alarm.Thing, label, value string) prometheus.Labels {
	labels := prometheus.Labels{}
	for _, name := range []string{"vhost", "flow", "queue"} {
		labels[name] = strings.ToValidUTF8(flow.Values[name].(string), "?")
	}
	if label != "" {
		labels[label] = value
	}
	return labels
}

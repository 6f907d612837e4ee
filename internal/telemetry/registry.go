// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hostedbridge/hostedbridge/internal/version"
)

// unknown stands where the binary was built without the information.
const unknown = "unknown"

// NewRegistry returns a registry with the metrics of any process: the Go
// runtime's, the operating system's, and the build of component. It is not the
// library's global one, into which any package can write.
func NewRegistry(component string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		BuildInfo(component),
	)
	return r
}

// Register adds collectors to reg. It stops at the first that conflicts with a
// registered one, and keeps those before it.
func Register(reg prometheus.Registerer, collectors ...prometheus.Collector) error {
	for _, c := range collectors {
		if err := reg.Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// Begin gives a counter a series of 0 for each value of its one label: a rate
// misses the first event of a series that begins with it.
func Begin(c *prometheus.CounterVec, values ...string) {
	for _, v := range values {
		c.WithLabelValues(v)
	}
}

// BuildInfo is a series that is always 1, by which other series can be joined
// with a version.
func BuildInfo(component string) prometheus.Collector {
	revision := unknown
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hostedbridge_build_info",
		Help: "Which build this is; always 1.",
		ConstLabels: prometheus.Labels{
			"component": component, "version": version.String(), "revision": revision, "goversion": runtime.Version(),
		},
	})
	g.Set(1)
	return g
}

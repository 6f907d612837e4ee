// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// unknown stands where the binary was built without the information.
const unknown = "unknown"

// NewRegistry returns a registry with what is worth knowing of any process:
// the Go runtime's, the operating system's, and which build of component it
// is. It is not the library's global one, into which any package can write.
func NewRegistry(component string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildInfo(component),
	)
	return r
}

// buildInfo is a series that is always 1, by which other series can be joined
// with a version.
func buildInfo(component string) prometheus.Collector {
	version, revision := unknown, unknown
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
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
			"component": component, "version": version, "revision": revision, "goversion": runtime.Version(),
		},
	})
	g.Set(1)
	return g
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
)

// What the library under the operator counts, as far as it is worth watching.
// It comes in no registry of ours, so that the kinds are those of the names.
func TestMetricsOfTheLibraryAreDocumented(t *testing.T) {
	registry, ok := metrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatal("the library's registry does not describe itself any more")
	}
	described := make(chan *prometheus.Desc)
	go func() { registry.Describe(described); close(described) }()
	kinds := map[string]string{
		"controller_runtime_reconcile_total": "counter", "controller_runtime_reconcile_errors_total": "counter",
		"controller_runtime_reconcile_time_seconds": "histogram", "workqueue_depth": "gauge", "leader_election_master_status": "gauge",
		"rest_client_requests_total": "counter", "process_resident_memory_bytes": "gauge", "process_cpu_seconds_total": "counter",
		"process_start_time_seconds": "gauge", "go_goroutines": "gauge",
	}
	found := map[string]metricstest.Metric{}
	for d := range described {
		m := metricstest.Described(d)
		if m.Type = kinds[m.Name]; m.Type != "" {
			found[m.Name] = m
		}
	}
	var libraries, everywhere []metricstest.Metric
	for _, name := range []string{
		"controller_runtime_reconcile_errors_total", "controller_runtime_reconcile_time_seconds", "controller_runtime_reconcile_total",
		"go_goroutines", "leader_election_master_status", "process_cpu_seconds_total", "process_resident_memory_bytes",
		"process_start_time_seconds", "rest_client_requests_total", "workqueue_depth",
	} {
		m, ok := found[name]
		if !ok {
			t.Errorf("the library has no metric %s any more", name)
		}
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			everywhere = append(everywhere, m)
			continue
		}
		libraries = append(libraries, m)
	}
	metricstest.Documented(t, "operator's library", libraries)
	metricstest.Documented(t, "Go", everywhere)
}

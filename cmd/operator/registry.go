// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/prometheus/client_golang/prometheus"

// registrations are what one run registers with a registry that outlives it: the
// library's is one for the process, and tests run the operator several times.
type registrations struct {
	prometheus.Registerer
	collectors []prometheus.Collector
}

// Register implements prometheus.Registerer.
func (r *registrations) Register(c prometheus.Collector) error {
	if err := r.Registerer.Register(c); err != nil {
		return err
	}
	r.collectors = append(r.collectors, c)
	return nil
}

// end takes back what was registered.
func (r *registrations) end() {
	for _, c := range r.collectors {
		r.Unregister(c)
	}
}

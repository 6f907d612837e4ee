// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"sync/atomic"
)

// readiness answers the kubelet. A bridge is ready when the ingress can reach
// it: with a certificate and not on its way out. Its servers do not matter,
// since a broken one must not take the others away.
type readiness struct {
	certificate func() bool
	secrets     func() bool
	draining    atomic.Bool
}

// handler serves the probes, and the metrics beside them.
func (r *readiness) handler(metrics http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case r.draining.Load():
			http.Error(w, "draining", http.StatusServiceUnavailable)
		case !r.certificate():
			http.Error(w, "no certificate yet", http.StatusServiceUnavailable)
		case !r.secrets():
			http.Error(w, "no secrets yet", http.StatusServiceUnavailable)
		default:
			_, _ = w.Write([]byte("ok\n"))
		}
	})
	return mux
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprocess

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// readyWait is how long a probe for readiness waits for it. The kubelet asks
	// once a second and gives a probe a second: whoever is not ready yet when it
	// asks would be so a second later, and a user waits for the pod.
	readyWait = 800 * time.Millisecond
	// readyLook is how often it is looked for meanwhile.
	readyLook = 10 * time.Millisecond

	readyPath = "/readyz"
)

// readiness answers the kubelet and the ingress. A bridge is ready when the ingress can reach
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
	mux.HandleFunc("GET "+readyPath, func(w http.ResponseWriter, req *http.Request) {
		r.await(req.Context())
		r.answer(w)
	})
	return mux
}

// inFront serves the ingress's own question before next. Requests wait
// for this pod, and the ingress asks again within milliseconds.
func (r *readiness) inFront(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == readyPath && req.Method == http.MethodGet {
			r.answer(w)
			return
		}
		next.ServeHTTP(w, req)
	})
}

// answer says whether the bridge is ready, and what it lacks if it is not.
func (r *readiness) answer(w http.ResponseWriter) {
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
}

// await returns when the bridge is ready, will not be any more, or readyWait is
// over.
func (r *readiness) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	for !r.draining.Load() && (!r.certificate() || !r.secrets()) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(readyLook):
		}
	}
}

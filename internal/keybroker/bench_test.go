// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// BenchmarkOpen is what a bridge's start costs the keybroker: the whole request
// for 20 secrets of 1 KiB, on one core, with an API server in memory that
// answers at once.
func BenchmarkOpen(b *testing.B) {
	w := newWorld()
	w.bridges[key(tenant, "alice")].Spec.Tier = "pro"
	s, _ := testServer(b, w, io.Discard)
	h := s.handler()
	const secrets, size = 20, 1 << 10
	for n := range secrets {
		put(b, h, fmt.Sprintf("%s/SECRET_%d", listPath, n), string(bytes.Repeat([]byte{'x'}, size)), http.StatusCreated)
	}
	if got := deliver(b, h, "token-of-alice-pod"); len(got.Secrets) != secrets {
		b.Fatalf("%d secrets", len(got.Secrets))
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	b.SetBytes(secrets * size)
	b.ReportAllocs()
	b.SetParallelism(1)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/v1/secrets", http.NoBody)
			r.Header.Set("Authorization", "Bearer token-of-alice-pod")
			answer := httptest.NewRecorder()
			if h.ServeHTTP(answer, r); answer.Code != http.StatusOK {
				b.Errorf("status %d", answer.Code)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "opens/s")
}

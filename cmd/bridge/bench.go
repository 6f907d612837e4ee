// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package main

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"time"
)

// The bridge that test/bench measures says how many bytes it has allocated.
func init() {
	address := os.Getenv("BENCH_LISTEN")
	if address == "" {
		return
	}
	server := &http.Server{Addr: address, ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		_, _ = fmt.Fprint(w, stats.TotalAlloc)
	})}
	go func() { panic(server.ListenAndServe()) }()
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheCollectorRunsLessOftenWhileAllTenantsAreRead(t *testing.T) {
	t.Setenv("GOGC", "")
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		elected := make(chan struct{})
		go PaceCollector(ctx, elected)
		is := func(when string, want uint64) {
			t.Helper()
			synctest.Wait()
			sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
			metrics.Read(sample)
			if got := sample[0].Value.Uint64(); got != want {
				t.Errorf("%s the heap grows by %d %%, want %d", when, got, want)
			}
		}
		is("at the start", busyPercent)
		time.Sleep(busyTime)
		is("after a minute", gcPercent)
		close(elected)
		is("as the leader", busyPercent)
		time.Sleep(busyTime)
		is("after a minute as the leader", gcPercent)
	})
}

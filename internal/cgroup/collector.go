// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

const (
	// gcPercent is how far the heap grows before a collection. Most of the operator's
	// memory is the cache of all tenants: by Go's default the heap may grow by as much
	// again. 20 is for 10,000 tenants in 256 MB (docs/benchmarks.md).
	gcPercent = 20
	// busyPercent replaces it while all tenants are read and reconciled. At 20 percent
	// the collector takes more than half of the processor time then.
	busyPercent = 100
	// busyTime is longer than that takes with 10,000 tenants.
	busyTime = time.Minute
	// limitPercent and busyLimitPercent are the shares of the container's limit of memory
	// near which the collector runs more often.
	limitPercent     = 75
	busyLimitPercent = 50
)

// PaceCollector runs the garbage collector less often for a minute after the start, and for
// a minute after this operator becomes the leader. When a minute is over it returns unused
// memory to the system. It runs until ctx ends. Where GOGC is set it changes nothing.
func PaceCollector(ctx context.Context, elected <-chan struct{}) {
	if os.Getenv("GOGC") != "" {
		return
	}
	pace := func(percent int, limitPercent int64) {
		LimitGo(limitPercent)
		debug.SetGCPercent(percent)
	}
	pace(busyPercent, busyLimitPercent)
	calm := time.NewTimer(busyTime)
	defer calm.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-elected:
			elected = nil
			pace(busyPercent, busyLimitPercent)
			calm.Reset(busyTime)
		case <-calm.C:
			pace(gcPercent, limitPercent)
			debug.FreeOSMemory()
		}
	}
}

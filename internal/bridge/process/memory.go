// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/cgroup"
)

const (
	// gcPercent lets the heap grow to eight megabytes before the collector runs,
	// every two hundred calls. At Go's default a call takes a tenth more CPU time;
	// at 400 it takes no less, and the larger heap is in more pieces afterwards, of
	// which less can be given back (make bench-idle).
	gcPercent = 200
	// restAfter is how long there has been no call when the garbage is given back
	// to the system. An idle bridge is what decides how many fit on a node.
	restAfter = 2 * time.Second
	// processors is how many threads run Go code at once. A call goes through a
	// dozen goroutines, one after the other, and on one thread none of them has to
	// wake another: that takes a quarter off what a bridge adds to a call. One
	// user's calls wait for servers most of their time, and a tenant's pod is
	// seldom granted more than one processor.
	processors = 1
)

// SpareMemory makes the process fast while it is used and small while it is not,
// until ctx ends. Who sets Go's own variables has decided otherwise.
func SpareMemory(ctx context.Context, served func() uint64) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(processors)
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
	cgroup.LimitGo(75)
	ticker := time.NewTicker(restAfter)
	defer ticker.Stop()
	rest{served: served, free: debug.FreeOSMemory}.run(ctx, ticker.C)
}

// UsableMemory returns how many bytes the process may use, 0 if nothing limits it: what its
// container has, or what Go's own variable says, which leaves a quarter for what Go does not count.
func UsableMemory() int64 {
	if limit := cgroup.MemoryLimit(); limit > 0 {
		return limit
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		return 0
	}
	if limit := debug.SetMemoryLimit(-1); limit < 1<<50 {
		return limit / 3 * 4
	}
	return 0
}

// rest gives memory back once after each time that calls were served.
type rest struct {
	served func() uint64
	free   func()
}

func (r rest) run(ctx context.Context, tick <-chan time.Time) {
	before, freed := r.served(), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		now := r.served()
		if now == before && !freed {
			r.free()
		}
		freed = now == before
		before = now
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

const (
	// gcPercent lets garbage grow to four times of what is in use. A call makes
	// some hundred kilobytes of it, mostly in the SDK, beside three megabytes in
	// use: at Go's default the collector would run every ten calls, and take a
	// third of a call's time.
	gcPercent = 400
	// restAfter is how long there has been no call when the garbage is given back
	// to the system. An idle bridge is what decides how many fit on a node.
	restAfter = 2 * time.Second
)

// spareMemory makes the process fast while it is used and small while it is not,
// until ctx ends. Who sets Go's own variable has decided otherwise.
func spareMemory(ctx context.Context, served func() uint64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
	ticker := time.NewTicker(restAfter)
	defer ticker.Stop()
	rest{served: served, free: debug.FreeOSMemory}.run(ctx, ticker.C)
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

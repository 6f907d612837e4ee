// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// maxStartWaits limits the requests that wait for servers that start: each has its message in
// memory. It is the number of calls at a time of the largest tier that the chart ships.
const maxStartWaits = 64

// startWait is one request's wait for servers that start.
type startWait struct {
	set   *serverSet
	began time.Time // zero before the request waits
}

// next waits until changed is closed, at most until limit after the request began to wait. It
// returns false if the request should wait no longer, or if too many others wait.
func (w *startWait) next(ctx context.Context, changed <-chan struct{}, limit time.Duration) bool {
	if w.began.IsZero() {
		if !w.set.countWait(1) {
			return false
		}
		w.began = time.Now()
	}
	timer := time.NewTimer(limit - time.Since(w.began))
	defer timer.Stop()
	select {
	case <-changed:
		return true
	case <-timer.C:
	case <-ctx.Done():
	case <-w.set.bridge.ctx.Done():
	}
	return false
}

// end ends the wait.
func (w *startWait) end() {
	if !w.began.IsZero() {
		w.set.countWait(-1)
	}
}

// countWait counts n more requests that wait. It returns false, and counts none, if there are too
// many.
func (v *serverSet) countWait(n int) bool {
	v.bridge.mu.Lock()
	defer v.bridge.mu.Unlock()
	if v.waits+n > maxStartWaits {
		return false
	}
	v.waits += n
	return true
}

// change returns the channel that is closed at the next change of the servers: when the first
// attempt to connect to one has ended, or the configuration changes.
func (v *serverSet) change() <-chan struct{} {
	v.bridge.mu.Lock()
	defer v.bridge.mu.Unlock()
	return v.changed
}

// settled tells the requests that wait that a server may have changed.
func (v *serverSet) settled() {
	v.bridge.mu.Lock()
	v.settledAt = time.Now()
	v.announceChange()
	v.bridge.mu.Unlock()
	v.bridge.directory.status.check()
}

// announceChange closes the channel of change. The caller holds Bridge.mu.
func (v *serverSet) announceChange() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// awaitStart waits while starting returns true, as long as a call may wait.
func (v *serverSet) awaitStart(ctx context.Context, starting func() bool) {
	v.await(ctx, func() time.Duration {
		if !starting() {
			return 0
		}
		return v.timing.Start
	})
}

// await waits while limit returns more than no time, at most for that time from the beginning.
func (v *serverSet) await(ctx context.Context, limit func() time.Duration) {
	w := startWait{set: v}
	defer w.end()
	for {
		changed := v.change()
		most := limit()
		if most == 0 || !w.next(ctx, changed, most) {
			return
		}
	}
}

// awaitLists waits for the lists of servers that start: as long as a call while there is nothing to
// list, and from then on for a shorter time. hops are the bridges that the request has passed: one of
// them may wait for this list before its own is there.
func (v *serverSet) awaitLists(ctx context.Context, hops string) {
	began, most := time.Now(), v.timing.Start
	if hops != "" {
		most = v.timing.List
	}
	v.await(ctx, func() time.Duration {
		upstreams := v.servers()
		if !slices.ContainsFunc(upstreams, isStarting) {
			return 0
		}
		if !v.bridge.directory.namesDependOnOrder() && slices.ContainsFunc(upstreams, isListed) {
			most = min(most, time.Since(began)+v.timing.List)
		}
		return most
	})
}

// isListed reports whether clients see an entry of u in a list.
func isListed(u *upstream.Server) bool {
	shown := func(it upstream.Item) bool { return !it.Hidden }
	return slices.ContainsFunc(methods.Lists, func(list string) bool {
		return slices.ContainsFunc(u.Lists.Offered(list), shown)
	})
}

func isStarting(u *upstream.Server) bool { return u.Starting() != nil }

// firstStarting returns the first of the servers that is starting and for which fits returns true,
// or nil.
func firstStarting(upstreams []*upstream.Server, fits func(*upstream.Server) bool) *upstream.Server {
	i := slices.IndexFunc(upstreams, func(u *upstream.Server) bool { return isStarting(u) && fits(u) })
	if i < 0 {
		return nil
	}
	return upstreams[i]
}

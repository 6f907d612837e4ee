// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"slices"
	"sync"
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
		if !w.set.starts.count(1) {
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
	case <-w.set.life.ctx.Done():
	}
	return false
}

// end ends the wait.
func (w *startWait) end() {
	if !w.began.IsZero() {
		w.set.starts.count(-1)
	}
}

// starts tells requests of servers that start.
type starts struct {
	mu        sync.Mutex
	changed   chan struct{} // closed at the next change of the servers
	settledAt time.Time     // when a server has started last
	waits     int           // number of requests that wait
}

// count counts n more requests that wait. It returns false, and counts none, if there are too many.
func (s *starts) count(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits+n > maxStartWaits {
		return false
	}
	s.waits += n
	return true
}

// change returns the channel that is closed at the next change of the servers: when the first
// attempt to connect to one has ended, or the configuration changes.
func (s *starts) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// announce tells the requests that wait that the servers have changed. settled says that one of them
// has started, or has failed to.
func (s *starts) announce(settled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if settled {
		s.settledAt = time.Now()
	}
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// recent reports whether a server has started within this time.
func (s *starts) recent(within time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.settledAt) < within
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
		changed := v.starts.change()
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
		if !v.namesDependOnOrder() && slices.ContainsFunc(upstreams, isListed) {
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

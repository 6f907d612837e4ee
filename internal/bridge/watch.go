// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"maps"
	"slices"
)

// interest is that of several clients in one resource: they share one
// subscription at the server.
type interest struct {
	clients int
	// settled is closed when the first one's request has ended, and failed says
	// how. It is nil where there is none to wait for.
	settled chan struct{}
	failed  bool
}

// watch subscribes the shared connection to a resource. Who comes while another
// one's request is under way learns how that ends, and asks again where it
// failed: the reason may have been the other's own.
func (u *upstream) watch(ctx context.Context, uri string) error {
	l, err := u.shared(ctx)
	if err != nil {
		return err
	}
	for {
		i, first := u.want(uri, make(chan struct{}))
		if first {
			err := u.subscribe(ctx, l, uri)
			u.wanted(uri, i, err)
			return err
		}
		if i.settled == nil {
			return nil
		}
		select {
		case <-i.settled:
		case <-ctx.Done():
			u.forget(uri)
			return ctx.Err()
		}
		if !i.failed {
			return nil
		}
	}
}

// subscribe subscribes l to a resource, and the connection that takes its place
// where l ends meanwhile: a client is not told why a subscription failed.
func (u *upstream) subscribe(ctx context.Context, l *link, uri string) error {
	err := l.subscribe(ctx, uri, true)
	if err == nil || !l.dead() || ctx.Err() != nil {
		return err
	}
	if l, err = u.shared(ctx); err != nil {
		return err
	}
	return l.subscribe(ctx, uri, true)
}

// want counts a subscriber more, and reports whether it is the first, whose
// request settled tells of.
func (u *upstream) want(uri string, settled chan struct{}) (i *interest, first bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i = u.watching[uri]
	if i == nil {
		i, first = &interest{settled: settled}, true
		u.watching[uri] = i
	}
	i.clients++
	return i, first
}

// wanted tells those who wait how the first one's request ended.
func (u *upstream) wanted(uri string, i *interest, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i.failed = err != nil
	if i.failed && u.watching[uri] == i {
		delete(u.watching, uri)
	}
	close(i.settled)
}

// expect counts a subscriber that the server is asked for once it is connected
// to, at the latest: one of a server that u has taken the place of.
func (u *upstream) expect(ctx context.Context, uri string) {
	if _, first := u.want(uri, nil); !first {
		return
	}
	// A connection that is made from now on subscribes to it.
	if l := u.peek(); l.alive() {
		u.resubscribe(ctx, l, uri)
	}
}

// unwatch ends what watch began.
func (u *upstream) unwatch(ctx context.Context, uri string) error {
	if !u.forget(uri) {
		return nil
	}
	l := u.peek()
	if l == nil {
		return nil
	}
	return l.subscribe(ctx, uri, false)
}

// forget takes one subscriber away and reports whether it was the last.
func (u *upstream) forget(uri string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	i := u.watching[uri]
	if i == nil {
		return false
	}
	i.clients--
	if i.clients > 0 {
		return false
	}
	delete(u.watching, uri)
	return true
}

// wantedByOthers returns what clients without a session want to know of. The
// caller holds u.mu.
func (u *upstream) wantedByOthers() map[string]*interest {
	others := map[string]*interest{}
	for uri, i := range u.watching {
		clients := i.clients
		for _, uris := range u.followers {
			if uris[uri] {
				clients--
			}
		}
		if clients > 0 {
			others[uri] = &interest{clients: clients}
		}
	}
	return others
}

// resubscribe repeats subscriptions on a new connection.
func (u *upstream) resubscribe(ctx context.Context, l *link, uris ...string) {
	for _, uri := range uris {
		if err := l.subscribe(ctx, uri, true); err != nil {
			u.log.Warn("a resource could not be subscribed again", "error", describe(err))
		}
	}
}

// follow notes that the session wants to know of a resource, or not any more,
// and reports whether that is new.
func (u *upstream) follow(s *session, uri string, on bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.followers[s][uri] == on {
		return false
	}
	if !on {
		delete(u.followers[s], uri)
		return true
	}
	if u.followers[s] == nil {
		u.followers[s] = map[string]bool{}
	}
	u.followers[s][uri] = true
	return true
}

// follows reports whether the session wants to know of a resource.
func (u *upstream) follows(s *session, uri string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.followers[s][uri]
}

// unfollow forgets the session and returns what it wanted to know of.
func (u *upstream) unfollow(s *session) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	uris := slices.Sorted(maps.Keys(u.followers[s]))
	delete(u.followers, s)
	return uris
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"maps"
	"slices"
)

// watch subscribes the shared connection to a resource. Several clients share
// one subscription.
func (u *upstream) watch(ctx context.Context, uri string) error {
	l, err := u.shared(ctx)
	if err != nil {
		return err
	}
	u.mu.Lock()
	u.watching[uri]++
	first := u.watching[uri] == 1
	u.mu.Unlock()
	if !first {
		return nil
	}
	if err := l.subscribe(ctx, uri, true); err != nil {
		u.forget(uri)
		return err
	}
	return nil
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
	u.watching[uri]--
	if u.watching[uri] > 0 {
		return false
	}
	delete(u.watching, uri)
	return true
}

// resubscribe repeats the subscriptions on a new connection.
func (u *upstream) resubscribe(ctx context.Context, l *link) {
	u.mu.Lock()
	uris := slices.Sorted(maps.Keys(u.watching))
	u.mu.Unlock()
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

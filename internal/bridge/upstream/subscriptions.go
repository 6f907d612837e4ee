// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"maps"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
)

// Subscriptions holds the resources of a server that clients are subscribed to.
type Subscriptions struct {
	server *Server

	watching map[string]*subscription // by URI
	// followers are the subscribed legacy sessions, if they share the connection.
	followers map[message.Client]map[string]bool
}

// Watched reports whether any client waits for notifications of the server.
func (s *Subscriptions) Watched() bool {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return len(s.watching) > 0
}

// subscription is the shared subscription of several clients to one resource.
type subscription struct {
	clients int
	// settled is closed when the first subscriber's request has ended, and failed is its error. It
	// is nil if no request is in progress.
	settled chan struct{}
	failed  bool
}

// Subscribe subscribes the shared connection to a resource. A client that arrives during another
// client's request waits for the result, and tries again if it failed: the failure may have
// concerned only the other client.
func (u *Server) Subscribe(ctx context.Context, uri string) error {
	l, err := u.Shared(ctx)
	if err != nil {
		return err
	}
	for {
		i, first := u.Subscriptions.add(uri, make(chan struct{}))
		if first {
			err := u.subscribeConn(ctx, l, uri)
			u.Subscriptions.settle(uri, i, err)
			return err
		}
		if i.settled == nil {
			return nil
		}
		select {
		case <-i.settled:
		case <-ctx.Done():
			u.Subscriptions.remove(uri)
			return ctx.Err()
		}
		if !i.failed {
			return nil
		}
	}
}

// subscribeConn subscribes l to a resource. If l ends in the meantime, it uses the next
// connection, because clients are not told why a subscription failed.
func (u *Server) subscribeConn(ctx context.Context, l *Conn, uri string) error {
	err := l.Subscribe(ctx, uri, true)
	if err == nil || !l.Life.Dead() || ctx.Err() != nil {
		return err
	}
	if l, err = u.Shared(ctx); err != nil {
		return err
	}
	return l.Subscribe(ctx, uri, true)
}

// add counts one more subscriber, and reports whether it is the first. settled is closed when the
// first subscriber's request has ended.
func (s *Subscriptions) add(uri string, settled chan struct{}) (i *subscription, first bool) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	i = s.watching[uri]
	if i == nil {
		i, first = &subscription{settled: settled}, true
		s.watching[uri] = i
	}
	i.clients++
	return i, first
}

// settle records how the first subscriber's request ended, and wakes the waiting clients.
func (s *Subscriptions) settle(uri string, i *subscription, err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	i.failed = err != nil
	if i.failed && s.watching[uri] == i {
		delete(s.watching, uri)
	}
	close(i.settled)
}

// AddSubscriber adds a subscriber of the server that u replaces. The subscription is made at the
// latest when u connects.
func (u *Server) AddSubscriber(ctx context.Context, uri string) {
	if _, first := u.Subscriptions.add(uri, nil); !first {
		return
	}
	// Later connections subscribe to it themselves.
	if l := u.Peek(); l.Alive() {
		u.Resubscribe(ctx, l, uri)
	}
}

// Unsubscribe ends one client's subscription.
func (u *Server) Unsubscribe(ctx context.Context, uri string) error {
	if !u.Subscriptions.remove(uri) {
		return nil
	}
	l := u.Peek()
	if l == nil {
		return nil
	}
	return l.Subscribe(ctx, uri, false)
}

// remove removes one subscriber, and reports whether it was the last.
func (s *Subscriptions) remove(uri string) bool {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	i := s.watching[uri]
	if i == nil {
		return false
	}
	i.clients--
	if i.clients > 0 {
		return false
	}
	delete(s.watching, uri)
	return true
}

// ofOthers returns the subscriptions of clients without a session. The caller holds u.mu.
func (s *Subscriptions) ofOthers() map[string]*subscription {
	others := map[string]*subscription{}
	for uri, i := range s.watching {
		clients := i.clients
		for _, uris := range s.followers {
			if uris[uri] {
				clients--
			}
		}
		if clients > 0 {
			others[uri] = &subscription{clients: clients}
		}
	}
	return others
}

// Resubscribe repeats subscriptions on a new connection.
func (u *Server) Resubscribe(ctx context.Context, l *Conn, uris ...string) {
	for _, uri := range uris {
		if err := l.Subscribe(ctx, uri, true); err != nil {
			u.Log.Warn("a resource could not be subscribed again", "error", fault.Describe(err))
		}
	}
}

// Follow adds or removes the session's subscription to a resource, and reports whether this
// changed anything.
func (s *Subscriptions) Follow(client message.Client, uri string, on bool) bool {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.followers[client][uri] == on {
		return false
	}
	if !on {
		delete(s.followers[client], uri)
		return true
	}
	if s.followers[client] == nil {
		s.followers[client] = map[string]bool{}
	}
	s.followers[client][uri] = true
	return true
}

// Follows reports whether the session is subscribed to a resource.
func (s *Subscriptions) Follows(client message.Client, uri string) bool {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return s.followers[client][uri]
}

// RemoveSession removes the session and returns its resources.
func (s *Subscriptions) RemoveSession(client message.Client) []string {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	uris := slices.Sorted(maps.Keys(s.followers[client]))
	delete(s.followers, client)
	return uris
}

// Subscribers returns the number of clients that are subscribed to a resource.
func (s *Subscriptions) Subscribers(uri string) int {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if i := s.watching[uri]; i != nil {
		return i.clients
	}
	return 0
}

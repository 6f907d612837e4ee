// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stateless

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	sent "github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// together is how long changes of lists are collected: several servers often change their lists at
// once.
const together = 10 * time.Millisecond

// errUnsaid ends the stream of a listening client. The client gets no other message about it.
var errUnsaid = errors.New("the stream has ended")

// Listeners are the clients that listen for changes.
type Listeners struct {
	// Subscribe subscribes to a resource and returns the function that unsubscribes.
	Subscribe func(ctx context.Context, uri string) (end func(), err error)
	// Outdated reports whether a client that begins to listen may have lists of before, if its
	// requests pass something that keeps lists.
	Outdated func() bool

	mu   sync.Mutex
	open map[*listener]bool
}

// listener is one client's stream. Listeners.mu guards its pending messages.
type listener struct {
	wants   *mcp.NotificationSubscriptions
	changed []string // notifications
	updated []string // resources
	wake    chan struct{}
}

// Changed notifies the clients that listen for it of a changed list. The notification names the
// list.
func (l *Listeners) Changed(note string) {
	l.tell(func(each *listener) { each.change(note) })
}

// change notes the notifications that the client listens for.
func (l *listener) change(notes ...string) {
	for _, note := range notes {
		if l.hears(note) && !slices.Contains(l.changed, note) {
			l.changed = append(l.changed, note)
		}
	}
}

// Updated notifies the clients that are subscribed to a resource of its change.
func (l *Listeners) Updated(uri string) {
	l.tell(func(each *listener) {
		if slices.Contains(each.wants.ResourceSubscriptions, uri) && !slices.Contains(each.updated, uri) {
			each.updated = append(each.updated, uri)
		}
	})
}

// tell calls note for each client, and wakes the clients with pending messages.
func (l *Listeners) tell(note func(*listener)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for each := range l.open {
		note(each)
		if len(each.changed)+len(each.updated) == 0 {
			continue
		}
		select {
		case each.wake <- struct{}{}:
		default:
		}
	}
}

func (l *listener) hears(note string) bool {
	switch note {
	case methods.ToolsChanged:
		return l.wants.ToolsListChanged
	case methods.PromptsChanged:
		return l.wants.PromptsListChanged
	case methods.ResourcesChanged:
		return l.wants.ResourcesListChanged
	}
	return false
}

// Listening is a client that asks for notifications.
type Listening struct {
	// ID is that of its request, as it was sent, and Send sends to it before the answer.
	ID   json.RawMessage
	Send sent.Send
	// Kept says that the client may have got lists from something that keeps them.
	Kept bool
}

// Listen answers subscriptions/listen: it sends the requested notifications to the client until
// ctx ends.
func (l *Listeners) Listen(ctx context.Context, params *mcp.SubscriptionsListenParams, client Listening) (mcp.Result, error) {
	wants := params.Notifications
	if wants == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: missing required 'notifications' field"}
	}
	own := &listener{wants: wants, wake: make(chan struct{}, 1)}
	l.add(own)
	defer l.remove(own)
	for _, uri := range wants.ResourceSubscriptions {
		end, err := l.Subscribe(ctx, uri)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	acknowledged := &mcp.SubscriptionsAcknowledgedParams{Meta: client.subscription(), Notifications: *wants}
	if _, err := client.Send(ctx, methods.Acknowledged, acknowledged); err != nil {
		return nil, err
	}
	if !wants.ToolsListChanged && !wants.PromptsListChanged && !wants.ResourcesListChanged && len(wants.ResourceSubscriptions) == 0 {
		result := &mcp.SubscriptionsListenResult{Meta: client.subscription()}
		result.ResultType = "complete"
		return result, nil
	}
	if client.Kept {
		l.tellOutdated(own)
	}
	return nil, l.follow(ctx, own, client)
}

// tellOutdated tells a client that its lists may have changed, if they may.
func (l *Listeners) tellOutdated(own *listener) {
	if !l.Outdated() {
		return
	}
	l.tell(func(each *listener) {
		if each == own {
			each.change(methods.Changes...)
		}
	})
}

// follow writes the client's pending messages until ctx ends.
func (l *Listeners) follow(ctx context.Context, own *listener, client Listening) error {
	for {
		select {
		case <-ctx.Done():
			return errUnsaid
		case <-own.wake:
		}
		for _, uri := range l.take(&own.updated) {
			if _, err := client.Send(ctx, methods.ResourceUpdated, &mcp.ResourceUpdatedNotificationParams{Meta: client.subscription(), URI: uri}); err != nil {
				return err
			}
		}
		if !l.waits(own) {
			continue
		}
		select {
		case <-ctx.Done():
			return errUnsaid
		case <-time.After(together):
		}
		for _, note := range l.take(&own.changed) {
			if _, err := client.Send(ctx, note, &mcp.ToolListChangedParams{Meta: client.subscription()}); err != nil {
				return err
			}
		}
	}
}

// subscription returns the metadata of messages on the client's stream.
func (c Listening) subscription() mcp.Meta {
	return mcp.Meta{mcp.MetaKeySubscriptionID: c.ID}
}

func (l *Listeners) add(own *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*listener]bool{}
	}
	l.open[own] = true
}

func (l *Listeners) remove(own *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, own)
}

// take removes and returns the pending messages.
func (l *Listeners) take(noted *[]string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := *noted
	*noted = nil
	return taken
}

// waits reports whether a changed list is pending.
func (l *Listeners) waits(own *listener) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(own.changed) > 0
}

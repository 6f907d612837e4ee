// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"sync"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// turns lets each user ask one question at a time, and a few users at once, because each
// question takes memory or a part of a store that all users share.
type turns struct {
	places chan struct{}

	mu    sync.Mutex
	users map[v1alpha1.UserID]*turn
}

// turn is that of one user: whoever puts a value into asking has it.
type turn struct {
	asking chan struct{}
	wanted int // by so many, the one who has it included
}

// newTurns returns turns of so many users at once.
func newTurns(users int) *turns {
	return &turns{places: make(chan struct{}, users), users: map[v1alpha1.UserID]*turn{}}
}

// wait waits for a user's turn. It returns what ends the turn, or problems.Busy if ctx ends
// before it begins.
func (t *turns) wait(ctx context.Context, user v1alpha1.UserID) (end func(), err error) {
	own := t.want(user)
	select {
	case own.asking <- struct{}{}:
	case <-ctx.Done():
		t.leave(user, own)
		return nil, problems.Busy
	}
	endOwn := func() {
		<-own.asking
		t.leave(user, own)
	}
	if ctx.Err() != nil {
		endOwn()
		return nil, problems.Busy
	}
	select {
	case t.places <- struct{}{}:
		return func() { <-t.places; endOwn() }, nil
	case <-ctx.Done():
		endOwn()
		return nil, problems.Busy
	}
}

func (t *turns) want(user v1alpha1.UserID) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.users[user]
	if own == nil {
		own = &turn{asking: make(chan struct{}, 1)}
		t.users[user] = own
	}
	own.wanted++
	return own
}

func (t *turns) leave(user v1alpha1.UserID, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.wanted--; own.wanted == 0 {
		delete(t.users, user)
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"sync"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// UserShare is the part of the memory for bodies that one user may fill: a
// quarter, so that it takes several to be in everybody's way.
const UserShare = 4

// BodyMemory bounds the memory that the bodies of all requests in flight take. A
// body is kept until its request has ended, since until then it may have to be
// sent again; a slow call keeps it for as long as it runs.
type BodyMemory struct {
	limit int64 // bytes
	// share is the part of it that one may fill: one of so many.
	share int64

	mu     sync.Mutex
	held   int64
	byUser map[v1alpha1.UserID]int64
}

// NewBodyMemory returns a bound of so many bytes, of which one user may take one of
// so many shares.
func NewBodyMemory(limit, share int64) *BodyMemory {
	return &BodyMemory{limit: limit, share: share, byUser: map[v1alpha1.UserID]int64{}}
}

// Take reserves size bytes for the user, or returns problems.Busy. It never waits:
// what waits has to be kept too.
func (b *BodyMemory) Take(user v1alpha1.UserID, size int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held+size > b.limit || b.byUser[user]+size > b.limit/b.share {
		return problems.Busy
	}
	b.held += size
	b.byUser[user] += size
	return nil
}

// Give returns what Take reserved.
func (b *BodyMemory) Give(user v1alpha1.UserID, size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= size
	if b.byUser[user] -= size; b.byUser[user] == 0 {
		delete(b.byUser, user)
	}
}

// Held returns how many bytes are reserved.
func (b *BodyMemory) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

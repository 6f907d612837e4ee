// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"sync"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Slots are how many may have something at once, of one user and in all.
type Slots struct {
	perUser, total int

	mu    sync.Mutex
	users map[v1alpha1.UserID]int
	count int
}

// NewSlots returns so many slots for each user, and in total.
func NewSlots(perUser, total int) *Slots {
	return &Slots{perUser: perUser, total: total, users: map[v1alpha1.UserID]int{}}
}

// Take takes a slot, if there is one for the user.
func (s *Slots) Take(user v1alpha1.UserID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count >= s.total || s.users[user] >= s.perUser {
		return false
	}
	s.count++
	s.users[user]++
	return true
}

// Give gives back what Take took.
func (s *Slots) Give(user v1alpha1.UserID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count--
	if s.users[user]--; s.users[user] == 0 {
		delete(s.users, user)
	}
}

// Taken returns how many are taken.
func (s *Slots) Taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

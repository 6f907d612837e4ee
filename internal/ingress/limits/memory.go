// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// UserShare is the part of the memory for bodies that one user may fill: a
// quarter, so that it takes several to be in everybody's way.
const UserShare = 4

// Memory bounds the memory that bodies and answers of all requests in flight take. A
// body is kept until its request has ended, since until then it may have to be
// sent again; a slow call keeps it for as long as it runs. An answer is kept until its
// client has read it. K is what names a holder.
type Memory[K comparable] struct {
	limit int64 // bytes
	// share is the part of it that one holder may fill: one of so many.
	share int64

	mu       sync.Mutex
	held     int64
	byHolder map[K]int64
}

// NewMemory returns a bound of limit bytes. One holder may take at most the part
// 1/share of it.
func NewMemory[K comparable](limit, share int64) *Memory[K] {
	return &Memory[K]{limit: limit, share: share, byHolder: map[K]int64{}}
}

// For returns a reservation of a holder, of nothing yet.
func (m *Memory[K]) For(holder K) *Reservation { return &Reservation{of: holderShare[K]{m, holder}} }

// Held returns how many bytes are reserved.
func (m *Memory[K]) Held() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}

// take reserves size bytes for a holder, or returns problems.Busy. It never waits:
// what waits has to be kept too.
func (m *Memory[K]) take(holder K, size int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held+size > m.limit || m.byHolder[holder]+size > m.limit/m.share {
		return problems.Busy
	}
	m.add(holder, size)
	return nil
}

// change adds size bytes, which may be negative, whatever the bounds are.
func (m *Memory[K]) change(holder K, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(holder, size)
}

func (m *Memory[K]) add(holder K, size int64) {
	m.held += size
	if m.byHolder[holder] += size; m.byHolder[holder] == 0 {
		delete(m.byHolder, holder)
	}
}

// holder is whose part of a memory is filled.
type holder interface {
	take(size int64) error
	change(size int64)
}

type holderShare[K comparable] struct {
	memory *Memory[K]
	holder K
}

func (h holderShare[K]) take(size int64) error { return h.memory.take(h.holder, size) }
func (h holderShare[K]) change(size int64)     { h.memory.change(h.holder, size) }

// Reservation is the memory that one request holds, in bytes. It belongs to one
// goroutine. Nil holds nothing.
type Reservation struct {
	of   holder
	size int64
}

// Reserve reserves size bytes more, or returns problems.Busy.
func (r *Reservation) Reserve(size int64) error {
	if err := r.of.take(size); err != nil {
		return err
	}
	r.size += size
	return nil
}

// Set has the reservation be of size bytes, because so much is there already. It may pass
// the bounds: then other requests of the holder are refused until there is room.
func (r *Reservation) Set(size int64) {
	r.of.change(size - r.size)
	r.size = size
}

// Move has another holder have what is reserved, or returns problems.Busy and changes
// nothing.
func (r *Reservation) Move(to *Reservation) error {
	if err := to.of.take(r.size); err != nil {
		return err
	}
	r.of.change(-r.size)
	r.of = to.of
	return nil
}

// Holds reports whether anything is reserved.
func (r *Reservation) Holds() bool { return r != nil && r.size > 0 }

// Release gives back what is reserved.
func (r *Reservation) Release() {
	if r.Holds() {
		r.Set(0)
	}
}

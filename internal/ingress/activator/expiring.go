// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package activator

import (
	"sync"
	"time"
)

// maxMarks is when marks that are over are swept out. There are hardly ever more
// live ones than requests that wait.
const maxMarks = 1024

// expiringSet has marks on things for a while, each until an instant of its own. The zero
// value has none.
type expiringSet[K comparable] struct {
	mu    sync.Mutex
	until map[K]time.Time
}

// set marks k until an instant, in place of the mark that it has.
func (m *expiringSet[K]) set(k K, until, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(k, until, now)
}

// claim marks k and reports true, unless k has a mark.
func (m *expiringSet[K]) claim(k K, until, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Before(m.until[k]) {
		return false
	}
	m.put(k, until, now)
	return true
}

func (m *expiringSet[K]) put(k K, until, now time.Time) {
	if m.until == nil {
		m.until = map[K]time.Time{}
	}
	if len(m.until) >= maxMarks {
		for old, until := range m.until {
			if !now.Before(until) {
				delete(m.until, old)
			}
		}
	}
	m.until[k] = until
}

// has reports whether k is marked.
func (m *expiringSet[K]) has(k K, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return now.Before(m.until[k])
}

// clear takes the mark off k.
func (m *expiringSet[K]) clear(k K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.until, k)
}

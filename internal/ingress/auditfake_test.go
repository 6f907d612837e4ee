// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// fakeAudit keeps the entries that it is given, unless it is to fail.
type fakeAudit struct {
	mu      sync.Mutex
	entries []audit.Entry
	err     error
	// before is called at each write; nil for nothing.
	before func(audit.Entry)
}

// Write implements AuditTrail.
func (f *fakeAudit) Write(e audit.Entry) error {
	if f.before != nil {
		f.before(e)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	f.entries = append(f.entries, e.Bounded())
	return nil
}

// all returns what was written.
func (f *fakeAudit) all() []audit.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.entries)
}

// fail has the writes fail with err, or go well again with nil.
func (f *fakeAudit) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func testHasher(t testing.TB) *audit.Hasher {
	t.Helper()
	h, err := audit.NewHasher([]byte(strings.Repeat("k", 16)))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

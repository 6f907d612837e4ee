// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// fakeIndex answers every search with one page.
type fakeIndex struct {
	mu    sync.Mutex
	asked []audit.Query
	page  audit.Page
	err   error
}

// Search implements AuditIndex.
func (f *fakeIndex) Search(_ context.Context, q audit.Query) (audit.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, q)
	return f.page, f.err
}

// answer sets what searches are answered with, and forgets those before.
func (f *fakeIndex) answer(page audit.Page, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, f.page, f.err = nil, page, err
}

// queries returns what was asked for.
func (f *fakeIndex) queries() []audit.Query {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

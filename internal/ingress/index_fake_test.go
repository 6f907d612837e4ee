// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/catalog/usage"
)

// fakeIndex answers every search with one page, and every count with the same
// figures.
type fakeIndex struct {
	mu      sync.Mutex
	asked   []audit.Query
	counted []audit.FiguresQuery
	page    audit.Page
	figures audit.Figures
	err     error
	// count is called in the middle of a count, if it is not nil.
	count func(context.Context) error
}

// Search implements AuditIndex.
func (f *fakeIndex) Search(_ context.Context, q audit.Query) (audit.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, q)
	return f.page, f.err
}

// Figures implements AuditIndex.
func (f *fakeIndex) Figures(ctx context.Context, q audit.FiguresQuery) (audit.Figures, error) {
	f.mu.Lock()
	f.counted = append(f.counted, q)
	count, figures, err := f.count, f.figures, f.err
	f.mu.Unlock()
	if count != nil {
		err = count(ctx)
	}
	return figures, err
}

// answer sets what searches are answered with, and forgets those before.
func (f *fakeIndex) answer(page audit.Page, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, f.page, f.err = nil, page, err
}

// answerFigures is answer for counts.
func (f *fakeIndex) answerFigures(figures audit.Figures, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counted, f.figures, f.err = nil, figures, err
}

// queries returns what was asked for.
func (f *fakeIndex) queries() []audit.Query {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// counts returns what was to be counted.
func (f *fakeIndex) counts() []audit.FiguresQuery {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counted
}

// fakeInventory is what an installation has.
type fakeInventory struct {
	mu  sync.Mutex
	has usage.Inventory
	err error
}

func (f *fakeInventory) set(has usage.Inventory, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.has, f.err = has, err
}

func (f *fakeInventory) get(context.Context) (usage.Inventory, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.has, f.err
}

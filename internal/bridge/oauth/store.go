// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/clock"
)

// saving limits one attempt to store tokens.
const saving = 10 * time.Second

// tokenStore stores the tokens of a login in the user's secret.
type tokenStore struct {
	save  SaveFunc // nil if nothing is stored
	name  string   // name of the secret
	clock clock.Clock
	// start runs a function in the background. The function ends soon after closing is closed.
	start   func(func())
	closing <-chan struct{}

	// storing is held while tokens are stored.
	storing sync.Mutex

	mu sync.Mutex
	// unsaved is the value to store, nil for none. persisting says that a goroutine tries to store
	// it until it succeeds.
	unsaved    []byte
	persisting bool
}

// set sets the value to store.
func (t *tokenStore) set(value []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.unsaved)
	t.unsaved = value
}

// discard overwrites the value that is not stored yet.
func (t *tokenStore) discard() { t.set(nil) }

// store stores the unsaved value. If it fails, it is tried again in the background while calls
// continue: only this process has the tokens.
func (t *tokenStore) store(ctx context.Context) {
	if t.attempt(ctx) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.persisting {
		return
	}
	t.persisting = true
	t.start(func() { t.persist(ctx) })
}

// persist tries until everything is stored. When the source ends, it tries a last time.
func (t *tokenStore) persist(ctx context.Context) {
	for pause, last := firstPause, false; !last; pause = min(2*pause, lastPause) {
		select {
		case <-t.clock.After(pause/2 + jitter(pause/2)):
		case <-t.closing:
			last = true
		}
		t.attempt(ctx)
		t.mu.Lock()
		if t.unsaved == nil || last {
			t.persisting = false
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
	}
}

// attempt tries to store once, and reports whether everything is stored. Attempts of one source
// never overlap, so that an older token is never stored last.
func (t *tokenStore) attempt(ctx context.Context) bool {
	t.storing.Lock()
	defer t.storing.Unlock()
	t.mu.Lock()
	value := bytes.Clone(t.unsaved)
	t.mu.Unlock()
	if value == nil {
		return true
	}
	defer clear(value)
	ctx, cancel := context.WithTimeout(ctx, saving)
	defer cancel()
	if err := t.save(ctx, t.name, value); err != nil && !errors.Is(err, ErrNotStorable) {
		return false // The SaveFunc logs the reason.
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !bytes.Equal(t.unsaved, value) {
		return t.unsaved == nil
	}
	clear(t.unsaved)
	t.unsaved = nil
	return true
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"time"
)

// saving is for one attempt to store tokens.
const saving = 10 * time.Second

func (s *Source) hashOf(value []byte) uint64 { return maphash.Bytes(s.seed, value) }

// store stores what is not stored yet. Where that fails it is tried again
// beside the calls, which go on: the tokens are here, and nowhere else.
func (s *Source) store(ctx context.Context) {
	if s.attempt(ctx) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.persisting {
		return
	}
	s.persisting = true
	s.work.Go(func() { s.persist(ctx) })
}

// persist tries to store until there is nothing left to store. At the end of
// the source it tries once more.
func (s *Source) persist(ctx context.Context) {
	for pause, last := firstPause, false; !last; pause = min(2*pause, lastPause) {
		select {
		case <-s.clock.After(pause/2 + jitter(pause/2)):
		case <-s.closing:
			last = true
		}
		s.attempt(ctx)
		s.mu.Lock()
		if s.unsaved == nil || last {
			s.persisting = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
}

// attempt tries to store once, and reports whether nothing is left to store.
// Attempts of one source never overlap, so that no earlier token comes last.
func (s *Source) attempt(ctx context.Context) bool {
	s.storing.Lock()
	defer s.storing.Unlock()
	s.mu.Lock()
	value := bytes.Clone(s.unsaved)
	s.mu.Unlock()
	if value == nil {
		return true
	}
	defer clear(value)
	ctx, cancel := context.WithTimeout(ctx, saving)
	defer cancel()
	if err := s.save(ctx, s.config.Token, value); err != nil && !errors.Is(err, ErrNotStorable) {
		return false // Who saves says why in the log.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !bytes.Equal(s.unsaved, value) {
		return s.unsaved == nil
	}
	clear(s.unsaved)
	s.unsaved = nil
	return true
}

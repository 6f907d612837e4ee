// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import "context"

// queue is how long a turn is waited for: as long as two others may take to
// refresh and to store.
const queue = 2 * (patience + saving)

// TurnFunc waits until no other process refreshes the login in the secret of
// that name, and keeps them from it until end is called. It returns what the
// secret is now, nil where that is not known. An authorization server that
// rotates refresh tokens takes who shows a used one for a thief.
type TurnFunc func(ctx context.Context, name string) (value []byte, end func(), err error)

// await waits for this process's turn. It reports that the request is over
// where another login is there by then: whoever waits looks at that.
func (s *Source) await(ctx context.Context, f *flight) (over bool, end func(), err error) {
	if s.turn == nil || !s.refreshes() {
		return false, func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, queue)
	defer cancel()
	value, end, err := s.turn(ctx, s.config.Token)
	if err != nil {
		return false, func() {}, errTurn
	}
	defer clear(value)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && value != nil && s.login == f.login && !s.seen[s.hashOf(value)] {
		s.read(string(value))
	}
	if over = s.login != f.login; over {
		f.err = errRefused // Of the login before.
	}
	return over, end, nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import "context"

// queue limits the wait for a turn: two other processes may refresh and store before.
const queue = 2 * (patience + saving)

// TurnFunc waits until no other process refreshes the login in the secret of that name, and blocks
// other processes until end is called. It returns the current value of the secret, nil if it is
// unknown. An authorization server that rotates refresh tokens treats the reuse of an old one as
// theft.
type TurnFunc func(ctx context.Context, name string) (value []byte, end func(), err error)

// await waits for this process's turn. over says that another login was stored meanwhile,
// which waiting calls must read.
func (s *Source) await(ctx context.Context, f *flight) (over bool, end func(), err error) {
	if s.turn == nil || !s.endpoint.refreshes() {
		return false, func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, queue)
	defer cancel()
	value, end, err := s.turn(ctx, s.endpoint.config.Token)
	if err != nil {
		return false, func() {}, errTurn
	}
	defer clear(value)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && value != nil && s.login == f.login && !s.secrets.isOfLogin(value) {
		s.read(string(value))
	}
	if over = s.login != f.login; over {
		f.err = errRefused // It belongs to the previous login.
	}
	return over, end, nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"slices"
	"time"
)

// Share is the memory of one request of a client and of its answers. A nil Share is not limited.
type Share struct {
	budget *Budget

	// The budget's mutex guards the bytes in use.
	request, answers int64
	sent, closed     bool
}

// Share returns a share that holds nothing yet.
func (b *Budget) Share() Share { return Share{budget: b} }

func (s *Share) held() int64 { return s.request + s.answers }

// limited reports whether n bytes of a message have to be counted.
func (s *Share) limited(n int64) bool { return s != nil && s.budget != nil && n > Free }

// TakeRequest waits until there is memory for a client's request of n bytes.
func (s *Share) TakeRequest(ctx context.Context, n int64) error {
	if !s.limited(n) {
		return nil
	}
	return s.budget.take(ctx, s, n*RequestFactor, requests)
}

// Sent gives back what a client's request needs no longer once its server has it.
func (s *Share) Sent() {
	if s == nil || s.budget == nil {
		return
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.request == 0 || s.sent {
		return
	}
	s.sent = true
	left := s.request / RequestFactor * SentFactor
	b.requests -= s.request - left
	b.used -= s.request - left
	s.request = left
	b.wake()
}

// Close gives everything back.
func (s *Share) Close() {
	if s == nil || s.budget == nil {
		return
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	s.closed = true
	if s.held() == 0 {
		return
	}
	b.requests -= s.request
	b.used -= s.held()
	s.request, s.answers = 0, 0
	b.wake()
}

// Closed reports whether Close was called.
func (s *Share) Closed() bool {
	if s.budget == nil {
		return false
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.closed
}

// Answer is the memory of an answer that is being received.
type Answer struct {
	share *Share
	bytes int64
	began time.Time
	cut   func()
	late  bool
}

// TakeAnswer waits until there is memory for an answer of at most n bytes. cut ends its reception.
func (s *Share) TakeAnswer(ctx context.Context, n int64, cut func()) (*Answer, error) {
	if !s.limited(n) {
		return nil, nil
	}
	a := &Answer{share: s, bytes: n * AnswerFactor, cut: cut}
	b := s.budget
	if err := b.take(ctx, s, a.bytes, answers); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a.began = time.Now()
	b.arriving = append(b.arriving, a)
	return a, nil
}

// Received gives back what an answer of n bytes does not need. It returns false if the answer was
// cut off.
func (a *Answer) Received(n int) bool {
	if a == nil {
		return true
	}
	b := a.share.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.arriving, a); i >= 0 {
		b.arriving = slices.Delete(b.arriving, i, i+1)
	}
	rest := a.bytes - min(int64(n)*AnswerFactor, a.bytes)
	if a.late || a.share.closed {
		rest = a.bytes // Nobody gives it back later.
	}
	rest = min(rest, a.share.answers)
	a.share.answers -= rest
	b.used -= rest
	b.wake()
	return !a.late
}

// Count waits until there is memory for an answer of n bytes that has arrived already.
func (s *Share) Count(ctx context.Context, n int) error {
	answer, err := s.TakeAnswer(ctx, int64(n), func() {})
	answer.Received(n)
	return err
}

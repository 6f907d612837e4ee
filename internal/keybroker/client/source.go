// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/clock"
)

const (
	// renewAfter is the part of a certificate's remaining life after which it
	// is renewed: two thirds are left for an outage of the keybroker.
	renewAfter = 1.0 / 3
	// spread is the random part of a wait, so that bridges that started
	// together do not renew together.
	spread = 0.1
	// firstBackoff and maxBackoff bound the wait after a failure. A bridge may
	// stay without certificate for a minute after the keybroker's return; half
	// of each wait is random, so at that rate 10,000 bridges send some 220
	// requests a second.
	firstBackoff = time.Second
	maxBackoff   = time.Minute
)

// Source keeps a certificate fresh. During an outage of the keybroker it keeps
// the certificate that it has. It is safe for concurrent use.
type Source struct {
	issue   func(context.Context) (*tls.Certificate, error)
	roots   *x509.CertPool
	clock   clock.Clock
	log     *slog.Logger
	current atomic.Pointer[tls.Certificate]
	first   chan struct{}
	once    sync.Once
	renewed chan struct{} // capacity 1
}

// NewSource returns a source that is empty until Run has asked the keybroker.
func NewSource(c *Client, clock clock.Clock) *Source {
	return &Source{issue: c.Certificate, roots: c.roots, clock: clock, log: c.log, first: make(chan struct{}), renewed: make(chan struct{}, 1)}
}

// Run renews the certificate until ctx ends, which is no error.
func (s *Source) Run(ctx context.Context) error {
	failures := 0
	for {
		wait, err := s.renew(ctx)
		if ended(ctx) {
			return nil
		}
		if err != nil {
			wait = Backoff(failures)
			failures++
			s.log.Warn("certificate not renewed", "error", err, "retryIn", wait.Round(time.Millisecond).String(), "usable", s.Ready())
		} else {
			failures = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.clock.After(wait):
		}
	}
}

// ended reports whether ctx has ended, so that an error is no failure.
func ended(ctx context.Context) bool { return ctx.Err() != nil }

// renew gets one certificate and returns when to get the next.
func (s *Source) renew(ctx context.Context) (time.Duration, error) {
	certificate, err := s.issue(ctx)
	if err != nil {
		return 0, err
	}
	end := certificate.Leaf.NotAfter
	left := end.Sub(s.clock.Now())
	if left <= 0 {
		return 0, fmt.Errorf("the issued certificate ended at %s: this node's clock or the keybroker's is wrong", end.UTC().Format(time.RFC3339))
	}
	s.current.Store(certificate)
	select {
	case s.renewed <- struct{}{}:
	default:
	}
	s.once.Do(func() { close(s.first) })
	s.log.Info("certificate issued", "expires", end)
	return jitter(time.Duration(float64(left) * renewAfter)), nil
}

// Backoff returns how long to wait before the next request to the keybroker,
// after the given number of earlier failures in a row.
func Backoff(failures int) time.Duration {
	wait := maxBackoff
	if failures < 6 { // 2^6 s is more than a minute.
		wait = firstBackoff << failures
	}
	// Half of it is random: here all bridges wait for the same event.
	return wait/2 + rand.N(wait/2+1) //nolint:gosec // Spreading load needs no secret randomness.
}

// jitter shortens d by up to spread.
func jitter(d time.Duration) time.Duration {
	return d - rand.N(time.Duration(float64(d)*spread)+1) //nolint:gosec // As above.
}

// Ready reports whether there is a certificate that has not expired.
func (s *Source) Ready() bool {
	_, err := s.certificate()
	return err == nil
}

// Expiry returns when the current certificate ends, also if it has ended: zero
// while there has been none.
func (s *Source) Expiry() time.Time {
	if c := s.current.Load(); c != nil {
		return c.Leaf.NotAfter
	}
	return time.Time{}
}

// FirstReady returns a channel that is closed when there is a certificate for
// the first time.
func (s *Source) FirstReady() <-chan struct{} { return s.first }

// Renewed returns a channel that receives after each new certificate, the first
// one included. It holds one message, for one reader.
func (s *Source) Renewed() <-chan struct{} { return s.renewed }

// certificate returns the current certificate. An expired one is not presented
// to peers, which would refuse it with a less helpful error.
func (s *Source) certificate() (*tls.Certificate, error) {
	c := s.current.Load()
	if c == nil {
		return nil, errors.New("no certificate from the keybroker yet")
	}
	if s.clock.Now().After(c.Leaf.NotAfter) {
		return nil, errors.New("the certificate has expired and the keybroker has not renewed it")
	}
	return c, nil
}

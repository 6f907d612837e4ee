// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// running is a source at work whose keybroker the test plays.
type running struct {
	*Source
	clock   *clocktest.Clock
	away    bool
	subject pki.Subject
}

// run starts a source. The test may change away between two waits.
func run(t *testing.T, away bool) *running {
	t.Helper()
	a := newAuthority(t, 1)
	r := &running{clock: clocktest.New(0), away: away, subject: pki.IngressSubject()}
	r.Source = newSource(a, r.clock, slog.New(slog.DiscardHandler), func(context.Context) (*tls.Certificate, error) {
		if r.away {
			return nil, errors.New("connection refused")
		}
		return issued(t, a, r.subject, r.clock.Now()), nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return r
}

func between(t *testing.T, what string, got, low, high time.Duration) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s after %s, want %s to %s", what, got, low, high)
	}
}

func TestACertificateIsRenewedAfterAThirdOfItsLife(t *testing.T) {
	r := run(t, false)
	if r.Ready() && r.current.Load() == nil {
		t.Error("ready without a certificate")
	}
	w := <-r.clock.Waits
	<-r.FirstReady()
	for range 3 {
		before := r.current.Load()
		between(t, "renewed", w.D, 108*time.Minute, 2*time.Hour)
		r.clock.End(w)
		w = <-r.clock.Waits
		if after := r.current.Load(); after == before || !after.Leaf.NotAfter.After(before.Leaf.NotAfter) {
			t.Error("the certificate is not a newer one")
		}
		if !r.Ready() {
			t.Error("not ready")
		}
		select {
		case <-r.Renewed():
		default:
			t.Error("nobody is told of the certificate")
		}
	}
}

func TestAKeybrokerThatIsAwayIsAskedAgainEverMoreRarely(t *testing.T) {
	r := run(t, true)
	for _, most := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		w := <-r.clock.Waits
		between(t, "asked again", w.D, most*time.Second/2, most*time.Second+1)
		select {
		case <-r.FirstReady():
			t.Fatal("ready without a certificate")
		default:
		}
		if r.Ready() {
			t.Fatal("ready without a certificate")
		}
		r.clock.End(w)
	}
	w := <-r.clock.Waits
	r.away = false
	r.clock.End(w)
	w = <-r.clock.Waits
	if !r.Ready() {
		t.Error("not ready although the keybroker is back")
	}
	// And the next absence begins with short waits again.
	r.away = true
	r.clock.End(w)
	w = <-r.clock.Waits
	between(t, "asked again", w.D, time.Second/2, time.Second+1)
}

func TestTheOldCertificateServesWhileTheKeybrokerIsAway(t *testing.T) {
	r := run(t, false)
	w := <-r.clock.Waits
	old := r.current.Load()
	r.away = true
	for r.clock.Now().Add(w.D).Before(old.Leaf.NotAfter) {
		if got, err := r.certificate(); err != nil || got != old {
			t.Fatalf("at %s: certificate %p, error %v", r.clock.Now(), got, err)
		}
		r.clock.End(w)
		w = <-r.clock.Waits
	}
	r.clock.Advance(2 * w.D)
	if _, err := r.certificate(); err == nil || r.Ready() {
		t.Error("an expired certificate still serves")
	}
	r.away = false
	w.Fire <- r.clock.Now()
	<-r.clock.Waits
	if got, err := r.certificate(); err != nil || got == old {
		t.Errorf("back: certificate %p (old %p), error %v", got, old, err)
	}
}

func TestACertificateThatHasAlreadyEndedIsAFailure(t *testing.T) {
	a, clock := newAuthority(t, 1), clocktest.New(0)
	s := newSource(a, clock, slog.New(slog.DiscardHandler), func(context.Context) (*tls.Certificate, error) {
		return issued(t, a, pki.IngressSubject(), clocktest.Start.Add(-pki.Lifetime)), nil
	})
	if _, err := s.renew(t.Context()); err == nil || s.current.Load() != nil {
		t.Errorf("error %v, certificate %v", err, s.current.Load())
	}
}

func TestTheEndOfTheContextEndsARequestUnderWay(t *testing.T) {
	asked := make(chan struct{})
	s := newSource(newAuthority(t, 1), clocktest.New(0), slog.New(slog.DiscardHandler), func(ctx context.Context) (*tls.Certificate, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-asked
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

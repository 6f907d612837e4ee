// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"
)

// trust fails a number of times and then takes what it is given.
type trust struct {
	failures int
	calls    int
	pem      string
}

func (f *trust) ApplyCA(_ context.Context, namespace string, data map[string]string) error {
	f.calls++
	if f.calls <= f.failures {
		return errors.New("connection refused")
	}
	f.pem = namespace + "/" + data["k"]
	return nil
}

func TestTheAuthorityIsPublishedHoweverLateTheAPIServerAnswers(t *testing.T) {
	f := &trust{failures: 8}
	var waits []time.Duration
	p := &Publisher{Trust: f, Namespace: "ns", Data: map[string]string{"k": "pem"}, Log: slog.New(slog.DiscardHandler), After: func(d time.Duration) <-chan time.Time {
		waits = append(waits, d)
		c := make(chan time.Time, 1)
		c <- time.Time{}
		return c
	}}
	if p.Published() {
		t.Error("published before it was tried")
	}
	if err := p.Run(t.Context()); err != nil || !p.Published() || f.pem != "ns/pem" || f.calls != 9 {
		t.Errorf("error %v, %d calls, published %q", err, f.calls, f.pem)
	}
	for i, most := range []time.Duration{1, 2, 4, 8, 16, 20, 20, 20} {
		if most *= time.Second; waits[i] < most/2 || waits[i] > most+1 {
			t.Errorf("wait %d is %s, want %s to %s", i, waits[i], most/2, most)
		}
	}
}

func TestPublishingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := &Publisher{Trust: &trust{failures: 1 << 30}, Log: slog.New(slog.DiscardHandler), After: func(time.Duration) <-chan time.Time {
		cancel()
		return nil
	}}
	if err := p.Run(ctx); err != nil || p.Published() {
		t.Errorf("error %v, published %v", err, p.Published())
	}
}

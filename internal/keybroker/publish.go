// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	// caName and caKey are where the authority's certificate is published.
	caName = "hosted-bridge-ca"
	caKey  = "ca.crt"

	// Publishing is tried again after these; nothing else works without the
	// API server either, so there is no hurry beyond a minute's third.
	firstRetry = time.Second
	maxRetry   = 20 * time.Second
)

// Trust is where those who trust the authority read its certificate.
type Trust interface {
	ApplyCA(ctx context.Context, namespace string, pem []byte) error
}

// Publisher publishes the authority's certificate in a namespace.
type Publisher struct {
	Trust     Trust
	Namespace string
	PEM       []byte
	// After returns a channel that receives once, after d: time.After.
	After func(d time.Duration) <-chan time.Time
	Log   *slog.Logger

	published atomic.Bool
}

// Published reports whether the certificate was published. What happens to it
// afterwards does not change that.
func (p *Publisher) Published() bool { return p.published.Load() }

// Run publishes once, which may take several tries, or ends with ctx. Every
// replica publishes the same bytes, so that they need not agree on who does.
func (p *Publisher) Run(ctx context.Context) error {
	for wait := firstRetry; ; wait = min(2*wait, maxRetry) {
		err := p.Trust.ApplyCA(ctx, p.Namespace, p.PEM)
		if err == nil {
			p.published.Store(true)
			p.Log.InfoContext(ctx, "certificate authority published", "namespace", p.Namespace, "configMap", caName)
			return nil
		}
		if ended(ctx) {
			return nil
		}
		pause := wait/2 + rand.N(wait/2+1) //nolint:gosec // Spreading load needs no secret randomness.
		p.Log.WarnContext(ctx, "certificate authority not published", "error", fmt.Errorf("apply ConfigMap %s: %w", caName, err), "retryIn", pause.Round(time.Millisecond).String())
		select {
		case <-ctx.Done():
			return nil
		case <-p.After(pause):
		}
	}
}

// ended reports whether nobody waits for more: no failure, but the end.
func ended(ctx context.Context) bool { return ctx.Err() != nil }

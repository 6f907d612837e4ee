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

	"github.com/hostedbridge/hostedbridge/internal/pki"
)

const (
	// caName is the ConfigMap of what the authority publishes: its certificate, and the public key
	// of its signatures of images.
	caName   = "hosted-bridge-ca"
	caKey    = "ca.crt"
	imageKey = "images.pub"

	// firstRetry and the longest wait between tries to publish. Nothing else
	// works without the API server either, so 20 seconds are soon enough.
	firstRetry = time.Second
	maxRetry   = 20 * time.Second
)

// Trust is where clients read the certificate and the public key of the authority.
type Trust interface {
	ApplyCA(ctx context.Context, namespace string, data map[string]string) error
}

// Published returns what is published of an authority.
func Published(authority *pki.Authority) (map[string]string, error) {
	key, err := authority.ImageKeyPEM()
	if err != nil {
		return nil, err
	}
	return map[string]string{caKey: string(authority.CertificatePEM()), imageKey: string(key)}, nil
}

// Publisher publishes what clients need of the authority in a namespace.
type Publisher struct {
	Trust     Trust
	Namespace string
	Data      map[string]string
	// After returns a channel that receives once, after d: time.After.
	After func(d time.Duration) <-chan time.Time
	Log   *slog.Logger

	published atomic.Bool
}

// Published reports whether the certificate was published. Later changes to it
// do not matter.
func (p *Publisher) Published() bool { return p.published.Load() }

// Run publishes once, which may take several tries, or ends with ctx. Every
// replica publishes the same bytes, so they need no agreement.
func (p *Publisher) Run(ctx context.Context) error {
	for wait := firstRetry; ; wait = min(2*wait, maxRetry) {
		err := p.Trust.ApplyCA(ctx, p.Namespace, p.Data)
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

// ended reports whether ctx has ended, so that an error is no failure.
func ended(ctx context.Context) bool { return ctx.Err() != nil }

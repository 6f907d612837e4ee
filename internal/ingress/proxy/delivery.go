// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// deliver sends x and returns the bridge's answer, or what it answered last, whose header
// is not yet the client's. It sends x again only where nothing of it can have left, because there
// was no connection or no proof of the peer: then it drops the route and asks for
// another one. It fails with problems.BridgeFailed when the call may have run, with
// the activator's error when it did not, and with the context's error.
func (p *Proxy) deliver(ctx context.Context, x *Request) (*http.Response, error) {
	for {
		x.Attempts++
		x.Host = p.Bridges.Address(x.backend)
		res, err := p.Bridges.Send(ctx, x.backend, h1.Request{Head: &x.Request, Length: x.Method == http.MethodPost, Body: x.Body})
		if err == nil {
			return res, nil
		}
		failed, ok := errors.AsType[*bridgeclient.NotSentError](err)
		if !ok {
			return nil, fmt.Errorf("%w: %w", problems.BridgeFailed, err)
		}
		if gone := ctx.Err(); gone != nil {
			// The attempt ended because its client left, and says nothing of the pod.
			return nil, fmt.Errorf("%w: during %w", gone, failed)
		}
		p.metrics.undelivered.WithLabelValues(failed.Reason).Inc()
		p.Activator.Drop(x.backend)
		if res := p.keptAnswer(ctx, x); res != nil {
			return res, nil
		}
		if err := p.findPod(ctx, x); err != nil {
			return nil, fmt.Errorf("%w: after %w", err, failed)
		}
		p.metrics.retries.Inc()
	}
}

// findPod finds the pod that x goes to.
func (p *Proxy) findPod(ctx context.Context, x *Request) error {
	backend, held, err := p.Activator.Backend(ctx, x.Principal, x.deadline)
	x.backend = backend
	x.Held += held
	return err
}

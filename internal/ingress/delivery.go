// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// exchange is one request on its way to its bridge.
type exchange struct {
	principal principal
	backend   route.Backend
	// method, path and query, checked, are the bridge's, and host is where its
	// pod listens.
	method, path, query, host string
	// header is the client's. What of it goes on is rewrite.go's to say.
	header http.Header
	// requestID goes out in place of the client's.
	requestID string
	body      []byte
	// deadline ends the waiting for a pod, not the answer.
	deadline time.Time
}

// bridges are what delivery needs of the way to them.
type bridges interface {
	// address is where a bridge's pod listens.
	address(b route.Backend) string
	// send carries a request to a bridge, and fails with undelivered only where
	// nothing of it has left.
	send(ctx context.Context, to route.Backend, r h1.Request) (*http.Response, error)
}

// delivery brings requests to bridges. It sends a request at most once:
// only where nothing of it can have left, because there was no connection or
// no proof of the peer, it drops the route, asks for another and tries again.
type delivery struct {
	bridges bridges
	hold    *hold
	metrics *metrics
}

// deliver sends x and returns the bridge's answer, whose header is not yet the
// client's. It fails with errBridgeFailed when the call may have run, with what
// hold found when it did not, and with the context's error.
func (d *delivery) deliver(ctx context.Context, x *exchange) (*http.Response, error) {
	rec := recordOf(ctx)
	for {
		rec.attempts++
		x.host = d.bridges.address(x.backend)
		res, err := d.bridges.send(ctx, x.backend, h1.Request{Head: x, Length: x.method == http.MethodPost, Body: x.body})
		if err == nil {
			return d.finalAnswer(res, rec), nil
		}
		failed, ok := errors.AsType[*undelivered](err)
		if !ok {
			return nil, fmt.Errorf("%w: %w", errBridgeFailed, err)
		}
		if gone := ctx.Err(); gone != nil {
			// The attempt ended for its client's sake, and says nothing of the pod.
			return nil, fmt.Errorf("%w: during %w", gone, failed)
		}
		d.metrics.undelivered.WithLabelValues(failed.reason).Inc()
		d.hold.drop(x.backend)
		x.backend, err = d.hold.backend(ctx, x.principal, x.deadline)
		if err != nil {
			return nil, fmt.Errorf("%w: after %w", err, failed)
		}
		d.metrics.retries.Inc()
	}
}

// finalAnswer puts what is told at the answer's end before its body.
func (d *delivery) finalAnswer(res *http.Response, rec *record) *http.Response {
	res.Body = newAudited(res, rec, d.metrics)
	return res
}

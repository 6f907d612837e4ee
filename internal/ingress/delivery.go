// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

// exchange is one request on its way to its bridge.
type exchange struct {
	principal principal
	backend   route.Backend
	// endpoint ends the bridge's path, and query follows it, checked.
	endpoint string
	query    string
	body     []byte
	// deadline ends the waiting for a pod, not the answer.
	deadline time.Time
	// err is why there was no answer.
	err error
}

type exchangeKey struct{}

func contextWithExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeOf(ctx context.Context) *exchange {
	return ctx.Value(exchangeKey{}).(*exchange)
}

// delivery is the transport behind the proxy. It sends a request at most once:
// only where nothing of it can have left, because there was no connection or
// no proof of the peer, it drops the route, asks for another and tries again.
type delivery struct {
	transport http.RoundTripper
	dialer    *dialer
	hold      *hold
	metrics   *metrics
}

// RoundTrip implements http.RoundTripper.
func (d *delivery) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	x, rec := exchangeOf(ctx), recordOf(ctx)
	for {
		rec.attempts++
		res, err := d.transport.RoundTrip(d.outbound(req, x))
		if err == nil {
			return d.finalAnswer(res, rec)
		}
		failed, ok := errors.AsType[*undelivered](err)
		if !ok {
			return nil, fmt.Errorf("%w: %w", errBridgeFailed, err)
		}
		d.metrics.undelivered.WithLabelValues(failed.reason).Inc()
		d.hold.dropped.add(x.backend, time.Now())
		x.backend, err = d.hold.backend(ctx, x.principal, x.deadline)
		if err != nil {
			return nil, fmt.Errorf("%w: after %w", err, failed)
		}
		d.metrics.retries.Inc()
	}
}

// outbound addresses a copy of req to x's pod.
func (d *delivery) outbound(req *http.Request, x *exchange) *http.Request {
	ctx := context.WithValue(withoutTrace{req.Context()}, backendKey{}, x.backend)
	out := req.WithContext(ctx) //nolint:contextcheck // It is the request's own, without the trace.
	u := *req.URL
	u.Host = poolHost(x.backend)
	out.URL = &u
	out.Host = d.dialer.address(x.backend)
	out.Body, out.GetBody, out.ContentLength = nil, nil, 0
	if len(x.body) > 0 {
		out.ContentLength = int64(len(x.body))
		// GetBody lets the transport go to another connection when a pooled
		// one turns out dead before the first byte.
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
		out.Body, _ = out.GetBody()
	}
	return out
}

// finalAnswer refuses what would leave HTTP, and takes the trailers off: they
// are headers that pass no allow-list, and one of them is for us. The copy keeps
// the body from putting them back at its end.
func (d *delivery) finalAnswer(res *http.Response, rec *record) (*http.Response, error) {
	if res.StatusCode < http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%w: status %d", errBridgeFailed, res.StatusCode), res.Body.Close())
	}
	answer := *res
	answer.Trailer = nil
	answer.Body = &audited{ReadCloser: res.Body, of: res, record: rec, metrics: d.metrics}
	return &answer, nil
}

// withoutTrace hides the proxy's client trace from the transport. The proxy
// would use it to pass 1xx answers on with all their headers, past the
// allow-list and in place of ours.
type withoutTrace struct{ context.Context }

// Value implements context.Context.
func (c withoutTrace) Value(key any) any {
	v := c.Context.Value(key)
	if _, trace := v.(*httptrace.ClientTrace); trace {
		return nil
	}
	return v
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// dialTimeout and handshakeTimeout bound reaching a server. They add up to
	// less than a person waits before trying again.
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	// idleTimeout is shorter than the minute after which common load balancers
	// drop an idle connection without a word.
	idleTimeout = 50 * time.Second
	// streamPatience is how long a server may take to begin its event stream.
	// Some gateways hold the stream's headers back until there is an event,
	// which would hold up the connection for ever.
	streamPatience = 5 * time.Second
	// maxRedirects is enough for a trailing slash and a change of scheme.
	maxRedirects = 2
)

// newTransport returns the network below all upstream connections.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	// There is no bound on the time to an answer: a tool may work for minutes.
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        64,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     idleTimeout,
		TLSHandshakeTimeout: handshakeTimeout,
	}
}

// newClient returns the HTTP client of one server's connections.
func newClient(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: &tap{next: next}, CheckRedirect: sameHost}
}

// sameHost refuses redirects to another host, and from https to http: a request
// carries what the user meant for one server.
func sameHost(r *http.Request, via []*http.Request) error {
	first := originOf(via[0].URL.String())
	if len(via) > maxRedirects || !first.holds(r.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// patience answers for a server that does not begin its event stream in time,
// by saying that it has none.
type patience struct {
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (p *patience) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return p.next.RoundTrip(r)
	}
	ctx, cancel := context.WithCancel(r.Context())
	var late atomic.Bool
	timer := time.AfterFunc(streamPatience, func() {
		late.Store(true)
		cancel()
	})
	resp, err := p.next.RoundTrip(r.WithContext(ctx))
	if !timer.Stop() && late.Load() && r.Context().Err() == nil {
		if err == nil {
			_ = resp.Body.Close()
		}
		cancel()
		return noStream(r), nil
	}
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &cancelledBody{resp.Body, cancel}
	return resp, nil
}

func noStream(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: http.StatusMethodNotAllowed,
		Status:     "405 Method Not Allowed",
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{},
		Body:       http.NoBody,
		Request:    r,
	}
}

// cancelledBody releases its request's context when it is closed.
type cancelledBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *cancelledBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// follow returns a context with the values of parent that also ends when
// trigger does. Requests to a server must not see the values of a client's
// request: the SDK keeps ids there.
func follow(parent, trigger context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(trigger, func() { cancel(context.Cause(trigger)) })
	return ctx, func() {
		stop()
		cancel(errDone)
	}
}

var errDone = errors.New("done")

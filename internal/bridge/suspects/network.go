// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package suspects

import (
	"io"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// Network returns next, with the server's requests and answers counted.
func (w *Watch) Network(server string, next http.RoundTripper) http.RoundTripper {
	if w == nil {
		return next
	}
	return &network{next: next, traffic: w.of(server)}
}

type network struct {
	next    http.RoundTripper
	traffic *traffic
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Header.Get(message.HeaderMethod) == methods.Listen {
		// A stream on which the bridge listens for hours is no request that waits.
		resp, err := n.next.RoundTrip(r)
		if err == nil {
			resp.Body = &stream{ReadCloser: resp.Body, of: n.traffic}
		}
		return resp, err
	}
	x := n.traffic.begin()
	x.pass(max(r.ContentLength, 0))
	resp, err := n.next.RoundTrip(r)
	if err != nil {
		x.end()
		return nil, err
	}
	resp.Body = &answer{ReadCloser: resp.Body, to: x}
	return resp, nil
}

// stream counts the bytes of a stream.
type stream struct {
	io.ReadCloser
	of *traffic
}

// Read implements io.Reader.
func (b *stream) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.pass(int64(n))
	return n, err
}

// answer counts the bytes of an answer, and ends its exchange.
type answer struct {
	io.ReadCloser
	to *exchange
}

// Read implements io.Reader.
func (b *answer) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.to.pass(int64(n))
	return n, err
}

// Close implements io.Closer.
func (b *answer) Close() error {
	b.to.end()
	return b.ReadCloser.Close()
}

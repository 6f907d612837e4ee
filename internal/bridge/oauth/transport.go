// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"io"
	"net/http"
)

// maxDrained is how many bytes of a discarded answer are read, so that its connection can be
// reused.
const maxDrained = 4 << 10

// Transport returns a RoundTripper that sends the token with each request. If the server refuses
// the token with 401, it gets a new token and sends the request once more, if the body can be sent
// again. A 403 is an answer: a new token would have the same scopes.
//
// It adds the token to every request, so the caller must not pass it requests to other servers.
func (s *Source) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{source: s, next: next}
}

type transport struct {
	source *Source
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := t.source.token(r.Context(), "")
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // A RoundTripper must close the body.
		}
		return nil, err
	}
	res, err := t.send(r, r.Body, token)
	if err != nil || res.StatusCode != http.StatusUnauthorized || !t.source.isRefusable(token) {
		return res, err
	}
	token, err = t.source.token(r.Context(), token)
	again := r.Body
	if err == nil && again != nil && again != http.NoBody {
		if r.GetBody == nil {
			return res, nil // The body cannot be sent again; the next request has the new token.
		}
		again, err = r.GetBody()
	}
	_, _ = io.CopyN(io.Discard, res.Body, maxDrained)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	return t.send(r, again, token)
}

func (t *transport) send(r *http.Request, body io.ReadCloser, token string) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.Body = body
	out.Header.Set("Authorization", "Bearer "+token)
	return t.next.RoundTrip(out)
}

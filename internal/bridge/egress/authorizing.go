// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
)

// AuthorizationNetwork is the network to authorization servers. ErrPlain does not apply to them.
type AuthorizationNetwork struct{ Next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a AuthorizationNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.Next.RoundTrip(r)
	if errors.Is(err, ErrPlain) {
		return nil, oauth.ErrPlain
	}
	return resp, err
}

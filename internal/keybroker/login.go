// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// loginKeys answers with the public keys by which access tokens are verified, a
// JWK Set (RFC 7517, 5).
func (s *Server) loginKeys(context.Context, *call) (answer, error) {
	set, err := s.login().Public(s.now())
	if err != nil {
		return answer{}, fmt.Errorf("derive login keys: %w", err)
	}
	body, err := json.Marshal(set)
	if err != nil {
		return answer{}, errors.New("encode login keys")
	}
	return answer{status: http.StatusOK, mediaType: "application/jwk-set+json", body: body}, nil
}

// signLogin signs the claims of an access token. The ingress decides whose
// token it is, just as it decides whose secrets it changes.
func (s *Server) signLogin(_ context.Context, c *call) (answer, error) {
	token, err := s.login().Sign(c.body, s.now())
	if errors.Is(err, oauth.ErrClaims) {
		return answer{}, fmt.Errorf("%w: %w", errClaims.Saying("These are "+err.Error()+"."), err)
	}
	if err != nil {
		return answer{}, fmt.Errorf("sign access token: %w", err)
	}
	s.metrics.signed.Inc()
	return answer{status: http.StatusOK, mediaType: "application/jwt", body: []byte(token)}, nil
}

// login returns the current keys.
func (s *Server) login() oauth.SigningKeys { return oauth.NewSigningKeys(s.authority, s.generation()) }

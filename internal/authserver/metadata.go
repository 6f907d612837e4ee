// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// publicFor is how long anyone may keep what does not change often: a new key is
// public for a month before it signs.
const publicFor = 5 * time.Minute

// The values that are the only ones, of what the server's metadata, a client and
// a request say.
const (
	grantCode        = "authorization_code"
	grantRefresh     = "refresh_token"
	responseCode     = "code"
	responseQuery    = "query"
	methodS256       = "S256"
	authNone         = "none"
	tokenBearer      = "Bearer"
	scopeOffline     = "offline_access"
	applicationJSON  = "application/json"
	applicationJWKS  = "application/jwk-set+json"
	headerCache      = "Cache-Control"
	cacheNever       = "no-store"
	headerType       = "Content-Type"
	headerLocation   = "Location"
	headerRetryAfter = "Retry-After"
)

func (s *core) newMetadata() []byte {
	m := flow.Metadata{
		Issuer: s.Issuer, Authorize: s.Issuer + pathAuthorize, Token: s.Issuer + pathToken, Keys: s.Issuer + pathKeys,
		Revoke: s.Issuer + pathRevoke, RevokeAuth: []string{authNone},
		Scopes:        oauth.Scopes(),
		ResponseTypes: []string{responseCode}, ResponseModes: []string{responseQuery},
		Grants: []string{grantCode, grantRefresh}, TokenAuth: []string{authNone}, Challenges: []string{methodS256},
		NamesItself: true, ClientDocuments: s.Documents != nil,
	}
	if s.Registration.Enabled {
		m.Register = s.Issuer + pathRegister
	}
	return jsondoc.EncodeExact(m)
}

func (s *core) serveMetadata(c httpapi.Call) error {
	return public(c, applicationJSON, s.metadata)
}

// serveKeys serves the public keys of access tokens.
func (s *core) serveKeys(c httpapi.Call) error {
	set, err := s.Keys.Keys(c.Request().Context())
	if err != nil {
		return fmt.Errorf("%w: %w", errKeysAway, err)
	}
	body, err := json.Marshal(set)
	if err != nil {
		return errors.New("encode the keys of access tokens")
	}
	return public(c, applicationJWKS, body)
}

// public answers with what anyone may read.
func public(c httpapi.Call, mediaType string, body []byte) error {
	h := c.Writer().Header()
	h.Set(headerCache, fmt.Sprintf("public, max-age=%d", int(publicFor.Seconds())))
	h.Set(headerType, mediaType)
	// Whoever hung up does not read it either.
	_, _ = c.Writer().Write(body)
	return nil
}

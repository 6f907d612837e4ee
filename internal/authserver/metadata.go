// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

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

// metadata is what RFC 8414 and those that extend it have a server say of itself.
type metadata struct {
	Issuer          string   `json:"issuer"`
	Authorize       string   `json:"authorization_endpoint"`
	Token           string   `json:"token_endpoint"`
	Keys            string   `json:"jwks_uri"`
	Register        string   `json:"registration_endpoint,omitempty"`
	Revoke          string   `json:"revocation_endpoint"`
	RevokeAuth      []string `json:"revocation_endpoint_auth_methods_supported"`
	Scopes          []string `json:"scopes_supported"`
	ResponseTypes   []string `json:"response_types_supported"`
	ResponseModes   []string `json:"response_modes_supported"`
	Grants          []string `json:"grant_types_supported"`
	TokenAuth       []string `json:"token_endpoint_auth_methods_supported"`
	Challenges      []string `json:"code_challenge_methods_supported"`
	NamesItself     bool     `json:"authorization_response_iss_parameter_supported"`
	ClientDocuments bool     `json:"client_id_metadata_document_supported"`
}

func (s *core) newMetadata() []byte {
	m := metadata{
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
	return flow.Encode(m)
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

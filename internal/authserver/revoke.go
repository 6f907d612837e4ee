// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"errors"
	"net/http"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/authserver/grant"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

var (
	errNoToken     = newJSONError(codeInvalidRequest, "token is missing.")
	errOtherClient = newJSONError(codeInvalidGrant, "The token was given to another client.")
	errAccess      = newJSONError(codeUnsupportedToken, "Access tokens end by themselves after some minutes; revoke the refresh token.")
)

// revoke is the revocation endpoint (RFC 7009): a client that is done with a
// grant, or whose person is, gives its refresh token back. Also one that has been
// used up ends its grant.
func (s *tokenHandler) revoke(c httpapi.Call) (jsonAnswer, error) {
	p, clientID, err := programForm(c)
	if err != nil {
		return jsonAnswer{}, err
	}
	token := p.Get("token")
	if token == "" {
		return jsonAnswer{}, errNoToken
	}
	gone := jsonAnswer{status: http.StatusOK}
	presented, err := grant.ParseCredential(grant.Refresh, token)
	if err != nil {
		if strings.Count(token, ".") == 2 {
			return jsonAnswer{}, errAccess
		}
		return gone, nil // Section 2.2: what is not good need not be revoked.
	}
	ctx := c.Request().Context()
	g, err := s.grants.Load(ctx, presented)
	if errors.Is(err, grant.ErrNotFound) {
		return gone, nil
	}
	if err != nil {
		return jsonAnswer{}, err
	}
	if g.Client != clientID {
		return jsonAnswer{}, errOtherClient
	}
	return gone, s.grants.End(ctx, g)
}

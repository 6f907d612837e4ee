// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"errors"
	"net/http"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/surface"
)

var (
	errNoToken     = refuseProgram(codeInvalidRequest, "token is missing.")
	errOtherClient = refuseProgram(codeInvalidGrant, "The token was given to another client.")
	errAccess      = refuseProgram(codeUnsupportedToken, "Access tokens end by themselves after some minutes; revoke the refresh token.")
)

// revoke is the revocation endpoint (RFC 7009): a client that is done with a
// grant, or whose person is, gives its refresh token back. Also one that has been
// used up ends its grant.
func (s *Server) revoke(c surface.Call) (programAnswer, error) {
	p, client, err := programForm(c)
	if err != nil {
		return programAnswer{}, err
	}
	token := p.get("token")
	if token == "" {
		return programAnswer{}, errNoToken
	}
	gone := programAnswer{status: http.StatusOK}
	presented, err := parseCredential(kindRefresh, token)
	if err != nil {
		if strings.Count(token, ".") == 2 {
			return programAnswer{}, errAccess
		}
		return gone, nil // Section 2.2: what is not good need not be revoked.
	}
	ctx := c.Request().Context()
	h, err := s.held(ctx, presented)
	if errors.Is(err, errNoGrant) {
		return gone, nil
	}
	if err != nil {
		return programAnswer{}, err
	}
	if h.Client != client {
		return programAnswer{}, errOtherClient
	}
	return gone, s.end(ctx, h, nil)
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"errors"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// registerHandler answers the registration endpoint.
type registerHandler struct{ *core }

// register is the registration endpoint (RFC 7591). Anybody may register, so that a
// client's name proves nothing. The page on which a person agrees says so.
func (s *registerHandler) register(c httpapi.Call) (jsonAnswer, error) {
	body, err := c.Body()
	if err != nil {
		return jsonAnswer{}, err
	}
	asked, err := client.ReadMetadata(body, s.redirects)
	if wrong, ok := errors.AsType[*client.MetadataError](err); ok {
		return jsonAnswer{}, newJSONError(wrong.Code, wrong.Description)
	}
	if err != nil {
		return jsonAnswer{}, err
	}
	id, at, err := s.clients.Register(c.Request().Context(), asked.Name, asked.RedirectURIs)
	if err != nil {
		return jsonAnswer{}, err
	}
	asked.ID, asked.Issued = id, at.Unix()
	return jsonAnswer{http.StatusCreated, asked}, nil
}

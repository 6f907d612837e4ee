// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const (
	// maxRedirects is how many redirect URIs a client may register: one for each way to
	// start it.
	maxRedirects = 20
	// maxAllRedirects is their total length in bytes. It limits a registered client to
	// about 10 KiB in the store.
	maxAllRedirects = 8 << 10
)

// clientMetadata is what a client registers with (RFC 7591, section 2), and what it is
// answered (section 3.2.1). Other members are ignored.
type clientMetadata struct {
	ID            string   `json:"client_id"`
	Issued        int64    `json:"client_id_issued_at"`
	Name          string   `json:"client_name,omitempty"`
	RedirectURIs  []string `json:"redirect_uris"`
	Auth          string   `json:"token_endpoint_auth_method"`
	Grants        []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	Scope         string   `json:"scope"`
}

var (
	errRegisterForm    = newJSONError(codeInvalidMetadata, "The body is not a JSON object in which each member stands once and has its type.")
	errRegisterGrants  = newJSONError(codeInvalidMetadata, "grant_types must have authorization_code, and response_types code.")
	errRegisterNowhere = newJSONError(codeInvalidRedirect, "redirect_uris must be a list of 1 to 20 URIs.")
	errRegisterLong    = newJSONError(codeInvalidRedirect, "redirect_uris together may have 8192 characters.")
)

// registerHandler answers the registration endpoint.
type registerHandler struct{ *core }

// register is the registration endpoint (RFC 7591). Anybody may register, so that a
// client's name proves nothing. The page on which a person agrees says so.
func (s *registerHandler) register(c httpapi.Call) (jsonAnswer, error) {
	asked, err := s.readMetadata(c)
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

// readMetadata returns the metadata that a client gets for what it sent.
func (s *registerHandler) readMetadata(c httpapi.Call) (clientMetadata, error) {
	body, err := c.Body()
	if err != nil {
		return clientMetadata{}, err
	}
	doc, err := jsondoc.Parse(body)
	if err != nil || doc.Kind != jsondoc.Object {
		return clientMetadata{}, errRegisterForm
	}
	var asked clientMetadata
	err = json.Unmarshal(body, &asked)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return clientMetadata{}, newJSONError(codeInvalidMetadata, fmt.Sprintf("%s is a %s, which is not its type.", wrong.Field, wrong.Value))
	}
	if err != nil {
		return clientMetadata{}, errRegisterForm
	}
	if len(asked.RedirectURIs) == 0 || len(asked.RedirectURIs) > maxRedirects {
		return clientMetadata{}, errRegisterNowhere
	}
	if length := len(strings.Join(asked.RedirectURIs, "")); length > maxAllRedirects {
		return clientMetadata{}, errRegisterLong
	}
	for i, uri := range asked.RedirectURIs {
		if err := s.redirects.Check(uri); err != nil {
			return clientMetadata{}, newJSONError(codeInvalidRedirect, fmt.Sprintf("redirect_uris[%d] is refused: %s.", i, err))
		}
	}
	return asked.granted()
}

// granted returns the metadata that a client gets. A client that asked for a secret
// gets none: the answer says so (section 2).
func (r clientMetadata) granted() (clientMetadata, error) {
	may := []string{grantCode, grantRefresh}
	if len(r.Grants) == 0 {
		r.Grants = []string{grantCode} // Section 2's default.
	}
	r.Grants = slices.DeleteFunc(may, func(grant string) bool { return !slices.Contains(r.Grants, grant) })
	if !slices.Contains(r.Grants, grantCode) || len(r.ResponseTypes) > 0 && !slices.Contains(r.ResponseTypes, responseCode) {
		return clientMetadata{}, errRegisterGrants
	}
	r.ResponseTypes = []string{responseCode}
	r.Auth = authNone
	r.Name = flow.ShownName(r.Name)
	names := slices.DeleteFunc(strings.Fields(r.Scope), func(name string) bool { return !slices.Contains(oauth.AllScopes(), name) })
	if len(names) == 0 {
		names = oauth.Scopes()
	}
	r.Scope = strings.Join(names, " ")
	return r, nil
}

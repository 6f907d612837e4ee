// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

const (
	// maxRedirects is how many redirect URIs a client may register: one for each
	// way in which a program can be started.
	maxRedirects = 20
	// maxAllRedirects is how many bytes they may have together, so that a registered
	// client takes no more of the store than some 10 KiB.
	maxAllRedirects = 8 << 10
)

// registering is what a client says of itself (RFC 7591, section 2), and hears of
// what it got (section 3.2.1). What it says beside has no use here.
type registering struct {
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
	errRegisterForm    = refuseProgram(codeInvalidMetadata, "The body is not a JSON object in which each member stands once and has its type.")
	errRegisterGrants  = refuseProgram(codeInvalidMetadata, "grant_types must have authorization_code, and response_types code.")
	errRegisterNowhere = refuseProgram(codeInvalidRedirect, "redirect_uris must be a list of 1 to 20 URIs.")
	errRegisterLong    = refuseProgram(codeInvalidRedirect, "redirect_uris together may have 8192 characters.")
	errRegisterFull    = &programError{http.StatusServiceUnavailable, codeUnavailable, "There are as many clients as there may be. Use a client id metadata document, or ask an administrator for a client."}
)

// register is the registration endpoint (RFC 7591). Anybody may register, so that
// a registered client is nobody in particular: the person who lets one in is told
// that its name is its own word.
func (s *Server) register(c surface.Call) (programAnswer, error) {
	said, err := s.registering(c)
	if err != nil {
		return programAnswer{}, err
	}
	ctx := c.Request().Context()
	// Two at once may both find room, which is as good as one more.
	count, err := s.Store.Count(ctx, flow.KindClient)
	if err != nil {
		return programAnswer{}, fmt.Errorf("count clients: %w", err)
	}
	if count >= s.Registration.MaxClients {
		return programAnswer{}, errRegisterFull
	}
	secret, err := s.secret()
	if err != nil {
		return programAnswer{}, err
	}
	now := s.Now()
	said.ID, said.Issued = registeredPrefix+secret, now.Unix()
	kept := registration{Client: flow.Client{ID: said.ID, Name: said.Name, RedirectURIs: said.RedirectURIs}}
	life := min(unusedLife, s.Registration.Lifetime)
	if err := s.Store.Put(ctx, flow.KindClient, said.ID, encode(kept), now.Add(life)); err != nil {
		return programAnswer{}, fmt.Errorf("store client: %w", err)
	}
	return programAnswer{http.StatusCreated, said}, nil
}

// registering returns what a client says of itself, as it gets it.
func (s *Server) registering(c surface.Call) (registering, error) {
	body, err := c.Body()
	if err != nil {
		return registering{}, err
	}
	doc, err := jsondoc.Parse(body)
	if err != nil || doc.Kind != jsondoc.Object {
		return registering{}, errRegisterForm
	}
	var said registering
	if err := json.Unmarshal(body, &said); err != nil {
		return registering{}, errRegisterForm
	}
	if len(said.RedirectURIs) == 0 || len(said.RedirectURIs) > maxRedirects {
		return registering{}, errRegisterNowhere
	}
	if length := len(strings.Join(said.RedirectURIs, "")); length > maxAllRedirects {
		return registering{}, errRegisterLong
	}
	for i, uri := range said.RedirectURIs {
		if err := s.redirects.check(uri); err != nil {
			return registering{}, refuseProgram(codeInvalidRedirect, fmt.Sprintf("redirect_uris[%d] is refused: %s.", i, err))
		}
	}
	return said.granted()
}

// granted returns what a client gets of what it asked for. One that asked for a
// secret gets none: it says so in the answer (section 2).
func (r registering) granted() (registering, error) {
	may := []string{grantCode, grantRefresh}
	if len(r.Grants) == 0 {
		r.Grants = []string{grantCode} // Section 2's default.
	}
	r.Grants = slices.DeleteFunc(may, func(grant string) bool { return !slices.Contains(r.Grants, grant) })
	if !slices.Contains(r.Grants, grantCode) || len(r.ResponseTypes) > 0 && !slices.Contains(r.ResponseTypes, responseCode) {
		return registering{}, errRegisterGrants
	}
	r.ResponseTypes = []string{responseCode}
	r.Auth = authNone
	r.Name = flow.ShownName(r.Name)
	names := slices.DeleteFunc(strings.Fields(r.Scope), func(name string) bool { return !slices.Contains(oauth.Scopes(), name) })
	if len(names) == 0 {
		names = oauth.Scopes()
	}
	r.Scope = strings.Join(names, " ")
	return r, nil
}

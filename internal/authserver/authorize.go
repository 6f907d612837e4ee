// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// What a person is told where no client can be: sending them on would make this
// installation a way to anywhere (RFC 6749, section 4.1.2.1).
var (
	errAskForm     = refusePage(statusBadRequest, "Your program asked in a way that is not understood", "What it sent is not a request of OAuth 2.1, or has something in it twice.")
	errAskClient   = refusePage(statusBadRequest, "Your program is not known here", "It may have been registered here once. Remove this server from your client and add it again.")
	errAskDocument = refusePage(statusBadRequest, "Your program cannot be looked up", "The document by which it says what it is cannot be read, or does not describe a program.")
	errAskRedirect = refusePage(statusBadRequest, "Your program asked to be answered where it may not be", "It named an address that it has not registered. Nothing was sent there.")
)

// authorizeHandler answers the authorization endpoint.
type authorizeHandler struct {
	*core
	*loginSessions
	*providerLogin
}

// authorize is the authorization endpoint (RFC 6749, section 4.1.1).
func (s *authorizeHandler) authorize(c httpapi.Call) error {
	a, err := s.readRequest(c)
	if err != nil {
		return err
	}
	p, err := s.newSession(c)
	if err != nil {
		return err
	}
	p.Ask = &a
	return s.chooseProvider(c, p)
}

// readRequest returns what the client asks for.
func (s *authorizeHandler) readRequest(c httpapi.Call) (authorizationRequest, error) {
	q, ok := flow.ParseParameters(c.Request().URL.RawQuery)
	if !ok || q.Repeated(parameterClient, parameterRedirect) {
		return authorizationRequest{}, errAskForm
	}
	found, err := s.clients.LookUp(c.Request().Context(), q.Get(parameterClient))
	switch {
	case errors.Is(err, client.ErrNotFound):
		return authorizationRequest{}, errAskClient
	case errors.Is(err, flow.ErrClient):
		return authorizationRequest{}, fmt.Errorf("%w: %w", errAskDocument, err)
	case err != nil:
		return authorizationRequest{}, err
	}
	uri := q.Get(parameterRedirect)
	// A document's URIs are checked as those of clients that register.
	if s.redirects.Check(uri) != nil || !client.IsRegistered(found.RedirectURIs, uri) {
		return authorizationRequest{}, errAskRedirect
	}
	// What is stored of the client is what the next steps need.
	found.RedirectURIs = nil
	a := authorizationRequest{Client: found, Redirect: uri}
	return a, a.complete(q, s.Issuer)
}

// chooseProvider has the person log in: at the only provider, or at the one they choose.
func (s *providerLogin) chooseProvider(c httpapi.Call, p loginSession) error {
	if len(s.Providers) == 1 && p.Invitation == "" {
		return s.redirectTo(c, p, s.Providers[0])
	}
	secret, err := s.secret()
	if err != nil {
		return err
	}
	p.Stage = stageChoose
	if err := s.save(c, p, secret); err != nil {
		return err
	}
	data := choosePage{heading: s.pages.Titled("Log in")}
	switch {
	case p.Ask != nil:
		data.Client = p.Ask.Client.ShownName()
	case p.Administers:
		data.Administers = true
	case p.Console:
		data.Console = true
	case p.Connect != nil:
		data.Server = p.Connect.Server
	default:
		data.heading, data.Invited = s.pages.Titled("You are invited"), p.Invited
	}
	for _, provider := range s.Providers {
		link := pathLogin + provider.ID() + "?" + url.Values{parameterLogin: {secret}}.Encode()
		data.Providers = append(data.Providers, providerLink{Name: provider.Name(), URL: link})
	}
	return s.pages.Show(c, s.pages.ChoosePage, statusOK, "", data)
}

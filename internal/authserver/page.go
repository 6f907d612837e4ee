// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

const (
	statusBadRequest = http.StatusBadRequest
	statusForbidden  = http.StatusForbidden
)

// pageError is an error that a page shows.
type pageError struct {
	status      int
	title, text string
	// ask is the request whose client the page links back to, nil for none.
	ask *authorizationRequest
	// addresses are those that the text ends with.
	addresses []string
	// who is the person whom an administrator would have to allow, nil for none.
	who *flow.Identity
}

// Error implements error.
func (e *pageError) Error() string { return e.title }

func refusePage(status int, title, text string) *pageError {
	return &pageError{status: status, title: title, text: text}
}

// withRequest returns the error with a link back to the client of a.
func (e *pageError) withRequest(a *authorizationRequest) *pageError {
	changed := *e
	changed.ask = a
	return &changed
}

// plainRefusal returns err if it is a refusal that wraps no other error.
func plainRefusal(err error) (*pageError, bool) {
	e, ok := err.(*pageError) //nolint:errorlint // A wrapped one has a cause.
	return e, ok
}

// withPerson returns the error with the identity that an administrator would allow.
func (e *pageError) withPerson(who flow.Identity) *pageError {
	changed := *e
	changed.who = &who
	return &changed
}

// withAddresses returns the error with addresses that its text ends with.
func (e *pageError) withAddresses(addresses []string) *pageError {
	changed := *e
	changed.addresses = addresses
	return &changed
}

// errAway is the page for a failure of the installation.
var errAway = refusePage(http.StatusServiceUnavailable, "This does not work at the moment", "Something that a login needs cannot be reached. Try again in a minute.")

// htmlEndpoint returns the handler of a step that a person's browser requests. A HEAD
// request does nothing: programs that preview links send them.
func (s *core) htmlEndpoint(at step, handle func(httpapi.Call) error) func(httpapi.Call) error {
	return func(c httpapi.Call) error {
		if c.Request().Method == http.MethodHead {
			s.pages.SetHeader(c.Writer().Header(), "")
			c.Writer().WriteHeader(http.StatusOK)
			return nil
		}
		err := handle(c)
		if err == nil {
			s.metrics.CountStep(at, stepDone)
			return nil
		}
		return s.showError(c, at, err)
	}
}

// showError shows an error to the person, or sends it to the client.
func (s *core) showError(c httpapi.Call, at step, err error) error {
	toPerson, isPage := errors.AsType[*pageError](err)
	toClient, isClient := errors.AsType[*clientError](err)
	body, isBody := errors.AsType[*httpapi.Problem](err)
	switch {
	case isPage && toPerson.status >= http.StatusInternalServerError:
		s.logFailure(c, at, err)
		return s.showMessage(c, toPerson)
	case isPage:
		s.metrics.CountStep(at, stepRefused)
		if _, alone := plainRefusal(err); !alone {
			// An administrator can act on it, such as a refusal of a provider or a fault in
			// a client's document.
			s.Log.InfoContext(c.Request().Context(), "a step of a login was refused", slog.String("step", string(at)), slog.Any("error", err))
		}
		return s.showMessage(c, toPerson)
	case isClient:
		s.metrics.CountStep(at, stepRefused)
		return s.redirectError(c, at, toClient)
	case isBody && body.Status < http.StatusInternalServerError:
		s.metrics.CountStep(at, stepRefused)
		return err
	default:
		s.logFailure(c, at, err)
		return s.showMessage(c, errAway)
	}
}

func (s *core) showMessage(c httpapi.Call, e *pageError) error {
	data := messagePage{heading: s.pages.Titled(e.title), Text: e.text, Who: e.who, Addresses: e.addresses}
	if e.ask != nil {
		refusal := &clientError{*e.ask, codeAccessDenied, "The login did not succeed."}
		data.Back = backTo(client.AddQuery(e.ask.Redirect, refusal.answer(s.Issuer)))
	}
	return s.pages.Show(c, s.pages.MessagePage, e.status, "", data)
}

// redirectError sends the browser to the client with an error. Before a person has
// logged in, it does so only for a client that an administrator configured, or that is
// on the person's own computer. Anybody can register a client, and could otherwise make
// links to this installation lead anywhere (RFC 9700, section 4.11.2).
func (s *core) redirectError(c httpapi.Call, at step, e *clientError) error {
	answer := e.answer(s.Issuer)
	if at != stepAuthorize || e.ask.Client.Configured || !isWeb(e.ask.Redirect) {
		redirect(c, client.AddQuery(e.ask.Redirect, answer))
		return nil
	}
	return s.pages.Show(c, s.pages.MessagePage, statusBadRequest, "", messagePage{
		heading: s.pages.Titled("Your program asked for something that it cannot get"),
		Text:    e.description, Code: e.code, Back: backTo(client.AddQuery(e.ask.Redirect, answer)),
	})
}

// isWeb reports whether a redirect URI leads to a site.
func isWeb(uri string) bool {
	u, err := url.Parse(uri)
	return err != nil || u.Scheme == schemeHTTPS
}

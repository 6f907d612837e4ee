// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/problem"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

const (
	statusBadRequest = http.StatusBadRequest
	statusForbidden  = http.StatusForbidden
)

// pageError is an error that a person is told on a page.
type pageError struct {
	status      int
	title, text string
	// ask is whose client can be told, nil for none.
	ask *ask
	// addresses are what the person can give their program instead.
	addresses []string
	// who is whom somebody else would have to let in, nil where that is not it.
	who *flow.Identity
}

// Error implements error.
func (e *pageError) Error() string { return e.title }

func refusePage(status int, title, text string) *pageError {
	return &pageError{status: status, title: title, text: text}
}

// of returns the error with a way back to the client of a.
func (e *pageError) of(a *ask) *pageError {
	told := *e
	told.ask = a
	return &told
}

// plainRefusal returns a refusal that has no cause beside what the person did.
func plainRefusal(err error) (*pageError, bool) {
	e, ok := err.(*pageError) //nolint:errorlint // A wrapped one has a cause.
	return e, ok
}

// to returns the error for a person, who is told by what they are let in.
func (e *pageError) to(who flow.Identity) *pageError {
	told := *e
	told.who = &who
	return &told
}

// with returns the error with addresses that the person can use instead.
func (e *pageError) with(addresses []string) *pageError {
	told := *e
	told.addresses = addresses
	return &told
}

// errAway is what a person is told when something of ours is away.
var errAway = refusePage(http.StatusServiceUnavailable, "This does not work at the moment", "Something that a login needs cannot be reached. Try again in a minute.")

// page returns the handler of a step that a person's browser asks for. A request
// for the header alone does nothing: programs that look at links send them.
func (s *Server) page(at step, handle func(surface.Call) error) func(surface.Call) error {
	return func(c surface.Call) error {
		if c.Request().Method == http.MethodHead {
			s.pages.setHeader(c.Writer().Header(), "")
			c.Writer().WriteHeader(http.StatusOK)
			return nil
		}
		err := handle(c)
		if err == nil {
			s.metrics.steps.WithLabelValues(string(at), outcomeDone).Inc()
			return nil
		}
		return s.showError(c, at, err)
	}
}

// showError tells the person, or the client, what happened.
func (s *Server) showError(c surface.Call, at step, err error) error {
	toPerson, isPage := errors.AsType[*pageError](err)
	toClient, isClient := errors.AsType[*clientError](err)
	body, isBody := errors.AsType[*problem.Problem](err)
	switch {
	case isPage && toPerson.status >= http.StatusInternalServerError:
		s.failed(c, at, err)
		return s.showMessage(c, toPerson)
	case isPage:
		s.metrics.steps.WithLabelValues(string(at), outcomeRefused).Inc()
		if _, alone := plainRefusal(err); !alone {
			// A provider's refusal, a client's document: what somebody has to look into
			// whom the person will ask.
			s.Log.InfoContext(c.Request().Context(), "a step of a login was refused", slog.String("step", string(at)), slog.Any("error", err))
		}
		return s.showMessage(c, toPerson)
	case isClient:
		s.metrics.steps.WithLabelValues(string(at), outcomeRefused).Inc()
		return s.tellClient(c, at, toClient)
	case isBody && body.Status < http.StatusInternalServerError:
		s.metrics.steps.WithLabelValues(string(at), outcomeRefused).Inc()
		return err
	default:
		s.failed(c, at, err)
		return s.showMessage(c, errAway)
	}
}

func (s *Server) showMessage(c surface.Call, e *pageError) error {
	data := messagePage{heading: s.pages.titled(e.title), Text: e.text, Who: e.who, Addresses: e.addresses}
	if e.ask != nil {
		refusal := &clientError{*e.ask, codeAccessDenied, "The login did not succeed."}
		data.Back = backTo(e.ask.Redirect, refusal.answer(s.Issuer))
	}
	return s.pages.show(c, s.pages.message, e.status, "", data)
}

// tellClient sends the browser to the client with an error. Before anybody has
// logged in it does so only where the client is one that an administrator knows,
// or is on the person's own computer: anybody can register a client, and could
// then have links to this installation lead anywhere (RFC 9700, section 4.11.2).
func (s *Server) tellClient(c surface.Call, at step, e *clientError) error {
	answer := e.answer(s.Issuer)
	if at != stepAuthorize || e.ask.Client.Configured || !isWeb(e.ask.Redirect) {
		redirect(c, with(e.ask.Redirect, answer))
		return nil
	}
	return s.pages.show(c, s.pages.message, statusBadRequest, "", messagePage{
		heading: s.pages.titled("Your program asked for something that it cannot get"),
		Text:    e.description, Code: e.code, Back: backTo(e.ask.Redirect, answer),
	})
}

// isWeb reports whether a redirect URI leads to a site.
func isWeb(uri string) bool {
	u, err := url.Parse(uri)
	return err != nil || u.Scheme == schemeHTTPS
}

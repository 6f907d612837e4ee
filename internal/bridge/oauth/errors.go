// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"golang.org/x/oauth2"
)

// Error is why there is no token, in words that say what to do.
type Error struct {
	// Login says that nothing helps but that the person logs in again.
	Login bool

	text string
	// lasting says that trying again soon is of no use.
	lasting bool
}

// Error implements error.
func (e *Error) Error() string { return e.text }

var (
	errExpired = &Error{Login: true, lasting: true, text: "log in again: the login has expired and cannot be refreshed"}
	errRefused = &Error{Login: true, lasting: true, text: "log in again: the authorization server does not accept the login any more"}
	errCode    = &Error{Login: true, lasting: true, text: "log in again: the authorization server does not accept the code of the last login, which is good for minutes and once"}
	errWiped   = &Error{text: "the server's token is not there any more"}
	errNoToken = &Error{text: "the authorization server's answer holds no bearer token"}
	errSlow    = &Error{text: "the authorization server does not answer in time"}
	errTurn    = &Error{text: "the login cannot be locked: another process refreshes it, or its folder cannot be written"}
	errAway    = &Error{text: "the authorization server cannot be reached"}
)

// ErrPlain is what the client of a Source returns for a request that it does not
// send without encryption.
var ErrPlain = &Error{text: "the authorization server's address is public and its URL is not https", lasting: true}

// ErrNotStorable is why a SaveFunc has stored nothing where trying again is of no
// use. The tokens are then kept by the Source alone.
var ErrNotStorable = errors.New("tokens cannot be stored")

// removed is the error of a secret with a login that its user has removed.
func removed(name string) *Error {
	return &Error{text: fmt.Sprintf("log in again: secret %s was removed", name), Login: true, lasting: true}
}

// unset is the error of a secret that is not there.
func unset(name string) *Error {
	return &Error{text: fmt.Sprintf("secret %s is not set", name), lasting: true}
}

// noLogin is the error of a secret that holds something else than a login.
func noLogin(name string) *Error {
	return &Error{text: fmt.Sprintf("log in again: secret %s holds no tokens of a login", name), Login: true, lasting: true}
}

// advice is what to look at, by the error codes of RFC 6749, section 5.2, and
// RFC 8707, section 2. Others are not repeated: they are a stranger's text.
var advice = map[string]string{
	"invalid_request":        "check oauth.tokenURL and oauth.resource",
	"invalid_scope":          "check oauth.scopes",
	"invalid_target":         "check oauth.resource",
	"unauthorized_client":    "the client may not use this grant",
	"unsupported_grant_type": "it does not have this grant",
}

// explain returns what a failed request for a token means.
func (s *Source) explain(err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return s.refusal(refused)
	}
	if timeout, ok := errors.AsType[net.Error](err); errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout() {
		return errSlow
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return errAway
	}
	return errNoToken // It answered.
}

func (s *Source) refusal(e *oauth2.RetrieveError) *Error {
	status := e.Response.StatusCode
	switch {
	case e.ErrorCode == "invalid_grant" && s.refreshes():
		return errRefused
	case clientRefused(e):
		what := "check oauth.clientID"
		if s.config.ClientSecret != "" {
			what += " and secret " + s.config.ClientSecret
		}
		return &Error{text: "the authorization server does not accept the client: " + what, lasting: true}
	case advice[e.ErrorCode] != "":
		return &Error{text: fmt.Sprintf("the authorization server refuses (%s): %s", e.ErrorCode, advice[e.ErrorCode]), lasting: true}
	case status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || e.ErrorCode == "temporarily_unavailable":
		return &Error{text: fmt.Sprintf("the authorization server cannot answer now (status %d)", status)}
	}
	return &Error{text: fmt.Sprintf("the authorization server refuses (status %d): check oauth.tokenURL", status), lasting: true}
}

// clientRefused reports whether the client was not recognised, so that nothing
// of the request was used.
func clientRefused(err error) bool {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	return ok && (e.ErrorCode == "invalid_client" || e.ErrorCode == "" && e.Response.StatusCode == http.StatusUnauthorized)
}

// spent returns what a failed exchange of a code means, by what it would mean
// of another request.
func (e *Error) spent() *Error {
	if e == errRefused {
		return errCode
	}
	return &Error{text: "log in again: " + e.text, Login: true, lasting: true}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/oauth2"
)

// Error says why there is no token and what to do about it.
type Error struct {
	// Login says that the user must log in again.
	Login bool

	text string
	// lasting says that a retry is useless for now.
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

// ErrPlain is returned by the HTTP client of a Source if it refuses to send a request without
// encryption.
var ErrPlain = &Error{text: "the authorization server's address is public and its URL is not https", lasting: true}

// ErrNotStorable is returned by a SaveFunc if a retry is useless. Only the Source then keeps the
// tokens.
var ErrNotStorable = errors.New("tokens cannot be stored")

// removed is the error of a login whose secret the user has removed.
func removed(name string) *Error {
	return &Error{text: fmt.Sprintf("log in again: secret %s was removed", name), Login: true, lasting: true}
}

// unset is the error of a missing secret.
func unset(name string) *Error {
	return &Error{text: fmt.Sprintf("secret %s is not set", name), lasting: true}
}

// noLogin is the error of a secret that does not contain a login.
func noLogin(name string) *Error {
	return &Error{text: fmt.Sprintf("log in again: secret %s holds no tokens of a login", name), Login: true, lasting: true}
}

// clientRefused reports whether the client was not recognised, so that the request used nothing
// up.
func clientRefused(err error) bool {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	return ok && (e.ErrorCode == "invalid_client" || e.ErrorCode == "" && e.Response.StatusCode == http.StatusUnauthorized)
}

// spent converts the error of a failed request to the error of a failed code exchange.
func (e *Error) spent() *Error {
	if e == errRefused {
		return errCode
	}
	return &Error{text: "log in again: " + e.text, Login: true, lasting: true}
}

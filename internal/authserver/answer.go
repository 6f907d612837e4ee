// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// errKeysAway is the problem of whoever asks for the keys meanwhile.
var errKeysAway = httpapi.New(http.StatusServiceUnavailable, "keys_unavailable", "The keys of access tokens cannot be read now.").After(5 * time.Second)

// errStoreAway is the problem of an administrator meanwhile.
var errStoreAway = httpapi.New(http.StatusServiceUnavailable, "login_store_unavailable", "The store of logins cannot be reached now.").After(5 * time.Second)

// The errors of RFC 6749 (4.1.2.1 and 5.2), RFC 7009 (2.2.1), RFC 7591 (3.2.2),
// RFC 8707 (2) and OpenID Connect Core (3.1.2.6) that are used here.
const (
	codeAccessDenied     = "access_denied"
	codeInvalidClient    = "invalid_client"
	codeInvalidGrant     = "invalid_grant"
	codeInvalidRequest   = "invalid_request"
	codeInvalidScope     = "invalid_scope"
	codeInvalidTarget    = "invalid_target"
	codeServerError      = "server_error"
	codeUnavailable      = "temporarily_unavailable"
	codeUnsupportedGrant = "unsupported_grant_type"
	codeUnsupportedToken = "unsupported_token_type"
	codeUnsupportedType  = "unsupported_response_type"
	codeNoRequestObject  = "request_not_supported"
	codeNoRequestURI     = "request_uri_not_supported"
)

// jsonError is an error that a program gets, with a description for its developers.
type jsonError struct {
	status            int
	code, description string
	retryAfter        string // in seconds, empty for that of its status
}

// Error implements error.
func (e *jsonError) Error() string { return e.code }

func newJSONError(code, description string) *jsonError {
	return &jsonError{status: http.StatusBadRequest, code: code, description: description}
}

var (
	errSecret      = &jsonError{status: http.StatusUnauthorized, code: codeInvalidClient, description: "Clients have no secret here: send client_id in the body, and nothing in Authorization."}
	errNoClientID  = &jsonError{status: http.StatusUnauthorized, code: codeInvalidClient, description: "There is no client_id in the body."}
	errUnknown     = &jsonError{status: http.StatusUnauthorized, code: codeInvalidClient, description: "There is no such client any more."}
	errUnavailable = &jsonError{status: http.StatusServiceUnavailable, code: codeUnavailable, description: "The server cannot answer now. Try again."}
)

// jsonAnswer is the answer to a program. A nil body means none.
type jsonAnswer struct {
	status int
	body   any
}

// jsonEndpoint returns the handler of a step that a program asks for. What ours to look
// into is logged, and the program hears that it may try again.
func (s *core) jsonEndpoint(at step, handle func(httpapi.Call) (jsonAnswer, error)) func(httpapi.Call) error {
	return func(c httpapi.Call) error {
		answer, err := handle(c)
		if err == nil {
			s.metrics.CountStep(at, stepDone)
			sendJSON(c, answer.status, answer.body)
			return nil
		}
		refusal := s.oauthError(c, at, err)
		if refusal == errSecret && c.Request().Header.Get("Authorization") != "" {
			// RFC 6749, 5.2: by the scheme that the client used.
			c.Writer().Header().Set("WWW-Authenticate", `Basic realm="hosted-bridge"`)
		}
		if refusal.status == http.StatusServiceUnavailable {
			c.Writer().Header().Set(headerRetryAfter, cmp.Or(refusal.retryAfter, "5"))
		}
		sendJSON(c, refusal.status, struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
		}{refusal.code, refusal.description})
		return nil
	}
}

// oauthError returns the error that a program gets for err.
func (s *core) oauthError(c httpapi.Call, at step, err error) *jsonError {
	own, isOwn := errors.AsType[*jsonError](err)
	body, isBody := errors.AsType[*httpapi.Problem](err)
	switch {
	case isOwn && own.status < http.StatusInternalServerError:
	case isBody && body.Status < http.StatusInternalServerError:
		own = &jsonError{status: body.Status, code: codeInvalidRequest, description: body.Detail}
	case isOwn:
		s.logFailure(c, at, err)
		return own
	default:
		s.logFailure(c, at, err)
		return errUnavailable
	}
	s.metrics.CountStep(at, stepRefused)
	return own
}

// logFailure counts and logs what is ours to look into. Errors hold no code and no
// token, as those of the parts promise.
func (s *core) logFailure(c httpapi.Call, at step, err error) {
	s.metrics.CountStep(at, stepFailed)
	s.Log.ErrorContext(c.Request().Context(), "a step of a login failed", slog.String("step", string(at)), slog.Any("error", err))
}

// sendJSON answers a program. Nobody may keep the answer.
func sendJSON(c httpapi.Call, status int, body any) {
	h := c.Writer().Header()
	h.Set(headerCache, cacheNever)
	if body == nil {
		c.Writer().WriteHeader(status)
		return
	}
	h.Set(headerType, applicationJSON)
	c.Writer().WriteHeader(status)
	// Whoever hung up does not read it either.
	_, _ = c.Writer().Write(jsondoc.EncodeExact(body))
}

// redirect sends the browser on. By 303 it does so with a GET, whatever it sent
// here (RFC 9700, section 4.12).
func redirect(c httpapi.Call, to string) {
	h := c.Writer().Header()
	h.Set(headerCache, cacheNever)
	h.Set(headerLocation, to)
	c.Writer().WriteHeader(http.StatusSeeOther)
}

// form returns the parameters of a program's body.
func form(c httpapi.Call) (flow.Parameters, error) {
	body, err := c.Body()
	if err != nil {
		return flow.Parameters{}, err
	}
	p, ok := flow.ParseParameters(string(body))
	if !ok {
		return flow.Parameters{}, newJSONError(codeInvalidRequest, "The body is not a form.")
	}
	if p.RepeatedBut(parameterResource) {
		return flow.Parameters{}, newJSONError(codeInvalidRequest, "A parameter is there several times.")
	}
	return p, nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// The parameters of requests that several places name.
const (
	parameterAnswer      = "answer"
	parameterBridge      = "bridge"
	parameterChallenge   = "code_challenge"
	parameterClient      = "client_id"
	parameterCode        = "code"
	parameterDescription = "error_description"
	parameterError       = "error"
	parameterIssuer      = "iss"
	parameterLogin       = "login"
	parameterNext        = "next"
	parameterMethod      = "code_challenge_method"
	parameterMode        = "response_mode"
	parameterRedirect    = "redirect_uri"
	parameterResource    = "resource"
	parameterScope       = "scope"
	parameterState       = "state"
	parameterType        = "response_type"
)

// authorizationRequest is what a client asks for, and is given an answer to.
type authorizationRequest struct {
	Client   client.Client `json:"client"`
	Redirect string        `json:"redirect"`
	State    string        `json:"state,omitempty"`
	Resource string        `json:"resource,omitempty"`
	Scopes   []string      `json:"scopes,omitempty"`
	// Challenge is the hash of what the client proves itself by at the end.
	Challenge string `json:"challenge,omitempty"`
}

// clientError is an error that a client gets at its redirect URI.
type clientError struct {
	ask               authorizationRequest
	code, description string
}

// Error implements error.
func (e *clientError) Error() string { return e.code }

// answer returns the parameters that a client gets at its redirect URI.
func (a authorizationRequest) answer(issuer string) url.Values {
	answer := url.Values{parameterIssuer: {issuer}} // RFC 9207.
	if a.State != "" {
		answer.Set(parameterState, a.State)
	}
	return answer
}

func (e *clientError) answer(issuer string) url.Values {
	answer := e.ask.answer(issuer)
	answer.Set(parameterError, e.code)
	answer.Set(parameterDescription, e.description)
	return answer
}

// stateForm is what RFC 6749, appendix A.5, has a state be made of, and maxState how
// long one may be: some clients keep all in it that they need to go on.
var stateForm = regexp.MustCompile(`^[ -~]*$`)

const maxState = 2048

// challengeForm is the form of a SHA-256 hash (RFC 7636, section 4.2).
var challengeForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// complete reads what the client of a asks for, whose redirect URI is known.
func (a *authorizationRequest) complete(p flow.Parameters, issuer string) error {
	refuse := func(code, description string) error { return &clientError{*a, code, description} }
	if p.Repeated(parameterState) {
		return refuse(codeInvalidRequest, "state is there several times.")
	}
	if state := p.Get(parameterState); len(state) > maxState || !stateForm.MatchString(state) {
		return refuse(codeInvalidRequest, "state must be at most 2048 characters of printable ASCII.")
	}
	a.State = p.Get(parameterState)
	if p.Repeated(parameterType, parameterMode, parameterScope, parameterChallenge, parameterMethod) {
		return refuse(codeInvalidRequest, "A parameter is there several times.")
	}
	for _, check := range []func(flow.Parameters) (code, description string){requestProblem, challengeProblem} {
		if code, description := check(p); code != "" {
			return refuse(code, description)
		}
	}
	a.Challenge = p.Get(parameterChallenge)
	var ok bool
	if a.Resource, ok = resourceOf(p.All(parameterResource), issuer); !ok {
		return refuse(codeInvalidTarget, "resource must be the URL of one bridge of this installation, as its metadata has it.")
	}
	if a.Scopes, ok = scopesOf(p.Get(parameterScope), oauth.AllScopes(), oauth.Scopes()); !ok {
		return refuse(codeInvalidScope, "The scopes are "+strings.Join(oauth.AllScopes(), ", ")+".")
	}
	return nil
}

// requestProblem returns what is wrong with the kind of a request, empty for
// nothing.
func requestProblem(p flow.Parameters) (code, description string) {
	switch {
	case p.Get("request") != "":
		return codeNoRequestObject, "Request objects are not taken."
	case p.Get("request_uri") != "":
		return codeNoRequestURI, "Request objects are not taken."
	case p.Get(parameterType) == "":
		return codeInvalidRequest, "response_type is missing."
	case p.Get(parameterType) != responseCode:
		return codeUnsupportedType, "response_type must be code."
	case p.Get(parameterMode) != "" && p.Get(parameterMode) != responseQuery:
		return codeInvalidRequest, "response_mode must be query."
	}
	return "", ""
}

// challengeProblem returns what is wrong with a request's PKCE. A challenge without
// a method is a plain one (RFC 7636, section 4.3), which hides nothing.
func challengeProblem(p flow.Parameters) (code, description string) {
	switch {
	case p.Get(parameterChallenge) == "":
		return codeInvalidRequest, "code_challenge is missing."
	case p.Get(parameterMethod) != methodS256:
		return codeInvalidRequest, "code_challenge_method must be S256."
	case !challengeForm.MatchString(p.Get(parameterChallenge)):
		return codeInvalidRequest, "code_challenge is not a SHA-256 hash in base64url."
	}
	return "", ""
}

// scopesOf returns the scopes that are asked for, in our order, of those that there
// may be, and instead where there is no word of any. A client that asks to go on while its
// person is away gets what all get. Scopes that we do not have are left out, as
// RFC 6749, section 3.3, allows, where some are left: the metadata of a bridge name
// those of all its issuers, and clients ask each for all.
func scopesOf(asked string, may, instead []string) ([]string, bool) {
	words := slices.DeleteFunc(strings.Fields(asked), func(name string) bool { return name == scopeOffline })
	if len(words) == 0 {
		return instead, true
	}
	names := slices.DeleteFunc(words, func(name string) bool { return !slices.Contains(oauth.AllScopes(), name) })
	if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(may, name) }) {
		return nil, false
	}
	return slices.DeleteFunc(slices.Clone(may), func(name string) bool { return !slices.Contains(names, name) }), true
}

// resourceOf returns which of our URLs a request is about: that of everyone where
// it does not say. ok is false if it is another URL, or two.
func resourceOf(asked []string, issuer string) (resource string, ok bool) {
	if len(asked) == 0 {
		return oauth.Resource(issuer, pathCommon), true
	}
	for _, other := range asked {
		if other != asked[0] {
			return "", false
		}
	}
	_, ok = userOf(asked[0], issuer)
	return asked[0], ok
}

// userOf returns whose bridge a resource is, empty for that of everyone. ok is
// false if the resource is not ours. ok does not say that the user exists.
func userOf(resource, issuer string) (user v1alpha1.UserID, ok bool) {
	path, ok := strings.CutPrefix(resource, issuer)
	if !ok {
		return "", false
	}
	if path == pathCommon {
		return "", true
	}
	name, ok := strings.CutPrefix(path, "/u/")
	if !ok {
		return "", false
	}
	name, kind, _ := strings.Cut(name, "/")
	user, err := v1alpha1.ParseUserID(name)
	return user, err == nil && (kind == "mcp" || kind == "sse")
}

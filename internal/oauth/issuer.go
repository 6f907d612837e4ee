// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	jose "github.com/go-jose/go-jose/v4"
)

// What a token of our own server allows.
const (
	// ScopeRead is to connect, to list, and to read resources, prompts and health.
	ScopeRead = "mcp:read"
	// ScopeCall is to call tools, and everything else that runs something.
	ScopeCall = "mcp:call"
)

// Scopes returns all scopes that a token of our own server may have.
func Scopes() []string { return []string{ScopeRead, ScopeCall} }

// TypeAccessToken is the type of access tokens by RFC 9068, section 2.1. It is
// what keeps an ID token from being taken for one.
const TypeAccessToken = "at+jwt"

// defaultAlgorithms are those that an issuer signs with unless it is said. Each is
// of another kind of key, so that a key is good for one of them, RSA excepted.
var defaultAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.ES256, jose.EdDSA}

// Algorithms returns the algorithms that an issuer may have. All have a public
// key: with HS256 and its kind who verifies can sign as well, and "none" is none.
func Algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
		jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// Issuer is an authorization server whose tokens are taken.
type Issuer struct {
	// URL is what its tokens have as iss, byte for byte.
	URL string
	// Algorithms are those that it signs with, of Algorithms(); RS256, PS256,
	// ES256 and EdDSA if there are none.
	Algorithms []jose.SignatureAlgorithm
	// Types are what the header may have as typ, whatever the case and with or
	// without "application/"; at+jwt if there are none. An empty one is a header
	// without typ.
	Types []string
	// Audiences are accepted beside the URL of the resource. A token for one of
	// them is good at all resources.
	Audiences []string
	// ReadScopes and CallScopes are the scopes all of which a token must have to
	// read and to call. None: it is not asked for any. Own ones have mcp:read and
	// mcp:call if there are none.
	ReadScopes, CallScopes []string
	// Own is that of our own server: its subjects are SubjectKeys, it names the
	// user, and its tokens have all that it puts into each.
	Own bool
	// User makes a user of the claims of others.
	User UserRule
}

// withDefaults returns a copy that says everything.
func (i Issuer) withDefaults() *Issuer {
	i.Algorithms = orElse(i.Algorithms, defaultAlgorithms)
	i.Types = orElse(i.Types, []string{TypeAccessToken})
	for n, t := range i.Types {
		i.Types[n] = mediaType(t)
	}
	i.Audiences = slices.Clone(i.Audiences)
	if i.Own {
		i.ReadScopes, i.CallScopes = orElse(i.ReadScopes, []string{ScopeRead}), orElse(i.CallScopes, []string{ScopeCall})
	}
	i.ReadScopes, i.CallScopes = slices.Clone(i.ReadScopes), slices.Clone(i.CallScopes)
	return &i
}

func orElse[T any](given, instead []T) []T {
	if len(given) == 0 {
		given = instead
	}
	return slices.Clone(given)
}

// mediaType returns a type as RFC 7515, section 4.1.9, says that types compare.
func mediaType(t string) string { return strings.TrimPrefix(lower(t), "application/") }

// check returns everything that is wrong with the issuer.
func (i *Issuer) check() error {
	var errs []error
	if i.URL == "" {
		errs = append(errs, errors.New("an issuer has no URL"))
	}
	for _, a := range i.Algorithms {
		if !slices.Contains(Algorithms(), a) {
			errs = append(errs, fmt.Errorf("issuer %s: the algorithm %.20q is none of %v", i.URL, a, Algorithms()))
		}
	}
	if slices.Contains(i.Audiences, "") {
		errs = append(errs, fmt.Errorf("issuer %s: an audience is empty", i.URL))
	}
	if i.Own && len(i.Audiences) > 0 {
		errs = append(errs, fmt.Errorf("issuer %s: our own tokens are for one resource each, so there are no other audiences", i.URL))
	}
	return errors.Join(errs...)
}

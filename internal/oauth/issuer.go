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

// The scopes of our own server's tokens.
const (
	// ScopeRead allows to connect, to list, and to read resources, prompts and
	// health.
	ScopeRead = "mcp:read"
	// ScopeCall allows to call tools, and everything else that runs something.
	ScopeCall = "mcp:call"
)

// ScopeManage allows to change the bridge: its API keys, secrets, connected accounts and
// choice of servers, and to read what was done with it. No client gets it that does not
// ask for it by name, and metadata do not name it, because clients of MCP ask for all
// scopes that these have.
const ScopeManage = "bridge:manage"

// Scopes returns the scopes that clients of MCP need, which those get who ask for none.
func Scopes() []string { return []string{ScopeRead, ScopeCall} }

// AllScopes returns all scopes that a token of our own server may have.
func AllScopes() []string { return append(Scopes(), ScopeManage) }

// TypeAccessToken is the type of access tokens by RFC 9068, section 2.1. It
// keeps an ID token from being accepted as one.
const TypeAccessToken = "at+jwt"

// defaultAlgorithms are those of an issuer without configured ones. Each needs
// another kind of key, so that a key fits only one of them, except for RSA and the two names of
// EdDSA.
var defaultAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.ES256, jose.EdDSA, Ed25519}

// Algorithms returns the algorithms that an issuer may have. All have a public
// key: with HS256 and its kind a verifier can sign as well, and "none" has no
// signature.
func Algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
		jose.ES256, jose.ES384, jose.ES512, jose.EdDSA, Ed25519,
	}
}

// Issuer is an authorization server whose tokens are accepted.
type Issuer struct {
	// URL is the iss of its tokens, byte for byte.
	URL string
	// Algorithms are its signature algorithms, of Algorithms(); RS256, PS256,
	// ES256, EdDSA and Ed25519 if empty.
	Algorithms []jose.SignatureAlgorithm
	// Types are the accepted values of the header's typ, ignoring case and
	// "application/"; at+jwt if empty. An empty type accepts a header without
	// typ.
	Types []string
	// Audiences are accepted beside the URL of the resource. A token for one of
	// them is valid at all resources.
	Audiences []string
	// ReadScopes and CallScopes are the scopes that a token needs to read and
	// to call. Empty means that none is needed. Our own server defaults to
	// mcp:read and mcp:call.
	ReadScopes, CallScopes []string
	// Own marks our own server: its subjects are SubjectKeys, it names the
	// user, and its tokens have all claims that it sets.
	Own bool
	// User derives a user from the claims of other servers, and Groups is their claim that
	// names a person's groups, empty to read none.
	User   UserRule
	Groups string
}

// withDefaults returns a copy with all defaults filled in.
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

// check returns all errors of the issuer.
func (i *Issuer) check() error {
	var errs []error
	if i.URL == "" {
		errs = append(errs, errors.New("an issuer has no URL"))
	}
	for _, a := range i.Algorithms {
		if !slices.Contains(Algorithms(), a) {
			errs = append(errs, fmt.Errorf("issuer %s: the algorithm %.20q is not supported: use one of %v", i.URL, a, Algorithms()))
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

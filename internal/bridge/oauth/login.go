// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

// maxToken is the longest token that is taken, in bytes: as much as common HTTP
// servers read of a request's header.
const maxToken = 16 << 10

// stored is a login as the user's secret has it: its tokens, or the code for
// which there are tokens.
type stored struct {
	AccessToken  string    `json:"access_token,omitempty"`
	RefreshToken string    `json:"refresh_token,omitempty"`
	TokenType    string    `json:"token_type,omitempty"`
	Expiry       time.Time `json:"expiry,omitzero"`
	// Code is what the authorization server gave to the browser of who logged
	// in, Verifier the secret of who sent the browser there (RFC 7636), and
	// RedirectURI where it came back to.
	Code        string `json:"authorization_code,omitempty"`
	Verifier    string `json:"code_verifier,omitempty"`
	RedirectURI string `json:"redirect_uri,omitempty"`
}

// parseLogin reads a secret: the tokens as JSON, a bare refresh token, or a code
// as JSON.
func parseLogin(value string) (stored, bool) {
	value = strings.TrimSpace(value)
	if !strings.HasPrefix(value, "{") {
		return stored{RefreshToken: value}, sendable(value)
	}
	var login stored
	if err := json.Unmarshal([]byte(value), &login); err != nil {
		return stored{}, false
	}
	if login.Code != "" {
		return login, login.exchangeable()
	}
	if login.TokenType != "" && !strings.EqualFold(login.TokenType, "Bearer") {
		login.AccessToken = "" // A refresh gives one that can be sent.
	}
	ok := login.AccessToken != "" || login.RefreshToken != ""
	for _, token := range []string{login.AccessToken, login.RefreshToken} {
		ok = ok && (token == "" || sendable(token))
	}
	return login, ok
}

// exchangeable reports whether the code is one, and whether there is what it is
// exchanged with. Beside tokens there is none: nobody could tell which are meant.
func (l stored) exchangeable() bool {
	return l.AccessToken == "" && l.RefreshToken == "" && sendable(l.Code) && sendable(l.Verifier) && l.RedirectURI != ""
}

// sendable reports whether a token can stand in a header: visible characters of
// ASCII, as RFC 6749, appendix A, has them.
func sendable(token string) bool {
	return token != "" && len(token) <= maxToken && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// tokens are what a Source has.
type tokens struct {
	access, refresh secret.Value
	// code is what there is before there are any: it is good for one request.
	code code
	// expiry is when the access token ends, and due when it is to be replaced;
	// zero where nobody said.
	expiry, due time.Time
	// got is when it came from the authorization server, zero if it did not.
	got time.Time
}

// code is that of an authorization server, and what it is exchanged with.
type code struct {
	value, verifier secret.Value
	redirectURI     string
}

func (t tokens) wipe() {
	t.access.Wipe()
	t.refresh.Wipe()
	t.code.value.Wipe()
	t.code.verifier.Wipe()
}

// encode returns the tokens as parseLogin reads them.
func (t tokens) encode() []byte {
	value, err := json.Marshal(stored{
		AccessToken: t.access.Reveal(), RefreshToken: t.refresh.Reveal(), TokenType: "Bearer", Expiry: t.expiry.UTC().Truncate(time.Second),
	})
	if err != nil {
		panic(err) // Strings and a time of this era: only a programming error cannot be encoded.
	}
	return value
}

// renewable reports whether there is something that the authorization server
// gives tokens for.
func (t tokens) renewable() bool { return t.refresh.Reveal() != "" || t.code.value.Reveal() != "" }

// usable reports whether the access token may be sent.
func (t tokens) usable(now time.Time) bool {
	return t.access.Reveal() != "" && (t.expiry.IsZero() || now.Before(t.expiry))
}

// fresh reports whether it need not be replaced either.
func (t tokens) fresh(now time.Time) bool {
	return t.usable(now) && (t.due.IsZero() || now.Before(t.due))
}

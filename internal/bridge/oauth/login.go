// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

// maxToken is the maximum length of a token in bytes: common HTTP servers accept as much in a
// request's header.
const maxToken = 16 << 10

// stored is the form of a login in the user's secret: its tokens, or the code to exchange for
// tokens.
type stored struct {
	AccessToken  string    `json:"access_token,omitempty"`
	RefreshToken string    `json:"refresh_token,omitempty"`
	TokenType    string    `json:"token_type,omitempty"`
	Expiry       time.Time `json:"expiry,omitzero"`
	// Code is the authorization code from the user's browser. Verifier is the PKCE verifier (RFC
	// 7636) of the program that started the login, and RedirectURI is the address to which the
	// browser returned.
	Code        string `json:"authorization_code,omitempty"`
	Verifier    string `json:"code_verifier,omitempty"`
	RedirectURI string `json:"redirect_uri,omitempty"`
}

// parseLogin parses a secret: tokens as JSON, a bare refresh token, or a code as JSON.
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
		login.AccessToken = "" // A refresh returns a valid one.
	}
	ok := login.AccessToken != "" || login.RefreshToken != ""
	for _, token := range []string{login.AccessToken, login.RefreshToken} {
		ok = ok && (token == "" || sendable(token))
	}
	return login, ok
}

// exchangeable reports whether the code is valid and complete. A login with tokens has no code: it
// would not be clear which of them to use.
func (l stored) exchangeable() bool {
	return l.AccessToken == "" && l.RefreshToken == "" && sendable(l.Code) && sendable(l.Verifier) && l.RedirectURI != ""
}

// sendable reports whether a token is valid in a header: visible ASCII characters, as in RFC 6749,
// appendix A.
func sendable(token string) bool {
	return token != "" && len(token) <= maxToken && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// tokens are the current tokens of a Source.
type tokens struct {
	access, refresh secret.Value
	// code is the code before there are tokens. It can be used once.
	code code
	// expiry is when the access token expires, and due is when to replace it. Both are zero if the
	// expiry is unknown.
	expiry, due time.Time
	// got is when the authorization server sent the token, zero if it came from the secret.
	got time.Time
}

// code is an authorization code with the parameters of its exchange.
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

// encode returns the tokens in the format of parseLogin.
func (t tokens) encode() []byte {
	value, err := json.Marshal(stored{
		AccessToken: t.access.Reveal(), RefreshToken: t.refresh.Reveal(), TokenType: "Bearer", Expiry: t.expiry.UTC().Truncate(time.Second),
	})
	if err != nil {
		panic(err) // Strings and a valid time: encoding cannot fail.
	}
	return value
}

// renewable reports whether new tokens can be requested.
func (t tokens) renewable() bool { return t.refresh.Reveal() != "" || t.code.value.Reveal() != "" }

// usable reports whether the access token may be sent.
func (t tokens) usable(now time.Time) bool {
	return t.access.Reveal() != "" && (t.expiry.IsZero() || now.Before(t.expiry))
}

// fresh reports whether the access token need not be replaced either.
func (t tokens) fresh(now time.Time) bool {
	return t.usable(now) && (t.due.IsZero() || now.Before(t.due))
}

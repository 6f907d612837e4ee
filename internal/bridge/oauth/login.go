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

// stored is a login as the user's secret has it.
type stored struct {
	AccessToken  string    `json:"access_token,omitempty"`
	RefreshToken string    `json:"refresh_token,omitempty"`
	TokenType    string    `json:"token_type,omitempty"`
	Expiry       time.Time `json:"expiry,omitzero"`
}

// parseLogin reads a secret: the tokens as JSON, or a bare refresh token.
func parseLogin(value string) (stored, bool) {
	value = strings.TrimSpace(value)
	if !strings.HasPrefix(value, "{") {
		return stored{RefreshToken: value}, sendable(value)
	}
	var login stored
	if err := json.Unmarshal([]byte(value), &login); err != nil {
		return stored{}, false
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

// sendable reports whether a token can stand in a header: visible characters of
// ASCII, as RFC 6749, appendix A, has them.
func sendable(token string) bool {
	return token != "" && len(token) <= maxToken && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// tokens are what a Source has.
type tokens struct {
	access, refresh secret.Value
	// expiry is when the access token ends, and due when it is to be replaced;
	// zero where nobody said.
	expiry, due time.Time
	// got is when it came from the authorization server, zero if it did not.
	got time.Time
}

func (t tokens) wipe() {
	t.access.Wipe()
	t.refresh.Wipe()
}

// encode returns the tokens as parseLogin reads them.
func (t tokens) encode() []byte {
	value, err := json.Marshal(stored{t.access.Reveal(), t.refresh.Reveal(), "Bearer", t.expiry.UTC().Truncate(time.Second)}) //nolint:gosec // G117: It goes to where the login came from.
	if err != nil {
		panic(err) // Strings and a time of this era: only a programming error cannot be encoded.
	}
	return value
}

// usable reports whether the access token may be sent.
func (t tokens) usable(now time.Time) bool {
	return t.access.Reveal() != "" && (t.expiry.IsZero() || now.Before(t.expiry))
}

// fresh reports whether it need not be replaced either.
func (t tokens) fresh(now time.Time) bool {
	return t.usable(now) && (t.due.IsZero() || now.Before(t.due))
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// UserRule derives the user of a person from their provider's claims, in an
// installation whose user ids are names in a directory.
type UserRule struct {
	// Claim has the name, such as preferred_username. Empty means that the
	// installation has no rule.
	Claim string
	// Suffix is the required end of the claim, such as @example.com, and is
	// removed. It may be empty. Case does not matter.
	Suffix string
}

// claimEmail is a name that people may choose themselves at some providers.
const claimEmail = "email"

// User returns the user that the rule derives from claims, and false if it derives
// none. An email counts only if the provider says that it has verified it:
// otherwise anybody who writes another's address into their profile would get
// that user.
func (r UserRule) User(claims map[string]any) (v1alpha1.UserID, bool) {
	value, ok := claims[r.Claim].(string)
	if r.Claim == "" || !ok || r.Claim == claimEmail && !verified(claims["email_verified"]) {
		return "", false
	}
	name, ok := strings.CutSuffix(lower(value), lower(r.Suffix))
	if !ok {
		return "", false
	}
	user, err := v1alpha1.ParseUserID(name)
	return user, err == nil
}

// verified reads email_verified, which is a text at some providers.
func verified(v any) bool { return v == true || v == "true" }

// lower converts ASCII letters to lower case and leaves others: some, such as
// the Kelvin sign, have an ASCII letter as their lower case.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

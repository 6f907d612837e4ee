// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// UserRule makes the user of a person out of what their provider says of them,
// in an installation whose user ids are names in a directory.
type UserRule struct {
	// Claim has the name, such as preferred_username. Without one there is no
	// rule.
	Claim string
	// Suffix is what the claim must end with, such as @example.com, and what is
	// taken off. It may be empty. Case does not matter.
	Suffix string
}

// claimEmail is a name that some providers let people choose for themselves.
const claimEmail = "email"

// User returns the user that the rule makes of claims, and false where it makes
// none. An email is one only if the provider says that it has verified it: else
// whoever writes another's address into their profile would be them.
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

// verified reads email_verified, which some providers have as text.
func verified(v any) bool { return v == true || v == "true" }

// lower makes ASCII letters small and leaves others, of which some have an ASCII
// letter as their small one: the sign of the kelvin, for one.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

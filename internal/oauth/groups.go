// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"errors"
	"fmt"
)

// maxGroups is how many groups a token may name. Microsoft Entra puts at most 200 of them
// into a token, Okta 100, and others as many as a header takes.
const maxGroups = 1024

// Errors of Groups.
var (
	// ErrNoGroups says that the claim is not there.
	ErrNoGroups = errors.New("the claim is missing")
	// ErrGroupsElsewhere says that Microsoft Entra has left out the groups, since there
	// are too many for a token.
	ErrGroupsElsewhere = errors.New("the provider left the groups out because there are too many of them: have it put only the groups into tokens that are assigned to the application, or use app roles and the claim roles")
	errGroupsForm      = fmt.Errorf("the claim must be a text or a list of at most %d texts", maxGroups)
)

// Groups returns the groups that a claim names, which is a text or a list of texts. They
// are never nil without an error. The errors quote nothing of the claims.
func Groups(claims map[string]any, claim string) ([]string, error) {
	value, has := claims[claim]
	if !has || value == nil {
		return nil, missingGroups(claims, claim)
	}
	if one, ok := value.(string); ok {
		value = []any{one}
	}
	list, ok := value.([]any)
	if !ok || len(list) > maxGroups {
		return nil, errGroupsForm
	}
	groups, ok := textsIn(list)
	if !ok {
		return nil, errGroupsForm
	}
	return append([]string{}, groups...), nil // Not nil if the list is empty.
}

// missingGroups returns why the claim is not there. By OpenID Connect Core 1.0, section
// 5.6.2, _claim_names says that a claim is to be had elsewhere; Entra also says hasgroups.
func missingGroups(claims map[string]any, claim string) error {
	elsewhere, _ := claims["_claim_names"].(map[string]any)
	if _, has := elsewhere[claim]; has || claims["hasgroups"] == true || claims["hasgroups"] == "true" {
		return ErrGroupsElsewhere
	}
	return ErrNoGroups
}

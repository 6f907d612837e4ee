// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
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

// HasGroup reports whether a group is among those that a provider names. They are compared in
// Unicode's form NFC: which of two forms of an accent one gets depends on the keyboard.
func HasGroup(named []string, group string) bool {
	group = norm.NFC.String(group)
	return slices.ContainsFunc(named, func(n string) bool { return norm.NFC.String(n) == group })
}

// NearGroup returns the group that differs from another one only in case or form, such as the full
// width of a letter. It is empty if no group does. Such a group gives nothing: two groups of a provider may
// differ so.
func NearGroup(groups []string, other string) string {
	other = norm.NFKC.String(other)
	for _, g := range groups {
		if strings.EqualFold(norm.NFKC.String(g), other) {
			return g
		}
	}
	return ""
}

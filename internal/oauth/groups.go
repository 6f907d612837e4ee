// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"errors"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Errors of Groups.
var (
	// ErrNoGroups says that the claim is not there.
	ErrNoGroups = errors.New("the claim is missing")
	// ErrGroupsElsewhere says that Microsoft Entra has left out the groups, since there
	// are too many for a token.
	ErrGroupsElsewhere = errors.New("the provider left the groups out because there are too many of them: have it put only the groups into tokens that are assigned to the application, or use app roles and the claim roles")
	errGroupsForm      = errors.New("the claim must be a text or a list of texts")
)

// Groups returns the groups that a claim names, which is a text or a list of texts. They
// are never nil without an error. Their number has no limit of its own: whoever reads the claims
// bounds their size. The errors quote nothing of the claims.
func Groups(claims map[string]any, claim string) ([]string, error) {
	value, has := claims[claim]
	if !has || value == nil {
		return nil, missingGroups(claims, claim)
	}
	if one, ok := value.(string); ok {
		value = []any{one}
	}
	list, ok := value.([]any)
	if !ok {
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

// GroupSet is the set of the groups that a provider names, each in Unicode's form NFC: which of
// two forms of an accent one gets depends on the keyboard.
type GroupSet map[string]bool

// NewGroupSet returns the set of these groups.
func NewGroupSet(groups []string) GroupSet {
	set := make(GroupSet, len(groups))
	for _, g := range groups {
		set[norm.NFC.String(g)] = true
	}
	return set
}

// Has reports whether a group is in the set, in whatever form.
func (s GroupSet) Has(group string) bool { return s[norm.NFC.String(group)] }

// FoldGroup returns a group without differences of case and form, such as the full width of a
// letter. Two groups that differ only so may be two groups of a provider.
func FoldGroup(group string) string {
	return strings.ToLower(strings.ToUpper(norm.NFKC.String(group)))
}

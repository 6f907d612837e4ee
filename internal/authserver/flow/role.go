// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// Role gives the people in a group of an issuer a role.
type Role struct {
	Role          oauth.Role
	Issuer, Group string
}

// RolesOf returns the roles of a person by the groups that the provider has just named,
// sorted.
func RolesOf(list []Role, who Identity) []oauth.Role {
	var roles []oauth.Role
	in := oauth.NewGroupSet(who.Groups)
	for _, r := range list {
		if r.Issuer == who.Issuer && in.Has(r.Group) {
			roles = append(roles, r.Role)
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// JoinRoles returns roles as a text.
func JoinRoles(roles []oauth.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, ",")
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

// Role is what a person may do who administers the installation by a login.
type Role string

// The roles.
const (
	// RoleAdmin may do everything.
	RoleAdmin Role = "admin"
	// RoleAuditor may read: audit entries, figures, keys and publishers.
	RoleAuditor Role = "auditor"
	// RoleCurator may change the catalog: recipes, publishers and their keys.
	RoleCurator Role = "curator"
)

// Roles returns all roles.
func Roles() []Role { return []Role{RoleAdmin, RoleAuditor, RoleCurator} }

// AdminPath is the path below the installation's URL for which tokens of administrators
// are.
const AdminPath = "/admin"

// SharedPath is the path below the installation's URL for which tokens of owners of
// SharedServers are.
const SharedPath = "/shared"

// MaxShared is how many SharedServers a token names at most, so that it fits into a header.
const MaxShared = 64

// SharedScope is the scope of a token for SharedPath that names a SharedServer, by its UID: one
// of the same name that comes later has other owners.
func SharedScope(uid string) string { return "shared:" + uid }

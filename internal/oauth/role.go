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

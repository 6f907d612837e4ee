// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

// Inventory is what an installation has.
type Inventory struct {
	Installed
	// Catalog is what the catalog has, nil while that is not known.
	Catalog *Catalog
}

// Catalog is what the catalog has.
type Catalog struct {
	// Recipes is how many are served.
	Recipes    int
	Publishers int
}

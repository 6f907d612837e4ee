// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

// Inventory is the number of an installation's objects.
type Inventory struct {
	Installed
	// Catalog has the figures of the catalog, nil while they are not known.
	Catalog *Catalog
}

// Catalog has the figures of the catalog.
type Catalog struct {
	// Recipes is how many are served.
	Recipes    int
	Publishers int
}

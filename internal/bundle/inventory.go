// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import "time"

// Inventory is what the store has.
type Inventory struct {
	Bundles []Kept `json:"bundles"`
	// Bytes is how much all of it takes on the volume, and Limit is the most that it may.
	Bytes int64 `json:"bytes"`
	Limit int64 `json:"limit"`
}

// Kept is one bundle in the store.
type Kept struct {
	Digest Digest `json:"digest"`
	// Bytes is how much the bundle and its record take on the volume.
	Bytes int64 `json:"bytes"`
	// LastUsed is when it was uploaded or fetched last.
	LastUsed time.Time `json:"lastUsed"`
}

// Needed are the bundles that the store has to keep.
type Needed struct {
	Digests []Digest `json:"digests"`
}

// Removed is what the store removed of the others.
type Removed struct {
	Bundles int   `json:"bundles"`
	Bytes   int64 `json:"bytes"`
}

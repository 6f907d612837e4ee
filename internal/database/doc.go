// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database opens what the processes keep outside of Kubernetes: an
// SQLite file, which one process uses, or a PostgreSQL, which several share. What
// is in it is for its importers to say, in statements that both understand.
//
// The package is a leaf: shells import it.
package database

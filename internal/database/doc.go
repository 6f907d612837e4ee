// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database opens the data that processes keep outside of Kubernetes: an
// SQLite file, which one process uses, or a PostgreSQL, which several share.
// Its importers define the content, in statements that both understand.
//
// The package is a leaf: shells import it.
package database

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package index keeps audit entries where they can be asked for: in an SQLite
// file or in PostgreSQL, of this process or of another one that serves it. The
// trail is what counts, and the index a copy of it: it follows what is written,
// never delays it, and where it was away reads what it lacks from the trail's
// files.
//
// The package is a shell.
package index

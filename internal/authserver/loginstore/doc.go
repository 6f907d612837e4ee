// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loginstore keeps what the authorization server has to remember between two
// requests: in an SQLite file for one replica, in PostgreSQL for several. Every entry has an end, and what may happen once only, such as the use
// of a code, is decided by the database in one step.
//
// The package is a shell.
package loginstore

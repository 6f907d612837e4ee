// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secret holds a user's secrets in the bridge's memory, in types that never reveal them
// through formatting, encoding or logging, and redacts them from texts of others.
//
// The package is pure and uses only the standard library.
package secret

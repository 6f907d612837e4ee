// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secret holds a user's secrets in the bridge's memory, in types that
// no formatting, encoding or logging shows the contents of, and takes them out
// of texts that others wrote.
//
// The package is pure and uses the standard library alone.
package secret

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package grant keeps the grants of the authorization server: what a person allowed a
// client to do. It makes codes and refresh tokens, replaces each refresh token when it
// is used, and ends grants. The store has hashes of codes and tokens only.
//
// Whether a person may still use a bridge, the server decides.
//
// The package is a shell.
package grant

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider has people log in where they have their accounts: at any
// OpenID provider, found by discovery, and at GitHub, which has OAuth without it.
//
// A person is who the provider says by issuer and subject, which are never given
// to another one, and not by an email or a name, which are.
//
// The package is a shell.
package provider

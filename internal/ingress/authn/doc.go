// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authn tells who calls: whose key or access token was presented, from which
// address, and whether a browser's page may call at all.
package authn

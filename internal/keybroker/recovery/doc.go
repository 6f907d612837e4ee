// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery verifies that every sealed secret of an installation opens,
// and restores the secrets in a backup. It decides and reports; its callers
// provide access to the API server.
//
// Nothing here returns, prints or logs the value of a secret.
package recovery

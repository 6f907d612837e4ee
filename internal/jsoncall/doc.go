// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsoncall calls functions of another process of the installation: JSON
// over HTTP, and over mutual TLS where the caller has a certificate.
//
// The package is a shell.
package jsoncall

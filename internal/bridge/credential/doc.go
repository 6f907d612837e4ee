// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credential gives servers the secrets of the user that they may use: in headers, in
// programs and through OAuth logins.
package credential

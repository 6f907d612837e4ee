// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rpc reads and writes JSON-RPC messages without decoding their parameters and results, which
// stay as they were sent.
//
// The package is pure.
package rpc

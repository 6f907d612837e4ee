// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonrpc reads what the ingress has to know of JSON-RPC messages: which
// requests a body has, which id an error answers, and how a response ended. It reads
// without decoding, and refuses nothing.
package jsonrpc

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inflight follows one call to a server and back: messages of the server reach the right
// client in order, and the result stays as the server wrote it.
package inflight

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package eventstream reads and writes streams of server-sent events.
package eventstream

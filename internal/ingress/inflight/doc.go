// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inflight looks after requests while they are served: what is written to
// their clients, comments in silent streams, readers that do not read, and the end of
// those whose key or bridge has gone.
package inflight

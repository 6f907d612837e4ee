// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upstream connects to the user's MCP servers: the shared connection to each server and
// those of sessions, the calls in flight on them, the servers' lists, their availability, and the
// subscriptions of clients.
package upstream

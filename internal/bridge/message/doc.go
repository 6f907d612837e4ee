// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package message has the messages of MCP clients and servers: the names of the protocol, the two
// eras and how to detect them, results and parameters as they were received, and the request value
// that the bridge passes on.
package message

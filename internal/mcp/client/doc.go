// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client is a client's end of a connection to an MCP server: over streamable HTTP, over HTTP+SSE,
// or over a stream of messages such as that of a program, in each version of the protocol. Parameters and
// results pass as they were sent.
package client

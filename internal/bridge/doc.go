// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridge serves one user's MCP servers at one URL, /u/{userID}/mcp, to clients of both
// protocol eras: 2026-07-28, where every request stands alone, and the versions before it, which
// have sessions.
//
// With one server a bridge is transparent: names, results, errors and the server's own requests
// pass unchanged. With several servers, the names of tools and prompts carry the server's name,
// and resources go to the server that lists them.
//
// Requests without a session use one shared connection for each server. A session has its own
// connections, which declare the capabilities of its client, so that the server's questions reach
// the right client.
//
// The package is the core, which joins the packages below: it has the configured servers, the
// directory of their lists, the clients and their sessions, and the delivery of requests.
//
// The package is a shell: it dials and serves HTTP. It does not authenticate; its caller must let
// in only requests of this user.
package bridge

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridge serves one user's MCP servers at one URL, /u/{userID}/mcp, to
// clients of both protocol eras: 2026-07-28, where every request stands alone,
// and the versions before it, where there are sessions.
//
// With one server behind it a bridge is transparent: names, results, errors and
// the server's own requests pass unchanged. With several, the names of tools
// and prompts carry the server's name, and resources go to the server that
// lists them.
//
// Requests without a session use one shared connection per server. A session
// has connections of its own, which declare what its client can do, so that
// what a server asks reaches the client that it concerns.
//
// The package is a shell: it dials and serves HTTP. It does not authenticate;
// whoever mounts its handler has let in only this user's requests.
package bridge

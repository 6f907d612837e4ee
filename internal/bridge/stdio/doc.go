// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stdio runs MCP servers that are programs. Package programio exchanges messages with them
// over their stdin and stdout.
//
// On a person's own machine the bridge runs a program itself (Child). In a pod each program has
// its own container, in which a shim runs it (Serve) for the bridge in another container (Shim).
// The two containers share only a Unix socket, and the bridge sends only the secrets of this
// program through it. They share no files, no environment and no other secrets.
//
// A program has its own process group, gets none of the bridge's environment, and leaves no
// process behind.
package stdio

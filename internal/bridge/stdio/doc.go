// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stdio runs MCP servers that are programs, and speaks with them over
// their stdin and stdout.
//
// On a person's own machine the bridge runs a program itself (Child). In a pod
// each program has a container of its own, in which a shim runs it (Serve) for
// the bridge beside it (Shim): the two share no files, no environment and no
// secrets but those that the bridge hands over for this one program, through a
// Unix socket that only the two containers mount.
//
// A program has its own process group, sees none of the bridge's environment,
// and leaves no process behind.
package stdio

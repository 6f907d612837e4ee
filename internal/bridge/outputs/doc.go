// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outputs compares results of tools with the output schemas that servers list. Many clients
// show an error in place of a result that does not fit: those on @modelcontextprotocol/sdk 1.32.2 and
// @modelcontextprotocol/client 2.4.0, such as Claude Code, Gemini CLI, opencode and Cline. The user
// loses the text of the result with it.
//
// So a result is mended where it can be, and otherwise the tool is listed without its schema from
// then on.
package outputs

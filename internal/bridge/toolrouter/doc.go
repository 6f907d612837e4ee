// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package toolrouter is the one tool that clients see in mode Router. With it they find and call
// the tools of all servers.
package toolrouter

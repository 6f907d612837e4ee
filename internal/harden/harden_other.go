// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package harden

// forbidDumps does nothing: bridges run on Linux, and elsewhere a developer
// tries them.
func forbidDumps() error { return nil }

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build rotation

package rotation

// What is rotated unless the environment says otherwise.
const (
	defaultBridges = 10_000
	defaultKills   = 5
)

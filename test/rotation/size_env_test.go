// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv && !rotation

package rotation

// What is rotated beside the other tests against an API server, unless the
// environment says otherwise.
const (
	defaultBridges = 200
	defaultKills   = 1
)

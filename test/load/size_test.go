// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load

package load

import "time"

// How much there is of everything, unless the environment says otherwise.
const (
	defaultUsers   = 50
	defaultCalls   = 1_000_000
	defaultRestart = 10
	defaultChaos   = 5 * time.Minute
)

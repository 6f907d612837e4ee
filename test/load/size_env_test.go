// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv && !load

package load

import "time"

// How much there is of everything beside the other tests against an API server,
// unless the environment says otherwise.
const (
	defaultUsers   = 50
	defaultCalls   = 20_000
	defaultRestart = 2
	defaultChaos   = 20 * time.Second
)

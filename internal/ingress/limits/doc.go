// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits bounds what users may use at once and in a time: requests by their
// tier, memory for bodies, places to wait, and the rate of what anybody may ask.
package limits

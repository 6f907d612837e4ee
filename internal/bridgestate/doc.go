// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridgestate decides about a HostedBridge: from the observed state it derives
// what to apply, and from the outcome of that the status. It reads nothing and
// writes nothing; its callers do both.
//
//	Observed ──Decide──▶ Plan ──(apply)──▶ Outcome ──Status──▶ status
//
// The package is pure: equal arguments give equal results, and the time is an
// argument.
package bridgestate

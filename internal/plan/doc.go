// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan decides what becomes of a HostedBridge: from what was observed
// to what should be applied, and from what came of that to the status. It
// reads nothing and writes nothing; whoever calls it does both.
//
//	Observed ──Decide──▶ Plan ──(apply)──▶ Outcome ──Status──▶ status
//
// The package is pure: equal arguments give equal results, and the time is an
// argument.
package plan

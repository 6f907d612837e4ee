// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pipeline applies the policies of a server to every request: the cache, the circuit
// breaker, the deadline, the retries and the result policy.
package pipeline

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

const (
	// HeaderHops lists the bridges that a request has passed, the first bridge first.
	HeaderHops = "Hosted-Bridge-Hops"
	// MetaHops is the metadata key of the same list, for transports without headers.
	MetaHops = "hostedbridge.dev/hops"
	// MaxHops is the maximum number of bridges in a chain. Two are useful, a laptop's before a
	// hosted one; more than a few are a mistake.
	MaxHops = 5
)

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package signing signs the access tokens of the installation's own
// authorization server, and says by which keys they are verified.
//
// Time is cut into periods of 30 days, and each has a key of its own, which is
// derived of the certificate authority's secret. So every replica of the
// keybroker has the same keys, also those of times to come, and none of them is
// stored, agreed on or replaced by anybody. Three are public at any time: that of
// the period, which signs; the one before, whose tokens may still be in use; and
// the next, so that who reads the keys now and then knows it before it signs.
//
// The package is pure: times are arguments. The one exception is a signature's
// own randomness, which go-jose takes from the system.
package signing

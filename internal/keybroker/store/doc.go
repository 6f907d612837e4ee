// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store keeps users' secrets, sealed, in Secrets of the API server.
//
// A HostedBridge has two of them, both its own by UID: one with an envelope
// for each secret and an index of what envelopes do not say, and one with the
// salt without which no envelope opens. The store makes them when they are
// first needed. What goes with the salt is gone: a new salt is made only where
// no envelope of an old one would be left beside it.
//
// Each change is one write, conditional on what was read before, so that two
// writers lose nothing of each other's and nothing is ever half-written.
//
// The package is a shell. Its errors and logs have names and no data.
package store

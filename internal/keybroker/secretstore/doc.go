// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secretstore keeps users' secrets, sealed, in Secrets of the API server.
//
// A HostedBridge owns two of them, by UID: one with an envelope for each secret
// and an index of what envelopes do not say, and one with the salt that every
// envelope needs to open. The store makes them when they are first needed.
// Without the salt the secrets are lost: a new salt is made only if no envelope
// of an old one would be left beside it.
//
// Each change is one write, conditional on what was read before. So two writers
// lose nothing of each other's, and nothing is ever half-written.
//
// The package is a shell. Its errors and logs contain names and no data.
package secretstore

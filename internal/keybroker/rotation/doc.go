// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rotation replaces the master key of an installation: it decides the
// next step from the ring, the replicas and the envelopes, and carries it out.
// Its callers provide access to the API server, the replicas and the ring.
//
// Nothing here returns, prints or logs the value of a key.
package rotation

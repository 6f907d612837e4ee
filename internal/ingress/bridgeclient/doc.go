// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridgeclient is the way to bridges: a pool of connections, each proved by
// its certificate to lead to one bridge, and what of a header goes there and back.
package bridgeclient

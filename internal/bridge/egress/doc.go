// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress is the network below all connections to servers. It checks each address when it
// is dialled.
package egress

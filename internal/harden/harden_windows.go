// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package harden

// limitDumps does nothing: Windows dumps a process only where its administrator
// has set it up, and asks nobody.
func limitDumps() error { return nil }

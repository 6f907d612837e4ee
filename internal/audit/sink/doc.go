// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sink writes the audit trail: one line for each entry, to a stream or
// to a file that is rotated. An entry whose Write has returned without an error
// has been handed to the operating system, and with Config.Sync to the disk.
//
// The package is a shell.
package sink

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget bounds the memory that the messages of a bridge take at once. A message that does
// not fit waits, unread, and is refused after a while: a process that needs more memory than its
// container has would be ended, and all servers of its user with it.
//
// The package is a shell: it waits.
package budget

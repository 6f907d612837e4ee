// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fault has the errors of calls to servers: what went wrong, whether the call was
// delivered, and which error the client gets.
package fault

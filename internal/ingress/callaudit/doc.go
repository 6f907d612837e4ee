// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package callaudit writes the audit entry of each tool call before the call's answer
// is complete at the client: from what the bridge tells of it, or else from the
// request. While entries cannot be written, calls are refused.
package callaudit

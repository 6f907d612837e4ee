// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package callaudit measures, traces and records the requests of clients. It sends the audit
// entries of tool calls to the ingress, in a trailer or in the event stream.
package callaudit

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy sends requests to users' bridges and passes the answers on. It
// waits for a bridge that is waking, sends a request again only where nothing of it
// has left, and keeps streams open whose bridge sleeps. It is told who the caller is
// and what the body holds: that a call may be made was decided before.
package proxy

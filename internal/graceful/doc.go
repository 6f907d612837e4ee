// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package graceful serves HTTP for the server processes of the cluster: the
// probes, and a graceful shutdown that drains without losing a request.
//
// It is a shell. The bridge does not link it, and has a small server of its own
// for that.
package graceful

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry is what every server process has in common: its log, its
// metrics, the probes that the cluster asks, and an end that loses no request.
//
// It is a shell. Of this module it imports only which version it is, and the
// bridge, which has a small server of its own for that, does not link it.
package telemetry

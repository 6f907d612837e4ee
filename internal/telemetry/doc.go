// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry is the part that all server processes share: log, metrics,
// the probes of the cluster, and a shutdown that loses no request.
//
// It is a shell. Of this module it imports only the version. The bridge does
// not link it, and has a small server of its own for that.
package telemetry

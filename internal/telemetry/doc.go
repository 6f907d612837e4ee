// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry is what the logs and metrics of all server processes have in
// common.
//
// It is a shell. Of this module it imports only the version. The bridge does
// not link it.
package telemetry

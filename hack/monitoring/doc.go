// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring tests what the chart gives to Prometheus and Grafana: by
// Prometheus' own parser and engine, by the types of its operator, and by the
// metrics that the processes register. It has no code; its dependencies are why
// it is a module of its own.
package monitoring

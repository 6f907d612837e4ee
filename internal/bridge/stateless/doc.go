// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stateless serves the protocol of 2026-07-28 over HTTP. Each request stands alone: the
// package reads it, compares its headers with its body, lets a handler answer it, and keeps no
// state.
//
// The package knows neither sessions nor servers.
package stateless

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admin is what somebody who runs an installation does with its master
// key and what is sealed under it: see whether everything opens, replace the
// key, and put back what a backup holds. It decides and reports; how the API
// server, the replicas and the ring are reached is its callers'.
//
// Nothing here returns, prints or logs the value of a secret or of a key.
package admin

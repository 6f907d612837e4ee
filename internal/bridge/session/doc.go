// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session serves clients over HTTP: the sessions of the legacy era, their ids, their
// restoration, the resumption of broken streams, the transport of 2024-11-05, and requests of the
// modern era.
package session

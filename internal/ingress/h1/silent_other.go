// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package h1

// silent is not known where sockets cannot be asked: no connection is used
// twice.
func silent(uintptr) bool { return false }

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package activator finds the pod of a user's bridge for a request: it wakes bridges
// that sleep, asks pods whether they are ready, leaves alone those that a request did
// not get to, and lets requests wait meanwhile.
package activator

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keptanswers keeps what bridges last answered to first requests and to lists, and gives
// it again while a bridge sleeps or starts: real clients wait for less time than a pod takes.
//
// An answer is one bridge's, by the UID of the HostedBridge that the caller's credential was
// resolved to, and one configuration's. It is given only to a request that the bridge could not
// tell from the one that it answered.
package keptanswers

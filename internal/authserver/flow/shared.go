// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

// SharedServer is a SharedServer that a person owns.
type SharedServer struct{ Name, UID string }

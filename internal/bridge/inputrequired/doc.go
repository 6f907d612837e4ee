// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inputrequired lets servers ask clients of the other era. A modern client's call to a
// legacy server is suspended while the client answers. For a modern server's questions, the bridge
// asks the legacy client. The package also asks users to log in.
package inputrequired

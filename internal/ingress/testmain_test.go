// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// A client of Redis that is closed while the server is away waits for up to a
	// second before the attempt to connect ends.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

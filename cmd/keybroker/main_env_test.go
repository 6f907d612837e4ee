// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"os"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// asKeybroker in the environment makes this test binary the keybroker.
const asKeybroker = "HOSTED_BRIDGE_TEST_AS_KEYBROKER"

// Beside this TestMain there is no room for that of the scripts, which run
// without the tag.
func TestMain(m *testing.M) {
	if os.Getenv(asKeybroker) != "" {
		main()
	}
	os.Exit(testenv.Main(m))
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if alone != nil && os.Getenv(envHardened) != "" {
		if err := alone(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// envHardened makes the test's own program run alone instead of the tests.
const envHardened = "PROCESS_TEST_HARDENED"

// alone is set where there is something to try in a process of its own.
var alone func() error

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(programVariable); what != "" {
		os.Exit(beProgram(what, os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}
